"""Who may call the allocator over HTTP, how its functions run for a request, and how errors are answered.

A request needs a token; a login is not enough, because `GET /borrow` changes something and a foreign page could make a
browser send it. In the product it is a token with the scope `sandboxes`, in `interlock allocator` the configured one.
"""

from __future__ import annotations

import asyncio
import hmac
import re
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Any, TypeVar

from fastapi import Depends, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException

from interlock.apps.sessions.allocator.lender import AllocatorUnavailable, KeyUsed, NotBorrowed, PoolEmpty, WrongToken
from interlock.apps.sessions.allocator.scopes import SANDBOXES, SANDBOXES_ADMIN
from interlock.apps.sessions.allocator.transactions import EngineTransactions
from interlock.apps.sessions.settings import AllocatorSettings, settings_in
from interlock.engine.application import Unit
from interlock.http.caller import COOKIE, authenticates, caller, credentials
from interlock.http.problems import TITLES, BadRequest
from interlock.http.problems import of as problem_of
from interlock.http.service import Service
from interlock.machine import AGENT, Actor, InterlockError, Scope
from interlock.people import OPERATORS, NotAllowed, NotAuthenticated, Principal, require

T = TypeVar("T")
KEY = re.compile(r"[\x21-\x7e]{1,200}")
HEADER = "X-Interlock-Allocator"
"""Tells a client that this allocator knows idempotency keys, renewals and ids of items."""
STANDALONE_CALLER = Principal(
    "agent", "client", workspace=OPERATORS, scopes=frozenset({SANDBOXES.name, SANDBOXES_ADMIN.name})
)
"""Whoever has the token of `interlock allocator`."""


class SubscriberThreads(ThreadPoolExecutor):
    """Threads that wait for subscribers, so that other requests keep theirs."""

    def __init__(self, service: Service) -> None:
        super().__init__(8, thread_name_prefix="interlock-subscribers")


@dataclass(frozen=True)
class AllocatorAccess:
    """The allocator for one request."""

    service: Service
    who: Principal
    key: str | None
    """The request's idempotency key, as it is stored."""
    confirms: bool
    """Whether the caller's rights are checked again in each transaction."""

    @property
    def settings(self) -> AllocatorSettings:
        return settings_in(self.service.engine.setting("sessions")).allocator

    @property
    def actor(self) -> Actor:
        return self.who.actor_in(OPERATORS) if self.confirms else Actor(AGENT, self.who.name)

    @property
    def db(self) -> EngineTransactions:
        """For threads."""
        return EngineTransactions(self.service.engine)

    def key_of(self, key: str) -> str:
        """A key as it is stored: nobody finds the borrow of another caller, or of a loan, by its key."""
        return f"{self.who.who if self.confirms else self.who.name}:{key}"

    def needs(self, scope: Scope) -> None:
        require(self.who, scope, OPERATORS, "allocator")

    async def write(self, function: Callable[..., T], *args: Any) -> T:
        """Run `function(unit, *args)` in one transaction."""

        def job(unit: Unit) -> T:
            return function(unit, *args)

        if self.confirms:
            return await self.service.write_as(self.who, job, function.__name__)
        return await self.service.write(job, function.__name__)

    async def read(self, function: Callable[..., T], *args: Any, **named: Any) -> T:
        return await self.service.read(lambda conn: function(conn, *args, **named))

    async def in_thread(self, function: Callable[..., T], *args: Any) -> T:
        """Run what waits for subscribers."""
        threads = self.service.singleton(SubscriberThreads)
        return await asyncio.get_running_loop().run_in_executor(threads, partial(function, *args))


@authenticates
async def allocator_access(request: Request) -> AllocatorAccess:
    if request.headers.get("authorization") is None:
        if COOKIE in request.cookies:
            raise NotAllowed("a login is not enough for the allocator: send a token as Authorization: Bearer …")
        raise NotAuthenticated("the allocator needs a token (Authorization: Bearer …)")
    _, secret = credentials(request)
    service: Service = request.app.state.service
    standalone_token: str | None = getattr(request.app.state, "allocator_token", None)
    if standalone_token is None:
        who = await caller(request)
    elif hmac.compare_digest(secret.encode("utf-8", "replace"), standalone_token.encode()):
        who = STANDALONE_CALLER
    else:
        raise NotAuthenticated("this is not the token of the allocator")
    key = request.headers.get("idempotency-key")
    if key is not None and not KEY.fullmatch(key):
        raise BadRequest(f"the Idempotency-Key {key[:80]!r} must have 1 to 200 visible ASCII characters")
    made = AllocatorAccess(service, who, None, standalone_token is None)
    return made if key is None else replace(made, key=made.key_of(key))


async def borrowing(found: Annotated[AllocatorAccess, Depends(allocator_access)]) -> AllocatorAccess:
    found.needs(SANDBOXES)
    return found


async def administering(found: Annotated[AllocatorAccess, Depends(allocator_access)]) -> AllocatorAccess:
    found.needs(SANDBOXES_ADMIN)
    return found


Borrowing = Annotated[AllocatorAccess, Depends(borrowing)]
Administering = Annotated[AllocatorAccess, Depends(administering)]


# -- errors


class AllocatorRoute(APIRoute):
    """A route that answers errors as an allocator does: `{"err", "msg"}`."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def answer(request: Request) -> Response:
            try:
                made = await handle(request)
            except RequestValidationError as error:
                made = refusal(400, TITLES[400], "; ".join(map(_place, error.errors()[:10])))
            except InterlockError as error:
                made = refused(error)
            except HTTPException as error:
                status = 400 if error.status_code == 422 else error.status_code
                made = refusal(status, TITLES.get(status, "Error"), str(error.detail))
            made.headers[HEADER] = "1"
            return made

        return answer


def refusal(status: int, err: str, msg: str, headers: dict[str, str] | None = None) -> JSONResponse:
    return JSONResponse({"err": err, "msg": msg}, status, headers)


def refused(error: InterlockError) -> JSONResponse:
    """The answer to one of our errors."""
    match error:
        case PoolEmpty():
            return refusal(503, "Pool Empty", str(error), {"Retry-After": "5"})
        case AllocatorUnavailable():
            return refusal(502, "Subscriber Error", str(error))
        case WrongToken():
            return refusal(403, "Forbidden", str(error))
        case NotBorrowed():
            return refusal(404, "Not Found", str(error))
        case KeyUsed():
            return refusal(409, "Conflict", str(error))
        case BadRequest():
            status = 400 if error.status == 422 else error.status
            return refusal(status, TITLES.get(status, TITLES[400]), str(error))
    found = problem_of(error)
    kept = {name: found.headers[name] for name in ("WWW-Authenticate", "Retry-After") if name in found.headers}
    return refusal(found.status_code, found.problem.title, found.problem.detail, kept)


def _place(error: Any) -> str:
    place = ".".join(str(part) for part in error["loc"])
    return f"{place}: {error['msg']}"
