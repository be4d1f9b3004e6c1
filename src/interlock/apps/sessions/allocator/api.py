"""The allocator over HTTP: borrow, return, and operations with their events, under both families of paths."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import contextmanager
from datetime import timedelta
from typing import Annotated, Any, Literal
from uuid import UUID, uuid4

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import Response, StreamingResponse
from pydantic import BaseModel, ConfigDict, Field

from interlock.apps.sessions.allocator import lending, operations, pool, subscribers, waiting_line
from interlock.apps.sessions.allocator.access import AllocatorAccess, AllocatorRoute, Borrowing
from interlock.apps.sessions.allocator.contents import checked_params, content_of, params_of
from interlock.apps.sessions.allocator.lender import AllocatorUnavailable, Lent, NotBorrowed, PoolEmpty, Return
from interlock.apps.sessions.allocator.lending import Notifying
from interlock.apps.sessions.allocator.lending import Request as Wanted
from interlock.apps.sessions.allocator.local_lender import NOTHING_FREE
from interlock.apps.sessions.allocator.operations import BORROW, RETURN, Operation
from interlock.apps.sessions.allocator.waiting_line import MustWait
from interlock.engine import NotFound
from interlock.http.caller import credentials, still_known

router = APIRouter(tags=["allocator"], route_class=AllocatorRoute)
LONGEST_WAIT = 300.0
LOOK = 0.5
"""Seconds between two looks of a borrower that waits; a hint comes earlier."""
PING = 15.0
Pool = Annotated[str | None, Query(pattern=r"^[a-z0-9_-]{1,50}$", description="Another pool than the default one.")]
Wait = Annotated[float, Query(ge=0, le=LONGEST_WAIT, allow_inf_nan=False, description="Seconds to wait for a sandbox.")]


class Body(BaseModel):
    """A body; unknown fields are ignored, because other allocators' clients may send some."""

    model_config = ConfigDict(extra="ignore")


class BorrowBody(Body):
    """A borrow."""

    wait: float = Field(0, ge=0, le=LONGEST_WAIT, allow_inf_nan=False, examples=[30])
    params: dict[str, Any] | None = Field(None, examples=[{"session": "a name"}])
    pool: str | None = Field(None, pattern=r"^[a-z0-9_-]{1,50}$")


class ReturnBody(Body):
    """A return: the item as it was borrowed, and its token."""

    item: Any = Field(examples=[{"mcp_json_string": "{}", "api_url": "http://sandbox-1"}])
    borrow_token: str = Field(min_length=1, max_length=200, examples=["what the borrow answered"])
    params: dict[str, Any] | None = None


class TokenBody(Body):
    """A borrow, by its token."""

    borrow_token: str = Field(min_length=1, max_length=200, examples=["what the borrow answered"])


class LentOut(BaseModel):
    """A sandbox that is lent to the caller."""

    item: Any
    borrow_token: str
    item_id: str


class AcceptedOut(BaseModel):
    """An operation that was accepted; it is done when its status says so."""

    operation_id: str
    status: Literal["accepted"] = "accepted"


class OperationOut(BaseModel):
    """How far an operation is."""

    operation_id: str
    status: str = Field(examples=["pending", "inprogress", "succeeded", "failed"])
    message: str | None

    @classmethod
    def of(cls, found: Operation) -> OperationOut:
        return cls(operation_id=str(found.id), status=found.status, message=found.message)


class DoneOut(BaseModel):
    """It was done."""

    status: str = "ok"


# -- borrow


@router.get("/borrow", summary="Borrow a sandbox", response_model=LentOut)
async def get_borrow(
    request: Request,
    access: Borrowing,
    wait: Wait = 0,
    params: Annotated[str | None, Query()] = None,
    pool: Pool = None,
) -> LentOut:
    """503 if none is free, also after `wait` seconds. The same `Idempotency-Key` gets the same sandbox."""
    return await _borrow(request, access, wait, params_of(params), pool)


@router.post("/handlers/ip/borrow", summary="Borrow a sandbox (the specification's path)", response_model=LentOut)
async def post_borrow(request: Request, access: Borrowing, body: BorrowBody | None = None) -> LentOut:
    given = body or BorrowBody()
    return await _borrow(request, access, given.wait, checked_params(given.params), given.pool)


@router.get("/borrow/{key}", summary="Show what was borrowed with an idempotency key", response_model=LentOut)
async def get_borrowed(access: Borrowing, key: str) -> LentOut:
    """For a client that lost the answer. 404 if nothing is borrowed with the key."""
    found = await access.read(lending.find_by_key, access.key_of(key[:200]))
    if found is None:
        raise NotBorrowed("nothing is borrowed with this key")
    return _out(found)


async def _borrow(
    request: Request, access: AllocatorAccess, wait: float, params: dict[str, Any], pool_name: str | None
) -> LentOut:
    settings = access.settings
    wanted = Wanted(
        pool_name or settings.pool,
        access.key or f"once:{uuid4()}",
        access.who.name,
        timedelta(hours=settings.lend_for),
        params,
        waits=wait > 0,
        notifies=bool(subscribers.of_kind(settings, BORROW)),
    )
    found = await access.write(lending.lend, wanted)
    if isinstance(found, MustWait) and wait > 0:
        with access.service.waits.occupy(access.who):
            found = await _in_line(request, access, wanted, wait)
    if isinstance(found, MustWait):
        raise PoolEmpty(NOTHING_FREE)
    if isinstance(found, Notifying):
        found = await _notified(access, wanted, found.operation_id)
    if access.key is None and await request.is_disconnected():
        await access.write(lending.take_back, found.token, None, {}, _notifies_return(access))
    return _out(found)


