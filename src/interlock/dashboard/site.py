"""What all pages share: the visitor, the frame around the page, and rendering."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Annotated, Any
from urllib.parse import quote, urlencode
from uuid import uuid4

import jinja2
from fastapi import Depends, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from markupsafe import Markup
from starlette.routing import Match

from interlock import __version__
from interlock.dashboard import confidence, formatting, kinds
from interlock.engine import halting, secrets
from interlock.engine.halting import Halt
from interlock.http.caller import COOKIE, authenticates, caller, service_of
from interlock.http.service import Service
from interlock.machine import NAME, InterlockError, Machine, PageLink, Registry
from interlock.people import OPERATORS, NotAllowed, NotAuthenticated, Principal, Role
from interlock.store import Micros
from interlock.watch import alerts, measures

THEME = "interlock_theme"
GONE = "X-Gone"
"""The header that tells a live page why it can no longer be loaded: a status, or `login`."""
FRAME_FOR = 0.5
"""Seconds for which the frame's figures are cached."""
DASHBOARD = "interlock.dashboard"


class LogIn(Exception):
    """Nobody is logged in. `after` is the page they wanted."""

    def __init__(self, after: str) -> None:
        self.after = after


@dataclass(frozen=True, slots=True)
class Frame:
    """The figures around every page."""

    overview: measures.Overview
    alerts: int
    halted: Mapping[str, Halt] = field(default_factory=dict)
    """Halts by machine, `*` for all."""
    unused: frozenset[str] = frozenset()
    """Machines without an instance whose steps this process has no code for, as an extra is not installed."""


@dataclass(slots=True)
class Visitor:
    """The reader of a page, with what the page needs of them."""

    request: Request
    service: Service
    who: Principal
    csrf: str
    theme: str
    now: Micros

    @property
    def workspaces(self) -> frozenset[str]:
        return self.who.workspaces

    @property
    def operator(self) -> bool:
        """Whether they see what belongs to the whole installation."""
        return self.who.may("read", OPERATORS)

    def may(self, permission: str, workspace: str, machine: str | None = None) -> bool:
        return self.who.may(permission, workspace, machine)

    def may_anywhere(self, permission: str) -> bool:
        return any(self.who.may(permission, w) for w in self.workspaces)

    @property
    def pages(self) -> list[PageLink]:
        """Pages of applications for the reader's roles."""
        return self._allowed(self.service.engine.registry.pages)

    @property
    def starts(self) -> list[PageLink]:
        """What the reader can do first."""
        applications = self.service.engine.registry.applications.values()
        return self._allowed([one for application in applications for one in application.starts])

    @property
    def creatable(self) -> list[Machine]:
        """Machines whose instances the reader can create by hand, unless their application says how it is started."""
        registry = self.service.engine.registry
        started = {m.name for one in registry.applications.values() if one.starts for m in one.machines}
        own = [m for m in registry if m.created_through is None and m.name not in started]
        return own if self.may_anywhere("create") else []

    def _allowed(self, links: Sequence[PageLink]) -> list[PageLink]:
        roles = list(self.who.roles.values())
        return [one for one in links if any(role.includes(Role(one.role)) for role in roles)]


@authenticates
async def visitor(request: Request) -> Visitor:
    """The reader of a page. Anonymous readers are redirected to the login and back afterwards.

    Pages are for people. A token, whose scopes may be narrower, is refused.
    """
    service = service_of(request)
    if request.headers.get("authorization") is not None:
        raise NotAllowed("pages need a login; use the API with a token")
    try:
        who = await caller(request)
    except NotAuthenticated:
        target = request.url.path + (f"?{request.url.query}" if request.url.query else "")
        raise LogIn(target if request.method == "GET" else "/ui") from None
    secret = request.cookies.get(COOKIE, "")
    theme = request.cookies.get(THEME, "")
    return Visitor(
        request,
        service,
        who,
        service.people.csrf(secret) if secret else "",
        theme if theme in {"light", "dark"} else "",
        service.engine.clock.now(),
    )


Reader = Annotated[Visitor, Depends(visitor)]


# -- the frame


_frames: dict[tuple[int, frozenset[str]], tuple[float, Frame]] = {}


async def frame(v: Visitor) -> Frame:
    """The figures around the page, at most half a second old."""
    key = id(v.service), v.workspaces
    found = _frames.get(key)
    if found is not None and found[0] > time.monotonic():
        return found[1]
    registry = v.service.engine.registry

    def read(conn: Any) -> Frame:
        overview = measures.overview(conn, registry, v.now, v.workspaces)
        empty = [one.machine for one in overview.machines if not sum(one.states.values())]
        unused = frozenset(name for name in empty if _without_code(registry, name))
        return Frame(overview, len(alerts.open_alerts(conn, 100)) if v.operator else 0, halts(conn), unused)

    made = await v.service.read(read)
    if len(_frames) > 200:
        _frames.clear()
    _frames[key] = (time.monotonic() + FRAME_FOR, made)
    return made


def forget_frames() -> None:
    """Drop cached figures after a change, so that the next page shows it."""
    _frames.clear()


def _without_code(registry: Registry, name: str) -> bool:
    machine = registry.get(name)
    return machine is None or bool(registry.missing_handlers(machine))


def halts(conn: Any) -> dict[str, Halt]:
    return {one.machine: one for one in halting.all_halts(conn)}


# -- rendering


def _query(base: Mapping[str, Any], **changes: Any) -> str:
    """A query string with some parameters changed; None removes a parameter."""
    merged = {**base, **changes}
    kept = {name: value for name, value in merged.items() if value not in (None, "", False)}
    return "?" + urlencode(kept, quote_via=quote) if kept else "?"


