"""Migrations: move running instances to another version of their machine, planned first, then in batches."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated
from uuid import UUID

import sqlalchemy as sa
from fastapi import APIRouter, Path, Query
from fastapi.responses import Response
from pydantic import BaseModel, ConfigDict, Field

from interlock.engine import NotFound
from interlock.engine.unit import Unit
from interlock.engine.versions import migrating
from interlock.engine.versions.adapting import Route
from interlock.engine.versions.batches import Report
from interlock.http.caller import Caller, TheService, require_operator
from interlock.http.models import Answer
from interlock.http.problems import BadRequest
from interlock.http.service import Service
from interlock.http.writing import Write
from interlock.people import OPERATORS

router = APIRouter(prefix="/api/machines", tags=["machines"])
MOST = 2_000
"""Instances that one plan examines."""
Name = Annotated[str, Path(min_length=1, max_length=200, examples=["parcel"])]
Version = Annotated[int | None, Query(ge=1, le=2**31)]
Text = Annotated[str, Field(min_length=1, max_length=200)]


class Migrate(BaseModel):
    """Which instances to move, and where to."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"map": {"asking": "approving"}, "reason": "release 12", "batch": 200}]},
    )

    from_: int | None = Field(None, alias="from", ge=1, le=2**31, description="Only instances of this version.")
    to: int | None = Field(None, ge=1, le=2**31, description="To this version; without it, to that of the code.")
    map: dict[Text, Text] = Field(default_factory=dict, max_length=500, description="Where a state's instances go.")
    workspace: str | None = Field(None, max_length=200, description="Only of this workspace.")
    reason: str = Field("", max_length=2000, description="Why; the history keeps it.")
    batch: int = Field(migrating.BATCH, ge=1, le=1000, description="Instances that this request examines.")
    after: str | None = Field(
        None, max_length=300, description="`next` of the answer before; without it, from the first."
    )
    count: bool = Field(
        True, description="Whether to count how many are left. With millions that takes a second per request."
    )


class MovedOut(Answer):
    """Instances that move from one state to another."""

    from_version: int
    from_: str = Field(alias="from")
    to_version: int
    to: str
    count: int


class BusyOut(Answer):
    """Instances that a worker is processing now."""

    version: int
    state: str
    count: int


class ExampleOut(Answer):
    """An instance that is not moved."""

    instance: UUID
    detail: str


class RefusedOut(BusyOut):
    """Instances that are not moved, and why."""

    reason: str
    examples: list[ExampleOut]


class FieldOut(Answer):
    """Instances whose data gains, loses or changes a field."""

    field: str
    what: str
    count: int


class TimerOut(Answer):
    """Instances whose timers change."""

    state: str
    change: str
    count: int


class ReviewChangeOut(Answer):
    """Instances whose review changes."""

    state: str
    what: str
    count: int


class MigrationOut(Answer):
    """What the migration would change, or what this request changed."""

    machine: str
    to_version: int
    moved: list[MovedOut]
    busy: list[BusyOut] = Field(description="Skipped for now, because workers are processing them.")
    refused: list[RefusedOut] = Field(description="Not moved, with the reason.")
    fields: list[FieldOut]
    timers: list[TimerOut]
    reviews: list[ReviewChangeOut]
    left: int | None = Field(
        description="Unfinished instances of other versions, including busy and refused ones; null: not counted."
    )


class PlanOut(MigrationOut):
    """What the migration would change."""

    whole: bool = Field(description=f"Whether all instances were examined; false: only the first {MOST:,}.")


class AppliedOut(MigrationOut):
    """What this request changed."""

    next: str | None = Field(description="Pass it as `after` of the next request; null: there are no more.")


@router.get("/{name}/migration", summary="Plan a migration: what would happen to instances of other versions")
async def plan_migration(
    service: TheService,
    who: Caller,
    name: Name,
    source: Annotated[int | None, Query(alias="from", ge=1, le=2**31, description="Only of this version.")] = None,
    to: Version = None,
    maps: Annotated[
        list[Annotated[str, Query(max_length=401)]] | None,
        Query(alias="map", max_length=500, description="old=new: where a state's instances go.", examples=["a=b"]),
    ] = None,
    workspace: Annotated[str | None, Query(max_length=200)] = None,
) -> PlanOut:
    """Changes nothing. Answers 409 if this process has no code for the target version."""
    require_operator(who, "operate")
    way = await _way(service, name, source, to, _pairs(maps or []), workspace)
    now = service.engine.clock.now()

    def look(conn: sa.Connection) -> tuple[Report, bool]:
        return migrating.sample(conn, way, now, MOST)

    report, whole = await service.read(look)
    left = await service.call(migrating.count, service.engine, way)
    return PlanOut(machine=name, to_version=way.to.number, left=left, whole=whole, **report.as_values())


@router.post("/{name}/migration", summary="Move a batch of instances to another version", response_model=AppliedOut)
async def apply_migration(write: Write, name: Name, body: Migrate) -> Response:
    """One transaction, one history row per instance. Repeat with `next` until it is null; start again for busy ones.

    `map` bypasses transitions and reviews, so it needs the permission `force`.
    """
    require_operator(write.who, "force" if body.map else "operate")
    service = write.service
    way = await _way(service, name, body.from_, body.to, body.map, body.workspace)
    await service.call(migrating.require_registered, service.engine, way)
    begin, actor = _place(body.after), write.who.actor_in(OPERATORS)
    # Outside the transaction: it may take a while.
    there = await service.call(migrating.count, service.engine, way) if body.count else None

    def move(unit: Unit) -> AppliedOut:
        report, place = migrating.move_batch(unit, way, actor, begin=begin, batch=body.batch, reason=body.reason)
        left = max(0, there - report.moved.total()) if there is not None else None
        return AppliedOut(
            machine=name,
            to_version=way.to.number,
            left=left,
            next=f"{place.state}/{place.after or ''}" if place is not None else None,
            **report.as_values(),
        )

    return await write(move, name="migrate")


async def _way(
    service: Service, name: str, source: int | None, to: int | None, renamed: Mapping[str, str], workspace: str | None
) -> Route:
    if name not in service.engine.registry:
        raise NotFound(f"there is no machine {name!r}")
    return await service.call(
        lambda: migrating.route(service.engine, name, to=to, source=source, renamed=renamed, workspace=workspace)
    )


def _pairs(given: list[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for one in given:
        old, equals, new = (part.strip() for part in one.partition("="))
        if not (old and equals and new):
            raise BadRequest(f"map: {one[:80]!r} is not a mapping; write it as old=new")
        if found.setdefault(old, new) != new:
            raise BadRequest(f"map: state {old!r} is mapped twice, to {found[old]!r} and to {new!r}")
    return found


def _place(after: str | None) -> migrating.BatchStart | None:
    if after is None:
        return None
    state, slash, id = after.rpartition("/")
    try:
        return migrating.BatchStart(state, UUID(id) if id else None) if slash else _no_place(after)
    except ValueError:
        return _no_place(after)


def _no_place(after: str) -> migrating.BatchStart:
    raise BadRequest(f"after: {after[:80]!r} is not a valid position; use `next` of the previous answer")
