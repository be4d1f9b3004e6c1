"""Endpoints that say why: a posting that is not shown, an item that was not started."""

from __future__ import annotations

from typing import Annotated

import sqlalchemy as sa
from fastapi import Query
from fastapi.responses import Response

from interlock.apps.jobs.finder import intake
from interlock.apps.jobs.finder.api.access import (
    BIGGEST_PAGE,
    PAGE,
    Workspace,
    readable_workspace,
    router,
)
from interlock.apps.jobs.finder.api.reason_answers import RefusalOut, RefusalsOut, WhyOut
from interlock.apps.jobs.finder.records import lists
from interlock.apps.jobs.finder.records import why as reasons
from interlock.engine.application import refused_spawns
from interlock.http.caller import Caller, TheService
from interlock.http.problems import BadRequest


@router.get("/why", summary="Why something is not among the matches", response_model=WhyOut)
async def why(
    service: TheService,
    who: Caller,
    url: Annotated[str | None, Query(min_length=1, max_length=4000, description="A posting's address.")] = None,
    q: Annotated[str | None, Query(min_length=1, max_length=200, description="Words of postings.")] = None,
    workspace: Workspace = None,
) -> Response:
    """The postings that are found, with every check; for an address that is not stored, what is known about it."""
    place = readable_workspace(who, workspace)
    asked = url or q
    if asked is None or (url and q):
        raise BadRequest("give either url, a posting's address, or q, words of postings")
    if url is not None and not reasons.is_address(url):
        raise BadRequest(f"url: {url[:200]!r} is not a web address; write it as https://example.com/jobs/1, or use q")
    hosts = intake.settings_in(service.engine.core.settings.get("jobs")).private_hosts
    now = service.engine.clock.now()
    return await service.answer(
        lambda: WhyOut.of(
            service.engine.read(lambda conn: reasons.why(conn, place, asked, now, private_hosts=hosts, words=bool(q)))
        )
    )


@router.get("/refusals", summary="Items that were not started, and why", response_model=RefusalsOut)
async def refusals(
    service: TheService,
    who: Caller,
    after: Annotated[int | None, Query(ge=1, le=2**62, description="`next` of the page before.")] = None,
    limit: Annotated[int, Query(ge=1, le=BIGGEST_PAGE)] = PAGE,
    workspace: Workspace = None,
) -> Response:
    """Companies, sources and listings that would have made a loop, or a lineage that is too deep. The newest first."""
    place = readable_workspace(who, workspace)

    def look(conn: sa.Connection) -> RefusalsOut:
        found, following = refused_spawns(conn, place, lists.MACHINES, before=after, limit=limit)
        return RefusalsOut(
            refusals=[RefusalOut.of(one) for one in found], next=None if following is None else str(following)
        )

    return await service.answer(lambda: service.engine.read(look))
