"""Bulk actions: one action for everything that matches a filter, with preview, progress and stop."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from fastapi import APIRouter, Query
from fastapi.responses import Response
from pydantic import BaseModel, ConfigDict, Field, field_validator

from interlock.engine import NotFound, bulk
from interlock.engine.starters import Starter
from interlock.engine.unit import Unit
from interlock.http.caller import Caller, TheService
from interlock.http.models import Answer, at
from interlock.http.writing import Write
from interlock.machine import Actor
from interlock.people import NotAllowed, Principal, Role, person_actor
from interlock.store import moment

router = APIRouter(prefix="/api/bulk", tags=["bulk"])


class Wanted(BaseModel):
    """An action and its filter."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {"target": "instances", "action": "pause", "filter": {"machine": "parcel", "state": "weighing"}},
                {"target": "dead_letters", "action": "retry", "filter": {"fingerprint": "5f0c6b1f4f3c2a1b"}},
            ]
        },
    )

    target: Literal["instances", "dead_letters"] = "instances"
    action: str = Field(
        max_length=50,
        description="For instances: pause, resume, cancel, fire, retry; for dead letters: retry, resolve, discard.",
        examples=["pause"],
    )
    filter: dict[str, Any] = Field(
        description=(
            "For instances: machine, state, workspace, key, label (a pair), error, finished, paused, in_state_for "
            "(seconds or ISO 8601), root, text; for dead letters: machine, fingerprint, error_type, step, workspace. "
            "An empty one is refused, and so is a workspace alone."
        ),
        examples=[{"machine": "parcel"}],
    )
    arguments: dict[str, Any] = Field(default_factory=dict, description="For `fire`: the event.")
    reason: str = Field("", max_length=500)

    @field_validator("filter")
    @classmethod
    def _chooses(cls, value: dict[str, Any]) -> dict[str, Any]:
        """Refuse an empty text, which would match everything."""
        for name, one in value.items():
            if isinstance(one, str) and not one.strip():
                raise ValueError(f"the filter's {name} is empty; give it a value, or leave it out")
        return value


class PreviewOut(Answer):
    """What the action would affect."""

    count: int
    exact: bool
    sample: list[UUID]


class ProblemOut(Answer):
    """Why items were refused."""

    problem: str
    count: int
    example: str


class BulkOut(Answer):
    """A bulk action and its progress."""

    id: UUID
    target: str
    action: str
    filter: dict[str, Any]
    arguments: dict[str, Any]
    actor: str
    reason: str
    status: str = Field(description="running, done, stopped")
    total: int = Field(description="The number of matches at the start, counted up to 10,000.")
    done: int
    refused: int
    problems: list[ProblemOut]
    created_at: datetime
    updated_at: datetime
    finished_at: datetime | None

    @classmethod
    def of(cls, b: bulk.Bulk) -> BulkOut:
        return cls(
            id=b.id,
            target=b.target,
            action=b.action,
            filter=b.filter.get("where", b.filter),
            arguments=b.arguments,
            actor=b.actor,
            reason=b.reason,
            status=b.status,
            total=b.total,
            done=b.done,
            refused=b.refused,
            problems=[ProblemOut(problem=p.problem, count=p.count, example=p.example) for p in b.problems],
            created_at=moment(b.created_at),
            updated_at=moment(b.updated_at),
            finished_at=at(b.finished_at),
        )


class BulkList(Answer):
    """Bulk actions, newest first."""

    bulks: list[BulkOut]
    next: UUID | None


def where_allowed(who: Principal, action: str, named: object = None) -> frozenset[str]:
    """The workspaces in which the caller may do it, limited to the filter's workspace."""
    if who.kind == "agent":
        raise NotAllowed("bulk actions are for people; an agent acts on one instance at a time")
    needed = "fire" if action == "fire" else "operate"
    found = frozenset(w for w in who.workspaces if who.may(needed, w))
    if not found:
        raise NotAllowed(f"this needs the permission {needed!r}, which {who.name} has in no workspace")
    return frozenset({named}) if isinstance(named, str) and named in found else found


def bulk_actor(who: Principal, workspaces: frozenset[str]) -> Actor:
    """One actor for all items, with the lowest of the caller's roles in the affected workspaces."""
    least = min((who.role_in(w) or Role.VIEWER for w in workspaces), key=list(Role).index)
    return person_actor(who.actor_in(min(workspaces)).name, least)


def starter(who: Principal, workspaces: frozenset[str]) -> Starter | None:
    """The caller. The action continues while they keep at least their current roles."""
    if who.person_id is None:
        return None
    had = {w: who.role_in(w) or Role.VIEWER for w in workspaces}
    enough = {w: [one.value for one in Role if one.includes(role)] for w, role in sorted(had.items())}
    return Starter(who.person_id, who.token_id, enough)


@router.post("/preview", summary="Preview: the number of matches and some examples")
async def preview_bulk(service: TheService, who: Caller, body: Wanted) -> PreviewOut:
    workspaces = where_allowed(who, body.action, body.filter.get("workspace"))
    now = service.engine.clock.now()
    found = await service.read(
        lambda conn: bulk.preview(
            conn, now, body.target, body.action, body.filter, arguments=body.arguments, workspaces=workspaces
        )
    )
    return PreviewOut(count=found.count.n, exact=found.count.exact, sample=found.sample)


@router.post("", status_code=202, summary="Start a bulk action; workers run it in batches", response_model=BulkOut)
async def start_bulk(write: Write, body: Wanted) -> Response:
    workspaces = where_allowed(write.who, body.action, body.filter.get("workspace"))
    actor = bulk_actor(write.who, workspaces)

    def start(unit: Unit) -> BulkOut:
        return BulkOut.of(
            bulk.start(
                unit,
                body.target,
                body.action,
                body.filter,
                actor,
                reason=body.reason,
                arguments=body.arguments,
                workspaces=workspaces,
                starter=starter(write.who, workspaces),
            )
        )

    return await write(start, status=202, name="bulk")


def must_see(who: Principal, found: bulk.Bulk) -> None:
    within = found.filter.get("workspaces")
    if who.kind == "agent" or within is None or not all(who.may("read", w) for w in within):
        raise NotFound(f"there is no bulk action {found.id}")


@router.get("", summary="List bulk actions, newest first")
async def list_bulk(
    service: TheService, who: Caller, after: UUID | None = None, limit: Annotated[int, Query(ge=1, le=500)] = 50
) -> BulkList:
    if who.kind == "agent":
        raise NotAllowed("bulk actions are for people")
    page = await service.read(lambda conn: bulk.page(conn, workspaces=who.workspaces, after=after, limit=limit))
    return BulkList(bulks=[BulkOut.of(b) for b in page.bulks], next=page.next)


@router.get("/{id}", summary="Progress of a bulk action")
async def get_bulk(service: TheService, who: Caller, id: UUID) -> BulkOut:
    found = await service.read(lambda conn: bulk.get(conn, id))
    must_see(who, found)
    return BulkOut.of(found)


@router.post("/{id}/stop", summary="Stop a bulk action; finished items stay finished", response_model=BulkOut)
async def stop_bulk(write: Write, id: UUID) -> Response:
    def stop(unit: Unit) -> BulkOut:
        found = bulk.get(unit.conn, id)
        must_see(write.who, found)
        allowed = where_allowed(write.who, found.action)
        if not set(found.filter["workspaces"]) <= allowed:
            raise NotAllowed(f"bulk action {id} is in workspaces where {write.who.name} may only read")
        return BulkOut.of(bulk.stop(unit, id, bulk_actor(write.who, allowed)))

    return await write(stop, name="bulk")
