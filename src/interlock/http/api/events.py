"""Live events: a stream that continues from any position without gaps."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator
from datetime import datetime
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Depends, Header, Query, Request
from fastapi.responses import Response
from fastapi.sse import EventSourceResponse, ServerSentEvent
from pydantic import Field

from interlock.engine import feed
from interlock.engine.feed import FeedEntry
from interlock.http.api.instances import readable
from interlock.http.caller import Caller, TheService, credentials, still_known
from interlock.http.models import Answer
from interlock.people import NotAllowed, Principal
from interlock.store import moment
from interlock.store.positions import START

router = APIRouter(prefix="/api/events", tags=["events"])


class EventOut(Answer):
    """An event of an instance."""

    position: str = Field(description="Continue from here with `after` or the header Last-Event-ID.")
    instance_id: UUID
    workspace: str
    machine: str
    seq: int
    kind: str
    from_state: str | None
    to_state: str | None
    event: str | None
    actor: str
    at: datetime

    @classmethod
    def of(cls, h: FeedEntry) -> EventOut:
        return cls(
            position=str(h.position),
            instance_id=h.instance_id,
            workspace=h.workspace,
            machine=h.machine,
            seq=h.seq,
            kind=h.kind,
            from_state=h.from_state,
            to_state=h.to_state,
            event=h.event,
            actor=h.actor,
            at=moment(h.at),
        )


class EventPage(Answer):
    """Events, in order."""

    events: list[EventOut]
    next: str = Field(description="Pass it as `after` to continue, also if there were no events.")


class Chosen:
    """The events that a listener wants and may read."""

    def __init__(
        self,
        request: Request,
        who: Caller,
        machine: Annotated[str | None, Query(max_length=200)] = None,
        instance: UUID | None = None,
        after: Annotated[str | None, Query(max_length=80, examples=["0-42"])] = None,
        last_event_id: Annotated[str | None, Header(max_length=80)] = None,
    ) -> None:
        self.machine, self.instance = machine, instance
        self.becomes(who)
        if not self.workspaces:
            raise NotAllowed(f"this needs the permission 'read' for a machine, which {who.name} has for none")
        self.shown = credentials(request)
        given = last_event_id or after
        self.after = feed.parse(given) if given is not None else None

    def becomes(self, who: Principal) -> None:
        """The listener's current permissions: a role may have been removed since."""
        self.who, self.workspaces = who, readable(who)

    def wants(self, h: FeedEntry) -> bool:
        return (
            h.workspace in self.workspaces
            and (self.machine is None or h.machine == self.machine)
            and (self.instance is None or h.instance_id == self.instance)
            and self.who.may("read", h.workspace, h.machine)
        )


async def _slot(service: TheService, chosen: Annotated[Chosen, Depends()]) -> AsyncIterator[Chosen]:
    """Occupies a slot before the stream begins."""
    if not chosen.workspaces:
        raise NotAllowed("you may not read any machine, so there are no events; ask an owner for a role")
    with service.streams.occupy(chosen.who):
        yield chosen


@router.get("", summary="Events after a position, as one page", response_model=EventPage)
async def list_events(
    service: TheService, chosen: Annotated[Chosen, Depends()], limit: Annotated[int, Query(ge=1, le=1000)] = 100
) -> Response:
    start = chosen.after or START
    found = await service.call(service.engine.feed, start, limit=limit)
    following = found[-1].position if found else start
    return await service.answer(
        lambda: EventPage(events=[EventOut.of(h) for h in found if chosen.wants(h)], next=str(following))
    )


@router.get("/stream", summary="Live events as server-sent events", response_class=EventSourceResponse)
async def stream_events(
    service: TheService, chosen: Annotated[Chosen, Depends(_slot)]
) -> AsyncIterable[ServerSentEvent]:
    """Each event's id is its position, so a browser that reconnects continues there. A comment is sent every 15 s."""
    yield ServerSentEvent(comment="listening", retry=1000)
    async for happened in service.hub.follow(chosen.after):
        who = await still_known(service, chosen.shown)
        if who is None:
            return  # revoked, expired or logged out
        chosen.becomes(who)
        for one in happened:
            if chosen.wants(one):
                yield ServerSentEvent(data=EventOut.of(one), event=one.kind, id=str(one.position))
