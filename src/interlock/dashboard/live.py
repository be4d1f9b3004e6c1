"""Server-sent events that tell pages to reload themselves.

Each watcher has a set, not a queue, so a slow browser costs no memory. Changes that arrive while an event is being sent
become one more event. A stream for somebody who is not logged in says so and ends, as browsers report a refused one as
an error.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, AsyncIterator
from typing import Annotated

from fastapi import APIRouter, Depends, Query
from fastapi.sse import EventSourceResponse, ServerSentEvent

from interlock.dashboard.site import Frame, Reader, Visitor, frame
from interlock.engine.feed import FeedEntry
from interlock.http.api.instances import readable
from interlock.http.caller import credentials, still_known
from interlock.people import NotAllowed

router = APIRouter(include_in_schema=False)
CALM = 0.25
ENDED = "event: ended\ndata: []\n\n"
"""A stream for somebody who is not logged in, or not any more."""


def _glance(around: Frame) -> tuple[object, ...]:
    """What the frame shows of changes that are not in the history, or come to its figures late."""
    totals = around.overview.totals
    return totals.reviews.open, totals.dead_letters, totals.workers_alive, around.alerts, around.halted


def topics_of(happened: FeedEntry) -> set[str]:
    """The topics that a history row concerns: all, a machine, an instance, reviews, dead letters."""
    found = {"all", f"machine:{happened.machine}", f"instance:{happened.instance_id}"}
    return found


async def _slot(
    v: Reader, topic: Annotated[list[str], Query(max_length=20)]
) -> AsyncIterator[tuple[Visitor, frozenset[str]]]:
    if not readable(v.who):
        raise NotAllowed("you may not read any machine, so there are no live updates; ask an owner for a role")
    with v.service.streams.occupy(v.who):
        yield v, frozenset(topic)


@router.get("/ui/live", response_class=EventSourceResponse)
async def live(
    chosen: Annotated[tuple[Visitor, frozenset[str]], Depends(_slot)],
) -> AsyncIterable[ServerSentEvent]:
    v, wanted = chosen
    announced, shown = False, credentials(v.request)
    seen: tuple[object, ...] | None = None
    async for happened in v.service.hub.follow(None):
        if not announced:
            # Nothing is missed from here on. The page requests what happened since it was rendered.
            announced = True
            yield ServerSentEvent(event="listening", data=[], retry=1000)
        who = await still_known(v.service, shown)
        if who is None:
            yield ServerSentEvent(event="ended", data=[])
            return
        v.who = who
        dirty: set[str] = set()
        for one in happened:
            if one.workspace in v.workspaces and v.may("read", one.workspace, one.machine):
                dirty |= topics_of(one) & wanted
        if "all" in wanted:
            before, seen = seen, _glance(await frame(v))
            if before not in (None, seen):
                dirty.add("all")
        if dirty:
            yield ServerSentEvent(event="changed", data=sorted(dirty))
            await asyncio.sleep(CALM)
