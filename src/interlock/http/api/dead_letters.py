"""Dead letters: steps that failed for good, and the actions on them."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from fastapi import APIRouter, Query
from fastapi.responses import Response
from pydantic import BaseModel, ConfigDict, Field

from interlock.engine import Filter, deadletters
from interlock.engine.unit import Unit
from interlock.http.api.instances import readable
from interlock.http.caller import Caller, TheService, require
from interlock.http.models import Answer, DeadLetterOut, InstanceOut
from interlock.http.writing import Write, Writer
from interlock.machine import Actor
from interlock.store import moment

router = APIRouter(prefix="/api/dead-letters", tags=["dead letters"])
Status = Literal["open", "retried", "resolved", "discarded"]
Text = Annotated[str | None, Query(max_length=200)]


class DeadLetterPage(Answer):
    """Dead letters, newest first."""

    dead_letters: list[DeadLetterOut]
    next: UUID | None


class GroupOut(Answer):
    """Dead letters with the same error, ignoring numbers, ids and quoted values."""

    fingerprint: str
    machine: str
    step: str
    error_type: str
    message: str
    count: int
    first_at: datetime
    last_at: datetime
    newest: UUID


class GroupList(Answer):
    """Groups by fingerprint, largest first."""

    groups: list[GroupOut]


class Note(BaseModel):
    """A reason."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"note": "the scale is mended"}]})

    note: str = Field("", max_length=2000)


@router.get("", summary="List dead letters, newest first", response_model=DeadLetterPage)
async def list_dead_letters(
    service: TheService,
    who: Caller,
    status: Status = "open",
    machine: Text = None,
    step: Text = None,
    error: Text = None,
    fingerprint: Text = None,
    workspace: Text = None,
    after: UUID | None = None,
    limit: Annotated[int, Query(ge=1, le=500)] = 50,
) -> Response:
    where = Filter(machine, fingerprint, error, step, workspace, readable(who), who.readable_machines)
    found = await service.read(lambda conn: deadletters.find(conn, where, status=status, after=after, limit=limit + 1))
    return await service.answer(
        lambda: DeadLetterPage(
            dead_letters=[DeadLetterOut.of(d) for d in found[:limit]],
            next=found[limit - 1].id if len(found) > limit else None,
        )
    )


@router.get("/groups", summary="Dead letters grouped by error", response_model=GroupList)
async def list_groups(
    service: TheService, who: Caller, status: Status = "open", machine: Text = None, workspace: Text = None
) -> Response:
    where = Filter(machine=machine, workspace=workspace, workspaces=readable(who), machines=who.readable_machines)
    found = await service.read(lambda conn: deadletters.groups(conn, where, status=status))
    groups = [
        GroupOut(
            fingerprint=g.fingerprint,
            machine=g.machine,
            step=g.step,
            error_type=g.error_type,
            message=g.message,
            count=g.count,
            first_at=moment(g.first_at),
            last_at=moment(g.last_at),
            newest=g.newest,
        )
        for g in found
    ]
    return await service.answer(lambda: GroupList(groups=groups))


@router.get("/{id}", summary="One dead letter, with the data of the failed step", response_model=DeadLetterOut)
async def get_dead_letter(service: TheService, who: Caller, id: UUID) -> Response:
    found = await service.read(lambda conn: deadletters.get(conn, id))
    require(who, "read", found.workspace, f"dead letter {id}", machine=found.machine)
    return await service.answer(lambda: DeadLetterOut.of(found))


def _actor(unit: Unit, write: Writer, id: UUID) -> Actor:
    found = deadletters.get(unit.conn, id)
    require(write.who, "operate", found.workspace, f"dead letter {id}", machine=found.machine)
    return write.who.actor_in(found.workspace)


@router.post("/{id}/retry", summary="Retry the failed step; returns its instance", response_model=InstanceOut)
async def retry_dead_letter(write: Write, id: UUID, body: Note) -> Response:
    def retry(unit: Unit) -> InstanceOut:
        return InstanceOut.of(deadletters.retry(unit, id, _actor(unit, write, id), reason=body.note))

    return await write(retry, name="dead_letter")


@router.post("/{id}/resolve", summary="Mark it as fixed elsewhere", response_model=DeadLetterOut)
async def resolve_dead_letter(write: Write, id: UUID, body: Note) -> Response:
    return await _close(write, id, "resolved", body.note)


@router.post("/{id}/discard", summary="Drop it for good", response_model=DeadLetterOut)
async def discard_dead_letter(write: Write, id: UUID, body: Note) -> Response:
    return await _close(write, id, "discarded", body.note)


async def _close(write: Writer, id: UUID, status: str, note: str) -> Response:
    def close(unit: Unit) -> DeadLetterOut:
        actor = _actor(unit, write, id)
        return DeadLetterOut.of(deadletters.close(unit, id, status, actor, note=note))

    return await write(close, name="dead_letter")
