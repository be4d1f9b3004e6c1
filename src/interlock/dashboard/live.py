"""Hints to pages: what they show has changed. A page then asks for itself again.

A watcher holds a set and never a queue, so a slow window costs no memory; whatever comes while its last hint is on the
way is one more hint.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, AsyncIterator
from typing import Annotated

from fastapi import APIRouter, Depends, Query
from fastapi.sse import EventSourceResponse, ServerSentEvent

from interlock.dashboard.site import Reader, Visitor
from interlock.engine.feed import Happening
from interlock.http.api.instances import readable
from interlock.http.caller import credentials, still_known
from interlock.people import NotAllowed

router = APIRouter(include_in_schema=False)
CALM = 0.25


def topics_of(happened: Happening) -> set[str]:
    """What a row of the history concerns: everything, a machine, an instance, reviews, dead letters."""
    found = {"all", f"machine:{happened.machine}", f"instance:{happened.instance_id}"}
    return found


async def _room(
    v: Reader, topic: Annotated[list[str], Query(max_length=20)]
) -> AsyncIterator[tuple[Visitor, frozenset[str]]]:
    if not readable(v.who):
        raise NotAllowed("you may read no machine, so there is nothing to listen to")
    with v.service.streams.held(v.who):
        yield v, frozenset(topic)


@router.get("/ui/live", response_class=EventSourceResponse)
async def live(
    chosen: Annotated[tuple[Visitor, frozenset[str]], Depends(_room)],
) -> AsyncIterable[ServerSentEvent]:
    v, wanted = chosen
    told, shown = False, credentials(v.request)
    async for happened in v.service.hub.follow(None):
        if not told:
            # From here on nothing is missed; what happened before, since the page was made, it asks for now.
            told = True
            yield ServerSentEvent(event="listening", data=[], retry=1000)
        who = await still_known(v.service, shown)
        if who is None:
            return  # logged out or revoked; the page then asks for a login
        v.who = who
        dirty: set[str] = set()
        for one in happened:
            if one.workspace in v.workspaces and v.may("read", one.workspace, one.machine):
                dirty |= topics_of(one) & wanted
        if dirty:
            yield ServerSentEvent(event="changed", data=sorted(dirty))
            await asyncio.sleep(CALM)
