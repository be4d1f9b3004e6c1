"""Live events of one session: its state, its prompts, and each line as soon as it is stored."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, AsyncIterator, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Annotated
from uuid import UUID

import sqlalchemy as sa
from fastapi import Depends, Header, Query, Request
from fastapi.sse import EventSourceResponse, ServerSentEvent

from interlock.apps.sessions.api.access import seen
from interlock.apps.sessions.api.answers import MessageOut, PromptOut, session_out
from interlock.apps.sessions.control import CANCEL
from interlock.apps.sessions.conversation import messages, prompts
from interlock.apps.sessions.steps.followers import CHANGED
from interlock.engine import NotFound
from interlock.http.caller import Caller, TheService, credentials, still_known
from interlock.http.direct import Router
from interlock.http.problems import BadRequest
from interlock.http.service import Service
from interlock.people import NotAllowed, Principal
from interlock.store import Micros

router = Router(prefix="/sessions", tags=["sessions"])
POLL_EVERY = 1.0
"""Seconds between two looks without a hint; hints may be lost."""
HINTS = frozenset({messages.HINT, CHANGED, CANCEL})
AT_ONCE = 200
"""Lines that one look reads."""


class StreamWaker:
    """Wakes the live streams of this process when something about sessions was stored."""

    def __init__(self, service: Service) -> None:
        self._listeners: set[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = set()
        service.engine.store.listen()
        service.engine.store.subscribe(self._hear)

    def _hear(self, hints: frozenset[str]) -> None:
        if hints and hints.isdisjoint(HINTS):
            return
        for loop, event in tuple(self._listeners):
            with suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(event.set)

    @contextmanager
    def listening(self) -> Iterator[asyncio.Event]:
        one = asyncio.get_running_loop(), asyncio.Event()
        self._listeners.add(one)
        try:
            yield one[1]
        finally:
            self._listeners.discard(one)


@dataclass
class Position:
    """What a listener has got: the session's and the prompts' last changes, and the last line."""

    number: int = 0
    seq: int = 0
    history: int | None = None
    known: dict[UUID, tuple[object, ...]] = field(default_factory=dict)
    since: Micros = 0


class Chosen:
    """What a listener follows."""

    def __init__(
        self,
        request: Request,
        who: Caller,
        id: UUID,
        after: Annotated[
            str | None,
            Query(max_length=40, examples=["1.27"], description="Lines after this one; without it, from now on."),
        ] = None,
        last_event_id: Annotated[str | None, Header(max_length=40)] = None,
    ) -> None:
        self.who, self.id, self.shown = who, id, credentials(request)
        self.after = _parsed(last_event_id or after)


def _parsed(given: str | None) -> tuple[int, int] | None:
    if given is None:
        return None
    number, _, seq = given.partition(".")
    if not (number.isascii() and number.isdigit() and seq.isascii() and seq.isdigit() and len(given) <= 30):
        raise BadRequest(f"after: {given[:40]!r} is not a position; it is the id of an event, such as 1.27")
    return int(number), int(seq)


async def _slot(service: TheService, chosen: Annotated[Chosen, Depends()]) -> AsyncIterator[Chosen]:
    """Occupies a slot, once the session was found."""
    await service.read(lambda conn: seen(conn, chosen.id, chosen.who))
    with service.streams.occupy(chosen.who):
        yield chosen


@router.get("/{id}/events", summary="Live events of a session", response_class=EventSourceResponse)
async def stream_events(
    service: TheService, chosen: Annotated[Chosen, Depends(_slot)]
) -> AsyncIterable[ServerSentEvent]:
    """`session`, `prompt` and `message` events. The id of a message is its position, from which a client continues."""
    yield ServerSentEvent(comment="listening", retry=1000)
    position = await service.read(lambda conn: _begin(conn, chosen))
    with service.singleton(StreamWaker).listening() as awake:
        while not service.stopping:
            awake.clear()
            who = await still_known(service, chosen.shown)
            if who is None:
                return  # revoked, expired or logged out
            try:
                events = await service.read(partial(look, session_id=chosen.id, who=who, position=position))
            except (NotFound, NotAllowed):
                return  # deleted, or no longer this caller's to see
            for event in events:
                yield event
            if len(events) < AT_ONCE:
                with suppress(TimeoutError):
                    await asyncio.wait_for(awake.wait(), POLL_EVERY)


def _begin(conn: sa.Connection, chosen: Chosen) -> Position:
    if chosen.after is not None:
        return Position(*chosen.after)
    latest = prompts.latest(conn, chosen.id, 1)
    if not latest:
        return Position()
    return Position(latest[0].number, messages.last_seq(conn, latest[0].id))


def look(conn: sa.Connection, session_id: UUID, who: Principal, position: Position) -> list[ServerSentEvent]:
    """What is new since the position, which moves on."""
    instance, entry = seen(conn, session_id, who)
    events = _lines(conn, session_id, position)
    if len(events) >= AT_ONCE:
        return events
    for prompt in prompts.changed_since(conn, session_id, position.since):
        mark = prompt.updated_at, prompt.inbox_status, prompt.cancel_at
        if position.known.get(prompt.id) != mark:
            position.known[prompt.id] = mark
            events.append(_event("prompt", PromptOut.of(prompt).model_dump_json()))
        position.since = max(position.since, prompt.updated_at)
    if instance.seq != position.history:  # after the lines, so that who waits for its end has them all
        position.history = instance.seq
        events.append(_event("session", session_out(conn, instance, entry).model_dump_json()))
    return events


def _lines(conn: sa.Connection, session_id: UUID, position: Position) -> list[ServerSentEvent]:
    events: list[ServerSentEvent] = []
    for prompt in prompts.of_session(conn, session_id, after=max(position.number - 1, 0)):
        after = position.seq if prompt.number == position.number else 0
        for message in messages.of_prompt(conn, prompt.id, after=after, limit=AT_ONCE):
            position.number, position.seq = prompt.number, message.seq
            named = f"{prompt.number}.{message.seq}"
            events.append(_event("message", MessageOut.of(message).model_dump_json(), named))
        if len(events) >= AT_ONCE:
            break
    return events


def _event(kind: str, data: str, named: str | None = None) -> ServerSentEvent:
    return ServerSentEvent(raw_data=data, event=kind, id=named)
