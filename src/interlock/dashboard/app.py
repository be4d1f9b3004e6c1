"""Registers the pages and renders their errors."""

from __future__ import annotations

from urllib.parse import quote, urlsplit

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response

from interlock.dashboard import live
from interlock.dashboard.pages import PAGES
from interlock.dashboard.pages.login import REFUSED
from interlock.dashboard.site import LogIn, gone, plain, static_bytes
from interlock.http.app import Pages
from interlock.http.problems import Problem

TYPES = {"css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8", "svg": "image/svg+xml"}
TITLES = {
    403: "Not allowed",
    404: "Not found",
    405: "Not found",
    409: "Changed in the meantime",
    413: "Too large",
    422: "Invalid input",
    429: "Too many attempts",
    500: "Something went wrong",
    503: "Not available now",
}
static_files = APIRouter(include_in_schema=False)


@static_files.get("/ui/static/{digest}/{name:path}")
async def static_file(digest: str, name: str) -> Response:
    """Serve a static file. Its content never changes under its address."""
    kind = TYPES.get(name.rpartition(".")[2])
    if kind is None:
        return Response(status_code=404)
    try:
        content = static_bytes(name)
    except (OSError, ValueError):
        return Response(status_code=404)
    # A preview in a sandbox has no origin, and still needs its style sheet.
    headers = {"Cache-Control": "public, max-age=31536000, immutable", "Cross-Origin-Resource-Policy": "cross-origin"}
    return Response(content, media_type=kind, headers=headers)


front = APIRouter(include_in_schema=False)


@front.get("/")
async def first() -> Response:
    return RedirectResponse("/ui", 303)


def dashboard() -> Pages:
    """The pages, for `create_app`."""
    found = [front, static_files, live.router, *PAGES]
    return Pages(routers=found, error_page=shown_error, handlers={LogIn: to_login}, home="/ui", refused_link=REFUSED)


async def shown_error(request: Request, problem: Problem) -> Response:
    """Render a refusal as a page, with the problem's detail and the allowed events."""
    if request.headers.get("x-live") and 400 <= problem.status < 429:
        return gone(str(problem.status))
    allowed = ", ".join(a.event.replace("_", " ") for a in problem.allowed or ())
    came_from = request.headers.get("referer", "")
    came = urlsplit(came_from)
    same = came.netloc == request.headers.get("host") and came.path.startswith("/ui") and "//" not in came.path
    back = f"{came.path}?{came.query}" if same and came.query else came.path if same else "/ui"
    title = TITLES.get(problem.status, problem.title)
    detail = problem.detail[:1].upper() + problem.detail[1:] + ("" if problem.detail.endswith((".", "?", "!")) else ".")
    return await plain(
        request, "error.html", status=problem.status, title=title, detail=detail, allowed=allowed, back=back
    )


async def to_login(request: Request, error: Exception) -> Response:
    assert isinstance(error, LogIn)
    if request.url.path == "/ui/live":
        return Response(live.ENDED, media_type="text/event-stream", headers={"Cache-Control": "no-store"})
    if request.headers.get("x-live"):
        return gone("login")
    return RedirectResponse(f"/ui/login?after={quote(error.after)}", 303)
