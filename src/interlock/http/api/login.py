"""Login and logout: a name and a password, or a link. The answer is a cookie and the session's CSRF value."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import JSONResponse, RedirectResponse, Response
from pydantic import BaseModel, ConfigDict, Field

from interlock.http.caller import COOKIE, Caller, TheService
from interlock.http.models import Answer
from interlock.http.service import Service
from interlock.http.writing import Write
from interlock.people import Login, NotAuthenticated, Principal
from interlock.store import moment

router = APIRouter(tags=["login"])


class Credentials(BaseModel):
    """A name and a password."""

    model_config = ConfigDict(extra="forbid")

    name: str = Field(min_length=1, max_length=200, examples=["ann"])
    password: str = Field(min_length=1, max_length=500, examples=["correct horse battery"])


class LoggedIn(Answer):
    """A session; its cookie is set with this answer."""

    name: str
    csrf: str = Field(description="Send it as X-CSRF-Token with every write that uses the cookie.")
    until: datetime


class Me(Answer):
    """The caller."""

    kind: str
    name: str
    workspaces: dict[str, str] = Field(description="The role in each workspace; for an agent its scopes.")
    csrf: str | None = Field(description="For a session: the value of X-CSRF-Token.")


def _where_from(request: Request) -> tuple[str, str]:
    return request.client.host if request.client else "", request.headers.get("user-agent", "")[:200]


def set_cookie(response: Response, login: Login, service: Service, request: Request) -> None:
    secure = request.url.scheme == "https" or (service.settings.http.url or "").startswith("https://")
    seconds = max(0, (login.until - service.engine.clock.now()) // 1_000_000)
    response.set_cookie(COOKIE, login.secret, max_age=seconds, httponly=True, samesite="lax", secure=secure, path="/")


@router.post("/api/login", summary="Log in with a name and a password", response_model=LoggedIn)
async def login(request: Request, service: TheService, body: Credentials) -> Response:
    address, browser = _where_from(request)
    made = await service.call(service.people.login, body.name, body.password, address=address, browser=browser)
    answer = JSONResponse(
        LoggedIn(name=made.person.name, csrf=made.csrf, until=moment(made.until)).model_dump(mode="json")
    )
    set_cookie(answer, made, service, request)
    return answer


@router.get("/login", include_in_schema=False)
async def login_by_link(
    request: Request, service: TheService, link: Annotated[str, Query(max_length=200)] = ""
) -> Response:
    """The link that `interlock up` prints."""
    address, browser = _where_from(request)
    try:
        made = await service.call(service.people.login_by_link, link, address=address, browser=browser)
    except NotAuthenticated:
        page: str | None = request.app.state.refused_link
        if page is None or "text/html" not in request.headers.get("accept", ""):
            raise
        known = await service.call(_has_session, service, request.cookies.get(COOKIE, ""))
        elsewhere = page if link else page.partition("?")[0]  # without a link, none was refused
        return RedirectResponse(request.app.state.home if known else elsewhere, 303)
    answer = RedirectResponse(request.app.state.home, 303)
    set_cookie(answer, made, service, request)
    return answer


def _has_session(service: Service, secret: str) -> bool:
    try:
        return service.people.by_session(secret) is not None
    except NotAuthenticated:
        return False


@router.post("/api/logout", status_code=204, summary="End this session", response_class=Response)
async def logout(request: Request, service: TheService, write: Write) -> Response:
    secret = request.cookies.get(COOKIE, "")
    if write.who.session is not None:
        await service.call(service.people.end_session, secret)
        service.callers.forget()
    answer = Response(status_code=204)
    answer.delete_cookie(COOKIE, path="/")
    return answer


@router.get("/api/me", summary="The caller and their permissions")
async def me(request: Request, service: TheService, who: Caller) -> Me:
    secret = request.cookies.get(COOKIE, "")
    csrf = service.people.csrf(secret) if who.session is not None else None
    return Me(kind=who.kind, name=who.name, workspaces=_roles(who), csrf=csrf)


def _roles(who: Principal) -> dict[str, str]:
    if who.workspace is not None:
        return {who.workspace: ", ".join(sorted(who.scopes))}
    return {workspace: role.value for workspace, role in sorted(who.roles.items())}
