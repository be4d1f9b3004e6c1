"""Endpoints that add companies, sources and postings."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fastapi.responses import Response

from interlock.apps.jobs.finder import intake
from interlock.apps.jobs.finder.api.access import (
    router,
    writable_workspace,
)
from interlock.apps.jobs.finder.api.answers import AddedOut
from interlock.apps.jobs.finder.api.bodies import CompanyBody, ListingBody, SourceBody
from interlock.engine.application import Unit
from interlock.http.writing import Write
from interlock.machine import Actor

ADDED: dict[int | str, dict[str, Any]] = {200: {"model": AddedOut, "description": "It is open already"}}


@router.post("/companies", status_code=201, summary="Add a company", response_model=AddedOut, responses=ADDED)
async def add_company(write: Write, body: CompanyBody) -> Response:
    """Its pages are fetched and analysed, its tier is computed, and its job board becomes a source."""
    place = writable_workspace(write.who, body.workspace)

    def add(unit: Unit, actor: Actor) -> AddedOut:
        return AddedOut.of(intake.add_company(unit, place, body.name, body.website, actor))

    return await _added(write, place, add)


@router.post("/sources", status_code=201, summary="Add a source", response_model=AddedOut, responses=ADDED)
async def add_source(write: Write, body: SourceBody) -> Response:
    place = writable_workspace(write.who, body.workspace)

    def add(unit: Unit, actor: Actor) -> AddedOut:
        if body.company_id is not None:
            intake.company_in(unit, place, body.company_id)
        options = body.model_dump(exclude={"workspace", "url"})
        return AddedOut.of(intake.add_source(unit, place, body.url, actor, **options))

    return await _added(write, place, add)


@router.post(
    "/listings",
    status_code=201,
    summary="Add one posting, to filter and match it",
    response_model=AddedOut,
    responses=ADDED,
)
async def add_listing(write: Write, body: ListingBody) -> Response:
    place = writable_workspace(write.who, body.workspace)
    said = body.job_data.model_dump(exclude_none=True) if body.job_data is not None else None

    def add(unit: Unit, actor: Actor) -> AddedOut:
        return AddedOut.of(intake.add_listing(unit, place, body.url, actor, job_data=said or None))

    return await _added(write, place, add)


async def _added(write: Write, place: str, add: Callable[[Unit, Actor], AddedOut]) -> Response:
    actor = write.who.actor_in(place)
    return await write(lambda unit: add(unit, actor), status=lambda made: made.status, name="create")
