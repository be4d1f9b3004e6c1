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

from interlock.apps.sessions.allocator import lending, line, operations, pool, subscribers
from interlock.apps.sessions.allocator.contents import checked_params, content_of, params_of
from interlock.apps.sessions.allocator.desk import Answers, Borrowing, Desk
from interlock.apps.sessions.allocator.inside import NOTHING_FREE
from interlock.apps.sessions.allocator.lender import AllocatorAway, Lent, NotBorrowed, PoolEmpty, Return
from interlock.apps.sessions.allocator.lending import Notifying
from interlock.apps.sessions.allocator.lending import Request as Wanted
from interlock.apps.sessions.allocator.line import Line
from interlock.apps.sessions.allocator.operations import BORROW, RETURN, Operation
from interlock.engine import NotFound
from interlock.http.caller import credentials, still_known

router = APIRouter(tags=["allocator"], route_class=Answers)
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
    request: Request, desk: Borrowing, wait: Wait = 0, params: Annotated[str | None, Query()] = None, pool: Pool = None
) -> LentOut:
    """503 if none is free, also after `wait` seconds. The same `Idempotency-Key` gets the same sandbox."""
    return await _borrow(request, desk, wait, params_of(params), pool)


@router.post("/handlers/ip/borrow", summary="Borrow a sandbox (the specification's path)", response_model=LentOut)
async def post_borrow(request: Request, desk: Borrowing, body: BorrowBody | None = None) -> LentOut:
    given = body or BorrowBody()
    return await _borrow(request, desk, given.wait, checked_params(given.params), given.pool)


@router.get("/borrow/{key}", summary="What was borrowed with an idempotency key", response_model=LentOut)
async def get_borrowed(desk: Borrowing, key: str) -> LentOut:
    """For a client whose answer was lost: 404 says that nothing is borrowed with the key."""
    found = await desk.read(lending.find_by_key, desk.key_of(key[:200]))
    if found is None:
        raise NotBorrowed("nothing is borrowed with this key")
    return _out(found)


async def _borrow(request: Request, desk: Desk, wait: float, params: dict[str, Any], pool_name: str | None) -> LentOut:
    settings = desk.settings
    wanted = Wanted(
        pool_name or settings.pool,
        desk.key or f"once:{uuid4()}",
        desk.who.name,
        timedelta(hours=settings.lend_for),
        params,
        waits=wait > 0,
        notifies=bool(subscribers.of_kind(settings, BORROW)),
    )
    found = await desk.write(lending.lend, wanted)
    if isinstance(found, Line) and wait > 0:
        with desk.service.waits.occupy(desk.who):
            found = await _in_line(request, desk, wanted, wait)
    if isinstance(found, Line):
        raise PoolEmpty(NOTHING_FREE)
    if isinstance(found, Notifying):
        found = await _notified(desk, wanted, found.operation_id)
    if desk.key is None and await request.is_disconnected():
        await desk.write(lending.take_back, found.token, None, {}, _notifies_return(desk))
    return _out(found)


async def _in_line(request: Request, desk: Desk, wanted: Wanted, wait: float) -> Lent | Notifying | Line:
    """Keep a place in line until a sandbox is free or the time is over."""
    end = asyncio.get_running_loop().time() + wait
    found: Lent | Notifying | Line = Line(0)
    kept = 0.0
    with _hints(desk, pool.FREED) as hinted:
        while isinstance(found, Line) and (left := end - asyncio.get_running_loop().time()) > 0:
            await _first_of(hinted, min(LOOK, left))
            if desk.service.stopping or await request.is_disconnected():
                break
            kept += LOOK
            free = (await desk.read(pool.counts, wanted.pool)).free
            if free or kept > line.PLACE.total_seconds() / 3:
                kept = 0.0
                found = await desk.write(lending.lend, wanted)
    if isinstance(found, Line):
        await desk.write(line.leave_line, wanted.pool, wanted.key)
    return found


