"""Workers, leases and limits. For members of the first workspace."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from fastapi import APIRouter
from fastapi.responses import Response

from interlock.engine import leases, limits, workers
from interlock.http.caller import Caller, TheService, require_operator
from interlock.http.models import Answer
from interlock.people import OPERATORS, NotAllowed
from interlock.store import SECOND, moment

router = APIRouter(prefix="/api", tags=["workers"])


class WorkerOut(Answer):
    """A worker process, running or ended."""

    id: UUID
    host: str
    pid: int
    queues: list[str]
    status: str
    alive: bool
    beats: int
    clock_offset_seconds: float
    started_at: datetime
    beat_at: datetime


class WorkerList(Answer):
    """Workers, newest first."""

    workers: list[WorkerOut]


class LeaseOut(Answer):
    """A leased resource."""

    name: str
    holder: str
    fence: int
    taken_at: datetime
    until: datetime
    instance_id: UUID | None


class LeaseList(Answer):
    """Leases, next to expire first."""

    leases: list[LeaseOut]


class LimitOut(Answer):
    """The use of a limit."""

    key: str
    kind: str
    used: int
    last_at: datetime


class LimitList(Answer):
    """Limits, most used first."""

    limits: list[LimitOut]


@router.get("/workers", summary="List worker processes with their last heartbeat", response_model=WorkerList)
async def list_workers(service: TheService, who: Caller) -> Response:
    require_operator(who)
    now = service.engine.clock.now()
    found = await service.read(workers.every)
    return await service.answer(
        lambda: WorkerList(
            workers=[
                WorkerOut(
                    id=w.id,
                    host=w.host,
                    pid=w.pid,
                    queues=list(w.queues),
                    status=w.status,
                    beats=w.beats,
                    alive=w.status in {"alive", "draining"} and w.until >= now,
                    clock_offset_seconds=w.clock_offset / SECOND,
                    started_at=moment(w.started_at),
                    beat_at=moment(w.beat_at),
                )
                for w in found
            ]
        )
    )


@router.get(
    "/leases",
    summary="List leases; those of others only for the first workspace",
    response_model=LeaseList,
)
async def list_leases(service: TheService, who: Caller) -> Response:
    if not any(who.may("read", w) for w in who.workspaces):
        raise NotAllowed("this needs the scope 'read'")
    everything = who.may("read", OPERATORS)
    mine = None if everything else who.workspaces
    found = await service.read(lambda conn: leases.active(conn, service.engine.clock.now(), workspaces=mine))
    return await service.answer(
        lambda: LeaseList(
            leases=[
                LeaseOut(
                    name=h.name,
                    holder=h.holder,
                    fence=h.fence,
                    taken_at=moment(h.taken_at),
                    until=moment(h.until),
                    instance_id=h.instance_id,
                )
                for h in found
            ]
        )
    )


@router.get("/limits", summary="Limits in use", response_model=LimitList)
async def list_limits(service: TheService, who: Caller) -> Response:
    require_operator(who)
    registry, now = service.engine.registry, service.engine.clock.now()
    found = await service.read(lambda conn: limits.usage(conn, registry, now))
    return await service.answer(
        lambda: LimitList(
            limits=[LimitOut(key=u.key, kind=u.kind, used=u.used, last_at=moment(u.last_at)) for u in found]
        )
    )
