"""Instances: create, list and read."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Annotated, Any, Literal
from uuid import UUID

import sqlalchemy as sa
from fastapi import APIRouter, Query
from fastapi.responses import Response
from pydantic import BaseModel, ConfigDict, Field

from interlock.engine import Engine, Instance, KeyTaken, NotFound, artifacts, creating, effects, lineage, listing
from interlock.engine.audit import replaying
from interlock.engine.firing import allowed
from interlock.engine.listing import Where
from interlock.engine.unit import Unit, load
from interlock.http.caller import Caller, TheService, need, visible, workspace_of
from interlock.http.models import (
    EXAMPLE_ID,
    Answer,
    ArtifactOut,
    EffectOut,
    ExplanationOut,
    HistoryOut,
    HistoryPage,
    InstanceOut,
    InstancePage,
    LineageOut,
    Receipt,
    Relative,
)
from interlock.http.problems import BadRequest
from interlock.http.writing import Write
from interlock.people import Principal, in_workspace
from interlock.store import micros, moment
from interlock.store import tables as t

router = APIRouter(prefix="/api/instances", tags=["instances"])
MOST_RELATIVES = 500


class NewInstance(BaseModel):
    """An instance to create."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [{"machine": "parcel", "data": {"content": "tea"}, "labels": {"shop": "north"}}]
        },
    )

    machine: str = Field(examples=["parcel"])
    data: dict[str, Any] = Field(default_factory=dict, examples=[{"content": "tea"}])
    workspace: str | None = Field(None, max_length=200, description="May be left out if you have only one.")
    key: str | None = Field(None, min_length=1, max_length=2000, description="A unique business key.")
    priority: int = Field(2, ge=0, le=3, description="0 is the highest.")
    labels: dict[Annotated[str, Field(max_length=100)], Annotated[str, Field(max_length=1000)]] = Field(
        default_factory=dict, max_length=50
    )
    at: datetime | None = Field(None, description="The earliest start, with a time zone.")
    unstarted: bool = Field(False, description="Enter the first state without starting its step.")
    on_taken: Literal["refuse", "return"] = Field(
        "refuse", description="If the key is taken: answer 409, or return the existing instance."
    )


def aware(value: datetime | None, what: str) -> int | None:
    """Check that the time has a time zone."""
    if value is None:
        return None
    if value.tzinfo is None:
        raise BadRequest(f"{what} {value.isoformat()} has no time zone; add Z or an offset such as +01:00")
    try:
        return micros(value)
    except (OverflowError, ValueError) as error:
        raise BadRequest(f"{what} {value.isoformat()} is out of range") from error


@router.post("", status_code=201, summary="Create an instance", response_model=InstanceOut | Receipt)
async def create_instance(service: TheService, write: Write, body: NewInstance) -> Response:
    """A caller who may create but not read gets only the id."""
    workspace, at = workspace_of(write.who, body.workspace), aware(body.at, "at")
    machine = service.engine.registry.get(body.machine)

    def job(unit: Unit) -> InstanceOut | Receipt:
        in_workspace(write.who, workspace)
        need(write.who, "create", workspace, body.machine)
        if machine is None:
            raise NotFound(f"there is no machine {body.machine!r}")
        try:
            made = creating.create(
                unit,
                machine,
                body.data,
                write.who.actor_in(workspace),
                key=body.key,
                workspace=workspace,
                priority=body.priority,
                labels=body.labels,
                at=at,
                unstarted=body.unstarted,
            )
        except KeyTaken as taken:
            if body.on_taken == "refuse" and not write.who.may("read", workspace, body.machine):
                message = "this key is taken; only those who may read the instance see which one"
                raise BadRequest(message, status=409, kind="key-taken") from None
            if body.on_taken == "refuse":
                raise
            made = unit.lock(taken.existing)
        return shown_to(write.who, made)

    return await write(job, status=201, name="create")


@router.get("", summary="List instances, newest first", response_model=InstancePage)
async def list_instances(
    service: TheService,
    who: Caller,
    machine: Annotated[str | None, Query(max_length=200)] = None,
    state: Annotated[str | None, Query(max_length=200)] = None,
    workspace: Annotated[str | None, Query(max_length=200)] = None,
    key: Annotated[str | None, Query(max_length=2000)] = None,
    label: Annotated[str | None, Query(max_length=1200, description="As name=value.", examples=["shop=north"])] = None,
    error: Annotated[str | None, Query(max_length=200, description="The type of its last error.")] = None,
    text: Annotated[str | None, Query(min_length=1, max_length=200, description="In key, labels or data.")] = None,
    older_than: Annotated[
        float | None, Query(ge=0, le=1e9, description="Minimum time in the current state, in seconds.")
    ] = None,
    finished: bool | None = None,
    paused: bool | None = None,
    root: UUID | None = None,
    after: Annotated[UUID | None, Query(description="The cursor of the previous page.")] = None,
    limit: Annotated[int, Query(ge=1, le=listing.BIGGEST_PAGE)] = 50,
    count: Annotated[bool, Query(description="Also count the matches.")] = False,
) -> Response:
    mine = who.readable_machines
    if machine is None and mine is not None and len(mine) == 1:
        [machine] = mine  # one machine can use an index
    where = Where(
        machine=machine,
        state=state,
        workspace=workspace,
        key=key,
        label=_label(label),
        error=error,
        text=text,
        finished=finished,
        paused=paused,
        root=root,
        workspaces=readable(who),
        machines=mine,
        in_state_for=timedelta(seconds=older_than) if older_than is not None else None,
    )
    now = service.engine.clock.now()

    def look(conn: sa.Connection) -> tuple[listing.Page, listing.Count | None]:
        page = listing.page(conn, where, now, after=after, limit=limit)
        return page, listing.count(conn, where, now) if count else None

    page, total = await service.read(look)
    return await service.answer(
        lambda: InstancePage(
            instances=[InstanceOut.of(i) for i in page.instances],
            next=page.next,
            count=total.n if total else None,
            exact=total.exact if total else None,
        )
    )