async def _in_line(
    request: Request, access: AllocatorAccess, wanted: Wanted, wait: float
) -> Lent | Notifying | MustWait:
    """Keep a place in line until a sandbox is free or the time is over."""
    end = asyncio.get_running_loop().time() + wait
    found: Lent | Notifying | MustWait = MustWait(0)
    kept = 0.0
    with _hints(access, pool.FREED) as hinted:
        while isinstance(found, MustWait) and (left := end - asyncio.get_running_loop().time()) > 0:
            await _first_of(hinted, min(LOOK, left))
            if access.service.stopping or await request.is_disconnected():
                break
            kept += LOOK
            free = (await access.read(pool.counts, wanted.pool)).free
            if free or kept > waiting_line.PLACE.total_seconds() / 3:
                kept = 0.0
                found = await access.write(lending.lend, wanted)
    if isinstance(found, MustWait):
        await access.write(waiting_line.leave_line, wanted.pool, wanted.key)
    return found


async def _notified(access: AllocatorAccess, wanted: Wanted, operation_id: UUID) -> Lent:
    while not await access.in_thread(subscribers.work, access.db, access.settings, operation_id):
        await asyncio.sleep(LOOK / 2)
    found = await access.read(lending.find_by_key, wanted.key)
    if found is None:
        ended = await access.read(operations.find, operation_id)
        why = ended.message if ended is not None and ended.message else "the operation was deleted"
        raise AllocatorUnavailable(f"the item was put back: {why}")
    return found


def _out(found: Lent) -> LentOut:
    return LentOut(item=found.item, borrow_token=found.token, item_id=found.item_id)


# -- return


@router.post("/return", summary="Return a sandbox", response_model=AcceptedOut)
async def post_return(access: Borrowing, body: ReturnBody) -> AcceptedOut:
    """A second return of the same token gets the same operation. 403 for a wrong token, 404 if it is not borrowed."""
    _, digest = content_of(body.item)
    accepted: Return = await access.write(
        lending.take_back, body.borrow_token, digest, checked_params(body.params), _notifies_return(access)
    )
    return AcceptedOut(operation_id=accepted.operation_id)


@router.post("/handlers/ip/return", summary="Return a sandbox (the specification's path)", response_model=AcceptedOut)
async def post_return_too(access: Borrowing, body: ReturnBody) -> AcceptedOut:
    return await post_return(access, body)


@router.post("/renew", summary="Renew a borrow", response_model=DoneOut)
async def post_renew(access: Borrowing, body: TokenBody) -> DoneOut:
    """Its time limit begins again. 404 if nothing is borrowed with the token."""
    await access.write(lending.renew, body.borrow_token, timedelta(hours=access.settings.lend_for))
    return DoneOut()


def _notifies_return(access: AllocatorAccess) -> bool:
    return bool(subscribers.of_kind(access.settings, RETURN))


# -- operations


@router.get("/operations/{id}", summary="Show an operation", response_model=OperationOut)
async def get_operation(access: Borrowing, id: UUID) -> OperationOut:
    return OperationOut.of(await _operation(access, id))


async def _operation(access: AllocatorAccess, id: UUID) -> Operation:
    found = await access.read(operations.find, id)
    if found is None:
        raise NotFound(f"there is no operation {id}")
    return found


async def _slot(access: Borrowing) -> AsyncIterator[AllocatorAccess]:
    """Occupies a slot before the stream begins."""
    with access.service.streams.occupy(access.who):
        yield access


Streaming = Annotated[AllocatorAccess, Depends(_slot)]


@router.get("/operations/{id}/events", summary="Events of an operation as server-sent events", response_class=Response)
async def get_events(request: Request, access: Streaming, id: UUID) -> Response:
    """It ends with `completed` or `failed`. A comment, `ping`, is sent every 15 seconds."""
    await _operation(access, id)
    return StreamingResponse(_follow(request, access, id), media_type="text/event-stream")


async def _follow(request: Request, access: AllocatorAccess, id: UUID) -> AsyncIterator[bytes]:
    seen, quiet = 0, 0.0
    with _hints(access, operations.CHANGED) as hinted:
        while not access.service.stopping:
            for one in await access.read(operations.events, id, seen):
                seen, quiet = one.seq, 0.0
                said = {"event": one.event} | ({"reason": one.reason} if one.reason is not None else {})
                yield f"data: {json.dumps(said)}\n\n".encode()
                if one.event in {operations.COMPLETED, operations.BROKEN}:
                    return
            await _first_of(hinted, LOOK)
            quiet += LOOK
            if quiet >= PING:
                quiet = 0.0
                yield b": ping\n\n"
                if access.confirms and await still_known(access.service, credentials(request)) is None:
                    return
                if await access.read(operations.find, id) is None:
                    return


# -- hints


@contextmanager
def _hints(access: AllocatorAccess, name: str) -> Any:
    """An event that is set whenever the hint comes."""
    loop, hinted = asyncio.get_running_loop(), asyncio.Event()

    def hear(names: frozenset[str]) -> None:
        if name in names or not names:
            loop.call_soon_threadsafe(hinted.set)

    leave: Callable[[], None] = access.service.engine.store.subscribe(hear)
    try:
        yield hinted
    finally:
        leave()


async def _first_of(hinted: asyncio.Event, seconds: float) -> None:
    try:
        async with asyncio.timeout(max(seconds, 0.01)):
            await hinted.wait()
    except TimeoutError:
        return
    hinted.clear()
