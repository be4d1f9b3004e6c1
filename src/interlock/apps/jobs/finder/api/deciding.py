"""Endpoints that decide about postings and sources."""

from __future__ import annotations

from collections.abc import Callable
from uuid import UUID

from fastapi.responses import Response

from interlock.apps.jobs.finder import intake
from interlock.apps.jobs.finder.api.access import (
    router,
    workspace_of_row,
)
from interlock.apps.jobs.finder.api.adding import ADDED
from interlock.apps.jobs.finder.api.answers import AddedOut, SourceOut, WholePostingOut
from interlock.apps.jobs.finder.api.bodies import ReasonBody
from interlock.apps.jobs.finder.api.reading import whole_posting
from interlock.apps.jobs.finder.records import lists, sources
from interlock.engine.application import Unit
from interlock.http.writing import Write


@router.post("/postings/{id}/save", summary="Save a posting", response_model=WholePostingOut)
async def save(write: Write, id: UUID) -> Response:
    return await _decide(write, id, lists.SAVED)


@router.post("/postings/{id}/dismiss", summary="Dismiss a posting", response_model=WholePostingOut)
async def dismiss(write: Write, id: UUID) -> Response:
    return await _decide(write, id, lists.DISMISSED)


@router.post("/postings/{id}/undo", summary="Undo a decision", response_model=WholePostingOut)
async def undo(write: Write, id: UUID) -> Response:
    """The posting is neither saved nor dismissed any more."""
    return await _decide(write, id, None)


async def _decide(write: Write, id: UUID, decision: str | None) -> Response:
    def decide(unit: Unit) -> WholePostingOut:
        place = workspace_of_row(unit.conn, "posting", id, write.who, write=True)
        intake.decide(unit, place, id, decision, write.who.actor_in(place))
        return whole_posting(unit.conn, place, id, unit.now)

    return await write(decide, name="decide")


@router.post(
    "/postings/{id}/unfilter",
    status_code=201,
    summary="Include a posting that was filtered or skipped",
    response_model=AddedOut,
    responses=ADDED,
)
async def unfilter(write: Write, id: UUID, body: ReasonBody | None = None) -> Response:
    """A new item matches it. 409 if it was neither filtered nor skipped."""

    def take(unit: Unit) -> AddedOut:
        place = workspace_of_row(unit.conn, "posting", id, write.who, write=True)
        reason = body.reason if body else ""
        return AddedOut.of(intake.unfilter(unit, place, id, write.who.actor_in(place), reason))

    return await write(take, status=lambda made: made.status, name="create")


@router.post(
    "/sources/{id}/crawl", status_code=201, summary="Crawl a source now", response_model=AddedOut, responses=ADDED
)
async def crawl(write: Write, id: UUID) -> Response:
    """200 with the crawl that is under way, if there is one. 409 if the source is disabled or waits for validation."""

    def start(unit: Unit) -> AddedOut:
        place = workspace_of_row(unit.conn, "source", id, write.who, write=True)
        return AddedOut.of(intake.crawl(unit, place, id, write.who.actor_in(place)))

    return await write(start, status=lambda made: made.status, name="create")


@router.post("/sources/{id}/enable", summary="Crawl a source by schedule", response_model=SourceOut)
async def enable(write: Write, id: UUID, body: ReasonBody | None = None) -> Response:
    """Its failures are forgotten, and a review that asks whether to crawl it is answered."""
    return await _switch(write, id, body, intake.enable_source)


@router.post("/sources/{id}/disable", summary="Stop crawling a source", response_model=SourceOut)
async def disable(write: Write, id: UUID, body: ReasonBody | None = None) -> Response:
    return await _switch(write, id, body, intake.disable_source)


async def _switch(
    write: Write, id: UUID, body: ReasonBody | None, switch: Callable[..., sources.SourceRow]
) -> Response:
    def do(unit: Unit) -> SourceOut:
        place = workspace_of_row(unit.conn, "source", id, write.who, write=True)
        return SourceOut.of(switch(unit, place, id, write.who.actor_in(place), body.reason if body else ""))

    return await write(do, name="switch_source")
