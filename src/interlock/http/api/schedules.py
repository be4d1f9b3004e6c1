"""Schedules: instances started by the clock."""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from fastapi import APIRouter, Path, Query
from fastapi.responses import Response
from pydantic import BaseModel, ConfigDict, Field

from interlock.engine import InvalidData, schedules, secrets
from interlock.engine.unit import Unit
from interlock.http.caller import Caller, TheService, require
from interlock.http.models import Answer, InstanceOut, at
from interlock.http.writing import Write, Writer
from interlock.machine import Actor
from interlock.people import Principal
from interlock.store import moment

router = APIRouter(prefix="/api/schedules", tags=["schedules"])
Workspace = Annotated[str, Path(min_length=1, max_length=200, examples=["default"])]
Name = Annotated[str, Path(min_length=1, max_length=100, examples=["nightly"])]


class ScheduleIn(BaseModel):
    """What to start, and when."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {"machine": "parcel", "cron": "30 2 * * *", "zone": "Europe/Berlin", "data": {"content": "tea"}}
            ]
        },
    )

    machine: str = Field(min_length=1, max_length=200, examples=["parcel"])
    cron: str = Field(min_length=1, max_length=200, description="Five fields as in Unix.", examples=["30 2 * * *"])
    zone: str = Field("UTC", max_length=100, examples=["Europe/Berlin"])
    data: dict[str, Any] = Field(default_factory=dict, examples=[{"content": "tea"}])
    labels: dict[Annotated[str, Field(max_length=100)], Annotated[str, Field(max_length=1000)]] = Field(
        default_factory=dict, max_length=50
    )
    priority: int = Field(2, ge=0, le=3)
    overlap: Literal["allow", "skip"] = Field("allow", description="skip: not while the last run is unfinished.")
    missed: Literal["once", "all", "skip"] = Field("once", description="What to do with runs missed in a downtime.")


class ScheduleOut(Answer):
    """A schedule, with its next and last run."""

    workspace: str
    name: str
    machine: str
    cron: str
    zone: str
    data: dict[str, Any]
    labels: dict[str, str]
    priority: int
    overlap: str
    missed: str
    paused: bool
    paused_by: str | None
    next_at: datetime | None
    upcoming: list[datetime] = Field(description="The next four runs, in its own time zone.")
    last_at: datetime | None
    last_instance: UUID | None
    last_error: str | None
    runs: int
    created_by: str

    @classmethod
    def of(cls, s: schedules.Schedule) -> ScheduleOut:
        ahead: list[datetime] = []
        if s.next_at is not None and s.paused_at is None:
            with suppress(InvalidData):  # a time zone that only another host knows; last_error reports it
                ahead = schedules.upcoming(s, moment(s.next_at - 1), 4)
        return cls(
            workspace=s.workspace,
            name=s.name,
            machine=s.machine,
            cron=s.cron,
            zone=s.zone,
            data=secrets.shown(s.data),
            labels=s.labels,
            priority=s.priority,
            overlap=s.overlap,
            missed=s.missed,
            paused=s.paused_at is not None,
            paused_by=s.paused_by,
            next_at=at(s.next_at),
            upcoming=ahead,
            last_at=at(s.last_at),
            last_instance=s.last_instance,
            last_error=s.last_error,
            runs=s.runs,
            created_by=s.created_by,
        )


class ScheduleList(Answer):
    """Schedules, by name."""

    schedules: list[ScheduleOut]


class Removed(Answer):
    """The schedule was deleted."""

    workspace: str
    name: str


@router.get("", summary="The schedules of your workspaces", response_model=ScheduleList)
async def list_schedules(
    service: TheService, who: Caller, workspace: Annotated[str | None, Query(max_length=200)] = None
) -> Response:
    mine = frozenset(w for w in who.workspaces if workspace in {None, w} and who.may("read", w))
    found = await service.read(lambda conn: schedules.all_schedules(conn, workspaces=mine))
    return await service.answer(lambda: ScheduleList(schedules=[ScheduleOut.of(s) for s in found]))


@router.get("/{workspace}/{name}", summary="One schedule", response_model=ScheduleOut)
async def get_schedule(service: TheService, who: Caller, workspace: Workspace, name: Name) -> Response:
    _may(who, "read", workspace, name)
    found = await service.read(lambda conn: schedules.get(conn, workspace, name))
    return await service.answer(lambda: ScheduleOut.of(found))


def _may(who: Principal, permission: str, workspace: str, name: str) -> Actor:
    require(who, permission, workspace, f"schedule {name!r} in workspace {workspace!r}")
    return who.actor_in(workspace)


@router.put("/{workspace}/{name}", summary="Create or replace a schedule", response_model=ScheduleOut)
async def put_schedule(write: Write, workspace: Workspace, name: Name, body: ScheduleIn) -> Response:
    spec = schedules.ScheduleSpec(name=name, workspace=workspace, **body.model_dump())

    def put(unit: Unit) -> ScheduleOut:
        return ScheduleOut.of(schedules.put(unit, spec, _may(write.who, "manage", workspace, name)))

    return await write(put, name="schedule")


@router.delete("/{workspace}/{name}", summary="Remove it", response_model=Removed)
async def delete_schedule(write: Write, workspace: Workspace, name: Name) -> Response:
    def remove(unit: Unit) -> Removed:
        schedules.remove(unit, workspace, name, _may(write.who, "manage", workspace, name))
        return Removed(workspace=workspace, name=name)

    return await write(remove, name="schedule")


@router.post("/{workspace}/{name}/pause", summary="Pause a schedule", response_model=ScheduleOut)
async def pause_schedule(write: Write, workspace: Workspace, name: Name) -> Response:
    return await _switch(write, workspace, name, schedules.pause)


@router.post("/{workspace}/{name}/resume", summary="Resume a schedule", response_model=ScheduleOut)
async def resume_schedule(write: Write, workspace: Workspace, name: Name) -> Response:
    return await _switch(write, workspace, name, schedules.resume)


async def _switch(write: Writer, workspace: str, name: str, job: Any) -> Response:
    def switch(unit: Unit) -> ScheduleOut:
        return ScheduleOut.of(job(unit, workspace, name, _may(write.who, "operate", workspace, name)))

    return await write(switch, name="schedule")


@router.post("/{workspace}/{name}/run", status_code=201, summary="Run a schedule now", response_model=InstanceOut)
async def run_schedule(write: Write, workspace: Workspace, name: Name) -> Response:
    def run(unit: Unit) -> InstanceOut:
        actor = _may(write.who, "operate", workspace, name)
        return InstanceOut.of(schedules.run_now(unit, workspace, name, actor))

    return await write(run, status=201, name="schedule")
