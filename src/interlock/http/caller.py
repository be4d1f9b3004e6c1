"""Who asks: a token in the Authorization header, or a login cookie; a write by cookie needs its CSRF token too."""

from __future__ import annotations

import hashlib
import threading
import time
from typing import Annotated
from uuid import UUID

from fastapi import Depends, Request

from interlock.engine import NotFound
from interlock.http.service import Service
from interlock.people import OPERATORS, NotAllowed, NotAuthenticated, People, Principal

COOKIE = "interlock_session"
CSRF_HEADER = "X-CSRF-Token"
KNOWN_FOR = 2.0
"""Seconds that a caller is remembered; a token that is revoked elsewhere is refused after so long at the latest."""
SAFE = {"GET", "HEAD", "OPTIONS"}


class Callers:
    """Remembers callers for a moment, so that not every request asks the database; collects when tokens were used."""

    def __init__(self, people: People) -> None:
        self._people = people
        self._known: dict[str, tuple[float, Principal]] = {}
        self._used: set[UUID] = set()
        self._lock = threading.Lock()

    def recall(self, kind: str, secret: str) -> Principal | None:
        found = self._known.get(_digest(kind, secret))
        if found is None or found[0] < time.monotonic():
            return None
        self._note(found[1])
        return found[1]

    def find(self, kind: str, secret: str) -> Principal:
        """Ask the database; NotAuthenticated when nobody is meant."""
        found = self._people.by_token(secret) if kind == "token" else self._people.by_session(secret)
        with self._lock:
            if len(self._known) > 10_000:
                self._known.clear()
            self._known[_digest(kind, secret)] = (time.monotonic() + KNOWN_FOR, found)
        self._note(found)
        return found

    def _note(self, found: Principal) -> None:
        if found.token_id is not None:
            self._used.add(found.token_id)

    def forget(self) -> None:
        """People, roles or tokens changed: ask again."""
        self._known.clear()

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
    """What the caller shows: a token, or the secret of a session."""
    header = request.headers.get("authorization")
    if header is not None:
        scheme, _, secret = header.partition(" ")
        if scheme.lower() != "bearer" or not secret:
            raise NotAuthenticated("the Authorization header must be `Bearer` and a token")
        return "token", secret
    secret = request.cookies.get(COOKIE, "")
    if not secret:
        raise NotAuthenticated("this needs a token (Authorization: Bearer …) or a login")
    return "session", secret


async def caller(request: Request) -> Principal:
    """Whoever asks; 401 when that is nobody.

    It needs nothing but the request: each dependency that FastAPI resolves costs a twentieth of a small request. The
    description of the API says the rest (`http.description`).
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
        return  # a form carries the token among its fields
    if request.headers.get("sec-fetch-site", "same-origin") not in {"same-origin", "none"}:
        raise NotAllowed("a request from another site is not taken with a login cookie")
    if not service.people.check_csrf(secret, request.headers.get(CSRF_HEADER, "")):
        raise NotAllowed(f"a write with a login cookie needs the header {CSRF_HEADER} with the token of the login")


Caller = Annotated[Principal, Depends(caller)]
TheService = Annotated[Service, Depends(service_of)]


def require(who: Principal, permission: str, workspace: str, what: str, *, machine: str | None = None) -> None:
    """404 for what is in another workspace, 403 for what the caller's role or scope does not cover."""
    if workspace not in who.workspaces:
        raise NotFound(f"there is no {what}")
    need(who, permission, workspace, machine)


def require_operator(who: Principal, permission: str = "read") -> None:
    """For what belongs to the whole installation: people of the first workspace."""
    need(who, permission, OPERATORS)


def need(who: Principal, permission: str, workspace: str, machine: str | None = None) -> None:
    """NotAllowed, with what would be needed."""
    if who.may(permission, workspace, machine):
        return
    if who.kind == "agent":
        have = f"has the scopes {', '.join(sorted(who.scopes)) or 'none'} in {who.workspace!r}"
    else:
        role = who.role_in(workspace)
        have = f"has the role {role.value}" if role else "has no role there"
    of = f" for machine {machine!r}" if machine is not None else ""
    raise NotAllowed(f"this needs the permission {permission!r}{of} in workspace {workspace!r}; {who.name} {have}")