def readable(who: Principal) -> frozenset[str]:
    """The workspaces in which the caller may read; lists combine this with `readable_machines`."""
    return frozenset() if who.readable_machines == frozenset() else who.workspaces


def _label(text: str | None) -> tuple[str, str] | None:
    if text is None:
        return None
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise BadRequest(f"the label {text!r} must be written as name=value")
    return name, value


def shown_to(who: Principal, instance: Instance) -> InstanceOut | Receipt:
    """The answer to a write: the instance, or only its id for a caller who may not read it."""
    if who.may("read", instance.workspace, instance.machine):
        return InstanceOut.of(instance)
    return Receipt(id=instance.id, machine=instance.machine, workspace=instance.workspace)


@router.get("/{id}", summary="One instance", response_model=InstanceOut)
async def get_instance(service: TheService, who: Caller, id: UUID) -> Response:
    found = await visible(service, who, id)
    return await service.answer(lambda: InstanceOut.of(found))


@router.get("/{id}/history", summary="The history of an instance", response_model=HistoryPage)
async def get_history(
    service: TheService,
    who: Caller,
    id: UUID,
    after: Annotated[int, Query(ge=0, le=2**62)] = 0,
    limit: Annotated[int, Query(ge=1, le=1000)] = 200,
) -> Response:
    await visible(service, who, id)
    rows = await service.read(lambda conn: replaying.history(conn, id, after=after, limit=limit + 1))
    return await service.answer(
        lambda: HistoryPage(
            rows=[HistoryOut.of(row) for row in rows[:limit]], next=rows[limit - 1].seq if len(rows) > limit else None
        )
    )


@router.get(
    "/{id}/explain",
    summary="Explain an instance: why it waits, what happens next, who can act",
    response_model=ExplanationOut,
)
async def explain_instance(service: TheService, who: Caller, id: UUID) -> Response:
    found = await visible(service, who, id)
    why = await service.call(service.engine.explain, id)
    return await service.answer(lambda: ExplanationOut.of(why, my_events(service.engine, who, found)))


def my_events(engine: Engine, who: Principal, instance: Instance) -> list[str]:
    """The events that the caller may fire now."""
    machine = engine.core.served.get((instance.machine, instance.version))
    if machine is None or not who.may("fire", instance.workspace, instance.machine):
        return []
    return sorted({a.event for a in allowed(instance, machine, who.actor_in(instance.workspace))})


@router.get("/{id}/lineage", summary="The lineage of an instance", response_model=LineageOut)
async def get_lineage(service: TheService, who: Caller, id: UUID) -> Response:
    found = await visible(service, who, id)
    query = (
        sa.select(t.instance)
        .where(lineage.family(found.root), *_machines(who))  # a lineage stays in its workspace
        .order_by(t.instance.c.depth, t.instance.c.id)
        .limit(MOST_RELATIVES + 1)
    )
    family = await service.read(lambda conn: load(conn, conn.execute(query).all()))
    relatives = [
        Relative(
            id=i.id,
            machine=i.machine,
            state=i.state,
            key=i.key,
            parent=i.parent,
            depth=i.depth,
            created_at=moment(i.created_at),
            finished_at=moment(i.finished_at) if i.finished_at else None,
        )
        for i in family[:MOST_RELATIVES]
    ]
    return await service.answer(
        lambda: LineageOut(root=found.root, instances=relatives, complete=len(family) <= MOST_RELATIVES)
    )


def _machines(who: Principal) -> list[sa.ColumnElement[bool]]:
    mine = who.readable_machines
    return [] if mine is None else [t.instance.c.machine.in_(sorted(mine))]


class ArtifactList(Answer):
    """The artifacts of an instance."""

    artifacts: list[ArtifactOut]


class EffectList(Answer):
    """The external effects of an instance."""

    effects: list[EffectOut]


@router.get("/{id}/artifacts", summary="The artifacts of an instance", response_model=ArtifactList)
async def list_artifacts(service: TheService, who: Caller, id: UUID) -> Response:
    await visible(service, who, id)
    found = await service.read(lambda conn: artifacts.of(conn, id))
    return await service.answer(lambda: ArtifactList(artifacts=[ArtifactOut.of(a) for a in found]))


@router.get("/{id}/effects", summary="The external effects of an instance", response_model=EffectList)
async def list_effects(service: TheService, who: Caller, id: UUID) -> Response:
    await visible(service, who, id)
    found = await service.read(lambda conn: effects.of(conn, id))
    return await service.answer(lambda: EffectList(effects=[EffectOut.of(e) for e in found]))


class Verified(Answer):
    """Whether the history is unchanged since it was written."""

    instance_id: UUID = Field(examples=[EXAMPLE_ID])
    rows: int
    problems: list[str]


@router.get("/{id}/verify", summary="Verify the hash chain and replay the history", response_model=Verified)
async def verify_instance(service: TheService, who: Caller, id: UUID) -> Response:
    await visible(service, who, id)
    verdict = await service.call(service.engine.verify, id)
    return await service.answer(lambda: Verified(instance_id=id, rows=verdict.rows, problems=list(verdict.problems)))
