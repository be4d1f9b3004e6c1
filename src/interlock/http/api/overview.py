"""The overview: figures of every machine, and series over time, from the roll-ups."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Annotated, Literal

from fastapi import APIRouter, Query

from interlock.engine import NotFound
from interlock.http.api.instances import readable
from interlock.http.caller import Caller, TheService
from interlock.http.models import Answer, at
from interlock.people import NotAllowed, Principal
from interlock.store import SECOND, moment
from interlock.watch import measures

router = APIRouter(prefix="/api/overview", tags=["overview"])


class BacklogOut(Answer):
    """Open reviews."""

    open: int
    late: int
    oldest_at: datetime | None


class EndsOut(Answer):
    """How instances ended."""

    good: int
    bad: int
    neither: int


class Glance(Answer):
    """The figures of one machine or of all. A rate is null if there is nothing to calculate it from."""

    live: int
    queue_lag_seconds: float
    average_lag_seconds: float | None
    ends: EndsOut
    success_rate: float | None
    failure_rate: float | None
    retry_rate: float | None
    throughput: int
    failures: int
    created: int
    reviews: BacklogOut
    dead_letters: int


class MachineGlance(Glance):
    """One machine."""

    machine: str
    title: str
    states: dict[str, int]


class TotalGlance(Glance):
    """All machines together."""

    instances: int
    workers_alive: int


class OverviewOut(Answer):
    """The overview."""

    at: datetime
    window_seconds: float
    machines: list[MachineGlance]
    totals: TotalGlance


class PointOut(Answer):
    """The count in the minute or hour that begins at `at`."""

    at: datetime
    n: int


class SeriesOut(Answer):
    """A measure over time, with zeros filled in."""

    measure: str
    by: str
    points: list[PointOut]


class DwellOut(Answer):
    """How long instances stayed in a state."""

    state: str
    n: int
    median_seconds: float
    p90_seconds: float
    worst_seconds: float


class DwellList(Answer):
    """By state."""

    machine: str
    states: list[DwellOut]


def _common(view: measures.MachineView | measures.Totals) -> dict[str, object]:
    lag = view.average_lag
    return {
        "live": view.live,
        "queue_lag_seconds": view.queue_lag / SECOND,
        "average_lag_seconds": None if lag is None else lag / SECOND,
        "ends": EndsOut(good=view.ends.good, bad=view.ends.bad, neither=view.ends.neither),
        "success_rate": view.success_rate,
        "failure_rate": view.failure_rate,
        "retry_rate": view.retry_rate,
        "throughput": view.throughput,
        "failures": view.failures,
        "created": view.created,
        "reviews": BacklogOut(open=view.reviews.open, late=view.reviews.late, oldest_at=at(view.reviews.oldest)),
        "dead_letters": view.dead_letters,
    }


def _people_only(who: Principal) -> frozenset[str]:
    if who.kind == "agent" and "read" not in who.scopes:
        raise NotAllowed("this needs the scope 'read'")
    return readable(who)


Hours = Annotated[float, Query(gt=0, le=24 * 60, description="The window of rates, in hours.")]


@router.get("", summary="The figures of every machine")
async def get_overview(service: TheService, who: Caller, hours: Hours = 24) -> OverviewOut:
    workspaces, now = _people_only(who), service.engine.clock.now()
    found = await service.read(
        lambda conn: measures.overview(conn, service.engine.registry, now, workspaces, window=timedelta(hours=hours))
    )
    return OverviewOut(
        at=moment(found.at),
        window_seconds=found.window.total_seconds(),
        machines=[
            MachineGlance.model_validate(
                {"machine": m.machine, "title": m.title, "states": dict(m.states), **_common(m)}
            )
            for m in found.machines
        ],
        totals=TotalGlance.model_validate(
            {"instances": found.totals.instances, "workers_alive": found.totals.workers_alive, **_common(found.totals)}
        ),
    )


@router.get("/series/{measure}", summary="A measure over time, for a plot")
async def get_series(
    service: TheService,
    who: Caller,
    measure: Literal["created", "finished", "failed", "retried", "passed", "given_up"],
    by: Literal["minute", "hour"] = "hour",
    hours: Annotated[float, Query(gt=0, le=24 * 31)] = 24,
    machine: Annotated[str | None, Query(max_length=200)] = None,
    state: Annotated[str | None, Query(max_length=200)] = None,
) -> SeriesOut:
    workspaces, now = _people_only(who), service.engine.clock.now()
    found = await service.read(
        lambda conn: measures.series(
            conn,
            measure,
            now,
            window=timedelta(hours=hours),
            by=by,
            machine=machine,
            state=state,
            workspaces=workspaces,
        )
    )
    return SeriesOut(measure=measure, by=by, points=[PointOut(at=moment(p.at), n=p.n) for p in found])


@router.get("/dwell/{machine}", summary="How long instances stay in each state")
async def get_dwell(
    service: TheService, who: Caller, machine: str, days: Annotated[float, Query(gt=0, le=400)] = 7
) -> DwellList:
    workspaces, now = _people_only(who), service.engine.clock.now()
    if machine not in service.engine.registry:
        raise NotFound(f"there is no machine {machine!r}")
    found = await service.read(lambda conn: measures.dwell(conn, machine, now, timedelta(days=days), workspaces))
    states = [
        DwellOut(
            state=state,
            n=d.n,
            median_seconds=d.median / SECOND,
            p90_seconds=d.p90 / SECOND,
            worst_seconds=d.worst / SECOND,
        )
        for state, d in sorted(found.items())
    ]
    return DwellList(machine=machine, states=states)