_static: dict[str, Traversable] = {"": files(DASHBOARD) / "static"}
_templates: dict[str, jinja2.BaseLoader] = {}
_brought: dict[str, str] = {}
"""Name → the package that brought templates and static files under it."""


def bring(name: str, package: str, *, templates: str | None = "templates", static: str | None = "static") -> None:
    """Register an application's templates and static files as `name/file`.

    They are folders of the package; pass `None` if it has none. `render(v, "name/page.html")` renders such a template
    with the same frame, filters and escaping as ours.
    """
    if not NAME.fullmatch(name) or _brought.setdefault(name, package) != package:
        whose = f": it is that of {_brought[name]}" if name in _brought else ""
        raise InterlockError(f"{name!r} cannot name the templates of {package}{whose}; use the application's name")
    if templates is not None:
        _templates[name] = jinja2.PackageLoader(package, templates)
    if static is not None:
        _static[name] = files(package) / static


@cache
def static(name: str) -> str:
    """The URL of a static file, with part of its hash, so that browsers can cache it forever."""
    return f"/ui/static/{hashlib.sha256(static_bytes(name)).hexdigest()[:12]}/{name}"


def static_bytes(name: str) -> bytes:
    """The content of a static file. Raises FileNotFoundError."""
    folder, _, file = name.rpartition("/")
    if folder not in _static or file.startswith("."):
        raise FileNotFoundError(name)
    return (_static[folder] / file).read_bytes()


@cache
def environment() -> jinja2.Environment:
    made = jinja2.Environment(
        loader=jinja2.ChoiceLoader([jinja2.PackageLoader(DASHBOARD), jinja2.PrefixLoader(_templates)]),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    made.filters |= {
        "lasting": formatting.duration,
        "exact": formatting.exact,
        "iso": formatting.iso,
        "number": formatting.number,
        "percent": formatting.percent,
        "dollars": formatting.dollars,
        "words": formatting.title,
        "short": formatting.short_id,
        "person": formatting.person,
        "browser": formatting.browser,
        "shown": secrets.shown,
        "hidden": secrets.hide,
    }
    made.filters["pretty"] = lambda value: json.dumps(value, indent=2, ensure_ascii=False, default=str)
    made.globals |= {
        "new_key": lambda: uuid4().hex,
        "ago": formatting.ago,
        "day": formatting.day,
        "clock": formatting.clock,
        "static": static,
        "query": _query,
        "version": __version__,
        "kind_words": kinds.WORDS,
        "icon": icon,
        "kind_of": kinds.kind_of,
        "grade": confidence.grade,
    }
    return made


@cache
def _icons() -> dict[str, str]:
    """Each line of the file: a name and the paths of a 16 px icon."""
    text = (_static[""] / "icons.txt").read_text()
    return dict(line.split(" ", 1) for line in text.splitlines() if line.strip())


def icon(name: str) -> Markup:
    """An icon. It always stands beside a word, so screen readers skip it."""
    paths = _icons()[name]
    # The file is ours; nothing in it comes from outside.
    start = '<svg class="icon" viewBox="0 0 16 16" width="16" height="16" aria-hidden="true" focusable="false">'
    return Markup(f"{start}{paths}</svg>")  # noqa: S704


async def render(v: Visitor, template: str, *, status: int = 200, **context: Any) -> Response:
    """Render a page for this reader, or answer 304 if it is unchanged."""
    around = await frame(v)
    given = dict(
        v=v,
        who=v.who,
        now=v.now,
        csrf=v.csrf,
        theme=v.theme,
        frame=around,
        path=v.request.url.path,
        params=dict(v.request.query_params),
        registry=v.service.engine.registry,
        demo=getattr(v.request.app.state, "demo", False),
        live=v.may_anywhere("read") and _can_be_loaded(v.request),
        said=v.request.query_params.get("said", ""),
        **context,
    )
    return await v.service.call(_rendered, v.request, template, given, status)


def _rendered(request: Request, template: str, given: Mapping[str, Any], status: int) -> Response:
    """Runs in a thread: rendering many rows takes milliseconds that would block the event loop."""
    return page(request, environment().get_template(template).render(given), status)


def page(request: Request, text: str, status: int = 200) -> Response:
    # A row from another version may contain half of a surrogate pair; show its page anyway.
    content = text.encode("utf-8", "backslashreplace")
    tag = f'W/"{hashlib.sha256(content).hexdigest()[:20]}"'
    headers = {"ETag": tag, "Cache-Control": "no-store"}  # the page's script keeps the tag itself
    if status == 200 and request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers=headers)
    return HTMLResponse(content, status, headers)


def gone(why: str) -> Response:
    """The answer to a live page that can no longer be loaded: no error, which browsers would report."""
    return Response(status_code=204, headers={GONE: why, "Cache-Control": "no-store"})


def _can_be_loaded(request: Request) -> bool:
    """Whether a live page can request its own address: the answer to a form may have one that only takes forms."""
    if request.method in {"GET", "HEAD"}:
        return True
    asked = {**request.scope, "method": "GET"}
    return any(route.matches(asked)[0] is Match.FULL for route in request.app.routes)


async def plain(request: Request, template: str, *, status: int = 200, **context: Any) -> Response:
    """Render a page without the frame: the login, or an error."""
    theme = request.cookies.get(THEME, "")
    given = {"theme": theme if theme in {"light", "dark"} else "", "path": request.url.path, **context}
    return await service_of(request).call(_rendered, request, template, given, status)


def redirect(to: str, said: str = "") -> Response:
    """Redirect to a page after a form, with a message about what was done."""
    if said:
        base, hash_, rest = to.partition("#")
        to = f"{base}{'&' if '?' in base else '?'}said={quote(said)}{hash_}{rest}"
    return RedirectResponse(to, 303)
