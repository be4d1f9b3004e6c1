"""Authentication: a token in the Authorization header, or a session cookie. Writes by cookie need the CSRF value."""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Callable
from typing import Annotated, Any, TypeVar
from uuid import UUID

from fastapi import Depends, Request

from interlock.engine import Instance, NotFound
from interlock.http.problems import BadRequest
from interlock.http.service import Service
from interlock.machine import Scope
from interlock.people import OPERATORS, NotAllowed, NotAuthenticated, People, Principal, need, require

__all__ = [
    "COOKIE",
    "CSRF_HEADER",
    "PUBLIC",
    "Caller",
    "Callers",
    "TheService",
    "address_of",
    "authenticates",
    "caller",
    "credentials",
    "need",
    "require",
    "require_operator",
    "service_of",
    "still_known",
    "visible",
    "workspace_of",
]
COOKIE = "interlock_session"
CSRF_HEADER = "X-CSRF-Token"
KNOWN_FOR = 2.0
"""Seconds for which a caller is cached; a token revoked by another process is refused after this time at the latest."""
SAFE = {"GET", "HEAD", "OPTIONS"}
PUBLIC: dict[str, Any] = {"security": []}
"""`openapi_extra=PUBLIC` declares an endpoint that is public, or that authenticates its caller itself."""
F = TypeVar("F", bound=Callable[..., Any])
_authenticating: set[Callable[..., Any]] = set()


def authenticates(dependency: F) -> F:
    """Mark a dependency that refuses anonymous callers. Each endpoint of an application has one, or is PUBLIC."""
    _authenticating.add(dependency)
    return dependency


def is_authenticating(dependency: Callable[..., Any] | None) -> bool:
    return dependency in _authenticating


class Callers:
    """Caches callers, so that not every request queries the database, and collects the use of tokens."""

    def __init__(self, people: People) -> None:
        self._people = people
        self._known: dict[str, tuple[float, Principal]] = {}
        self._forgotten = 0
        self._used: set[UUID] = set()
        self._lock = threading.Lock()
        self.on_change: list[Callable[[], None]] = []
        """Callbacks for when somebody may have lost a permission."""

    def recall(self, kind: str, secret: str) -> Principal | None:
        found = self._known.get(_digest(kind, secret))
        if found is None or found[0] < time.monotonic():
            return None
        self._note(found[1])
        return found[1]

    def find(self, kind: str, secret: str) -> Principal:
        """Authenticate against the database. Raises NotAuthenticated."""
        before = self._forgotten
        found = self._people.by_token(secret) if kind == "token" else self._people.by_session(secret)
        with self._lock:
            if len(self._known) > 10_000:
                self._known.clear()
            if before == self._forgotten:  # what was read before a change is not cached
                self._known[_digest(kind, secret)] = (time.monotonic() + KNOWN_FOR, found)
        self._note(found)
        return found

    def _note(self, found: Principal) -> None:
        if found.token_id is not None:
            self._used.add(found.token_id)

    def forget(self) -> None:
        """Drop all cached callers after a change of people, roles or tokens, and make live streams re-check theirs."""
        with self._lock:
            self._forgotten += 1
            self._known.clear()
        for notify in self.on_change:
            notify()

    def write_uses(self) -> None:
        with self._lock:
            used, self._used = self._used, set()
        if used:
            self._people.note_use(used)


def _digest(kind: str, secret: str) -> str:
    return kind + hashlib.sha256(secret.encode()).hexdigest()


def service_of(request: Request) -> Service:
    found: Service = request.app.state.service
    return found


def credentials(request: Request) -> tuple[str, str]:
    """The caller's credentials: a token, or the secret of a session."""
    header = request.headers.get("authorization")
    if header is not None:
        scheme, _, secret = header.partition(" ")
        if scheme.lower() != "bearer" or not secret:
            raise NotAuthenticated("the Authorization header must be `Bearer` followed by a token")
        return "token", secret
    secret = request.cookies.get(COOKIE, "")
    if not secret:
        raise NotAuthenticated("this needs a token (Authorization: Bearer …) or a session; log in or send a token")
    return "session", secret


def address_of(request: Request) -> str:
    """The client's address, as far as the server knows."""
    return request.client.host if request.client else ""


async def still_known(service: Service, shown: tuple[str, str]) -> Principal | None:
    """The current state of a known caller; None if the token or session was revoked, ended or expired."""
    known = service.callers.recall(*shown)
    if known is not None:
        return known
    try:
        return await service.call(service.callers.find, *shown)
    except NotAuthenticated:
        return None


@authenticates
async def caller(request: Request) -> Principal:
    """Authenticate the caller, or answer 401.

    Depends only on the request: each dependency that FastAPI resolves costs a twentieth of a small request. The API
    description covers the rest (`http.description`).
    """
    service = service_of(request)
    kind, secret = credentials(request)
    known = service.callers.recall(kind, secret)
    found = known if known is not None else await service.call(service.callers.find, kind, secret)
    if kind == "session" and request.method not in SAFE:
        _same_page(request, service, secret)
    return found


def _same_page(request: Request, service: Service, secret: str) -> None:
    if getattr(request.state, "form_checked", False):
        return  # a form carries the CSRF value among its fields
    if request.headers.get("sec-fetch-site", "same-origin") not in {"same-origin", "none"}:
        raise NotAllowed("requests from other sites are refused with a session cookie")
    if not service.people.check_csrf(secret, request.headers.get(CSRF_HEADER, "")):
        raise NotAllowed(f"a write with a session cookie needs the header {CSRF_HEADER} with the session's CSRF value")


Caller = Annotated[Principal, Depends(caller)]
TheService = Annotated[Service, Depends(service_of)]


def require_operator(who: Principal, permission: str = "read") -> None:
    """Require a person of the first workspace, for what belongs to the whole installation."""
    need(who, permission, OPERATORS)


def workspace_of(who: Principal, named: str | None) -> str:
    """The workspace that the caller means: the one that is named, their only one, or `default`."""
    if named is not None:
        return named
    if len(who.workspaces) == 1:
        return next(iter(who.workspaces))
    if "default" in who.workspaces:
        return "default"
    raise BadRequest(f"name a workspace: you are in {', '.join(sorted(who.workspaces)) or 'none'}")


async def visible(
    service: Service,
    who: Principal,
    instance_id: UUID,
    permission: str | Scope = "read",
    *,
    machine: str | None = None,
) -> Instance:
    """The instance, if the caller has the permission for it. NotFound for one of another workspace or machine."""
    found = await service.call(service.engine.get, instance_id)
    if machine is not None and found.machine != machine:
        raise NotFound(f"there is no {machine} {instance_id}")
    require(who, permission, found.workspace, f"instance {instance_id}", machine=found.machine)
    return found
