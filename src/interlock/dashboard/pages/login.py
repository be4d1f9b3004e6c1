"""Login, logout and the theme."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Form, Request
from fastapi.responses import Response

from interlock.dashboard.forms import posted
from interlock.dashboard.site import THEME, Reader, plain, redirect, render
from interlock.http.api.login import set_cookie
from interlock.http.caller import COOKIE, service_of
from interlock.people import OPERATORS, NotAllowed, NotAuthenticated, TooManyAttempts

router = APIRouter(include_in_schema=False)
REFUSED = "/ui/login?link=refused"


def _safe(after: str) -> str:
    return after if after.startswith("/ui") and "//" not in after and "\\" not in after else "/ui"


@router.get("/ui/login")
async def ask(request: Request, after: str = "/ui", link: str = "") -> Response:
    return await plain(request, "login.html", after=_safe(after), problem="", old_link=link == "refused", name="")


@router.post("/ui/login")
async def log_in(
    request: Request,
    name: Annotated[str, Form(max_length=200)],
    password: Annotated[str, Form(max_length=500)],
    after: Annotated[str, Form()] = "/ui",
) -> Response:
    if request.headers.get("sec-fetch-site", "same-origin") not in {"same-origin", "none"}:
        raise NotAllowed("forms from other sites are refused")
    service = service_of(request)
    address = request.client.host if request.client else ""
    browser = request.headers.get("user-agent", "")[:200]
    try:
        made = await service.call(service.people.login, name, password, address=address, browser=browser)
    except (NotAuthenticated, TooManyAttempts) as error:
        status = 429 if isinstance(error, TooManyAttempts) else 401
        text = str(error)
        return await plain(
            request,
            "login.html",
            status=status,
            after=_safe(after),
            name=name,
            problem=text[:1].upper() + text[1:] + ".",
        )
    answer = redirect(_safe(after))
    set_cookie(answer, made, service, request)
    return answer


@router.get("/ui/logout")
async def ask_logout(v: Reader) -> Response:
    return await render(v, "logout.html")


@router.post("/ui/logout")
async def log_out(request: Request) -> Response:
    form = await posted(request)
    v = form.v
    people = v.service.people
    if form.get("everywhere") and v.who.person_id is not None:
        await v.service.call(people.end_all, v.who.person_id, by=v.who.actor_in(OPERATORS))
    await v.service.call(people.end_session, request.cookies.get(COOKIE, ""))
    v.service.callers.forget()
    answer = redirect("/ui/login")
    answer.delete_cookie(COOKIE, path="/")
    return answer


@router.post("/ui/theme")
async def theme(request: Request) -> Response:
    form = await posted(request)
    answer = redirect(form.back)
    chosen = form.get("theme")
    if chosen in {"light", "dark"}:
        answer.set_cookie(THEME, chosen, max_age=31_536_000, samesite="lax", path="/")
    else:
        answer.delete_cookie(THEME, path="/")
    return answer