async def _notified(desk: Desk, wanted: Wanted, operation_id: UUID) -> Lent:
    while not await desk.in_thread(subscribers.work, desk.db, desk.settings, operation_id):
        await asyncio.sleep(LOOK / 2)
    found = await desk.read(lending.find_by_key, wanted.key)
    if found is None:
        ended = await desk.read(operations.find, operation_id)
        why = ended.message if ended is not None and ended.message else "the operation was deleted"
        raise AllocatorAway(f"the item was put back: {why}")
    return found


def _out(found: Lent) -> LentOut:
    return LentOut(item=found.item, borrow_token=found.token, item_id=found.item_id)


# -- return


@router.post("/return", summary="Return a sandbox", response_model=AcceptedOut)
async def post_return(desk: Borrowing, body: ReturnBody) -> AcceptedOut:
    """A second return of the same token gets the same operation. 403 for a wrong token, 404 if it is not borrowed."""
    _, digest = content_of(body.item)
    accepted: Return = await desk.write(
        lending.take_back, body.borrow_token, digest, checked_params(body.params), _notifies_return(desk)
    )
    return AcceptedOut(operation_id=accepted.operation_id)


@router.post("/handlers/ip/return", summary="Return a sandbox (the specification's path)", response_model=AcceptedOut)
async def post_return_too(desk: Borrowing, body: ReturnBody) -> AcceptedOut:
    return await post_return(desk, body)


@router.post("/renew", summary="Keep a sandbox that is still used", response_model=DoneOut)
async def post_renew(desk: Borrowing, body: TokenBody) -> DoneOut:
    """Its time limit begins again. 404 if nothing is borrowed with the token."""
    await desk.write(lending.renew, body.borrow_token, timedelta(hours=desk.settings.lend_for))
    return DoneOut()


def _notifies_return(desk: Desk) -> bool:
    return bool(subscribers.of_kind(desk.settings, RETURN))


# -- operations


@router.get("/operations/{id}", summary="How far an operation is", response_model=OperationOut)
async def get_operation(desk: Borrowing, id: UUID) -> OperationOut:
    return OperationOut.of(await _operation(desk, id))


async def _operation(desk: Desk, id: UUID) -> Operation:
    found = await desk.read(operations.find, id)
    if found is None:
        raise NotFound(f"there is no operation {id}")
    return found


async def _slot(desk: Borrowing) -> AsyncIterator[Desk]:
    """Occupies a slot before the stream begins."""
    with desk.service.streams.occupy(desk.who):
        yield desk


Streaming = Annotated[Desk, Depends(_slot)]


@router.get("/operations/{id}/events", summary="Events of an operation as server-sent events", response_class=Response)
async def get_events(request: Request, desk: Streaming, id: UUID) -> Response:
    """It ends with `completed` or `failed`. A comment, `ping`, is sent every 15 seconds."""
    await _operation(desk, id)
    return StreamingResponse(_follow(request, desk, id), media_type="text/event-stream")


async def _follow(request: Request, desk: Desk, id: UUID) -> AsyncIterator[bytes]:
    seen, quiet = 0, 0.0
    with _hints(desk, operations.CHANGED) as hinted:
        while not desk.service.stopping:
            for one in await desk.read(operations.events, id, seen):
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
                if desk.confirms and await still_known(desk.service, credentials(request)) is None:
                    return
                if await desk.read(operations.find, id) is None:
                    return


# -- hints


@contextmanager
def _hints(desk: Desk, name: str) -> Any:
    """An event that is set whenever the hint comes."""
    loop, hinted = asyncio.get_running_loop(), asyncio.Event()

    def hear(names: frozenset[str]) -> None:
        if name in names or not names:
            loop.call_soon_threadsafe(hinted.set)

    leave: Callable[[], None] = desk.service.engine.store.subscribe(hear)
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
