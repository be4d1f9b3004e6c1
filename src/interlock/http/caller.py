"""Who asks: a token in the Authorization header, or a login cookie; a write by cookie needs its CSRF token too."""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Callable
from typing import Annotated
from uuid import UUID

from fastapi import Depends, Request

from interlock.http.service import Service
from interlock.people import OPERATORS, NotAllowed, NotAuthenticated, People, Principal, need, require

__all__ = [
    "COOKIE",
    "CSRF_HEADER",
    "Caller",
    "Callers",
    "TheService",
    "address_of",
    "caller",
    "credentials",
    "need",
    "require",
    "require_operator",
    "service_of",
    "still_known",
]
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
        self._forgotten = 0
        self._used: set[UUID] = set()
        self._lock = threading.Lock()
        self.told: list[Callable[[], None]] = []
        """Called when somebody may have lost a right."""

    def recall(self, kind: str, secret: str) -> Principal | None:
        found = self._known.get(_digest(kind, secret))
        if found is None or found[0] < time.monotonic():
            return None
        self._note(found[1])
        return found[1]

    def find(self, kind: str, secret: str) -> Principal:
        """Ask the database; NotAuthenticated when nobody is meant."""
        before = self._forgotten
        found = self._people.by_token(secret) if kind == "token" else self._people.by_session(secret)
        with self._lock:
            if len(self._known) > 10_000:
                self._known.clear()
            if before == self._forgotten:  # what was read before a change is not kept past it
                self._known[_digest(kind, secret)] = (time.monotonic() + KNOWN_FOR, found)
        self._note(found)
        return found

    def _note(self, found: Principal) -> None:
        if found.token_id is not None:
            self._used.add(found.token_id)

    def forget(self) -> None:
        """People, roles or tokens changed: ask again, and tell those who listen to a stream to do so."""
        with self._lock:
            self._forgotten += 1
            self._known.clear()
        for tell in self.told:
            tell()

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


def address_of(request: Request) -> str:
    """Where a request comes from, as far as the server knows."""
    return request.client.host if request.client else ""


async def still_known(service: Service, shown: tuple[str, str]) -> Principal | None:
    """Whoever showed this before, as they are now; None when it was revoked, has ended, or is out of date."""
    known = service.callers.recall(*shown)
    if known is not None:
        return known
    try:
        return await service.call(service.callers.find, *shown)
    except NotAuthenticated:
        return None


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


def require_operator(who: Principal, permission: str = "read") -> None:
    """For what belongs to the whole installation: people of the first workspace."""
    need(who, permission, OPERATORS)
