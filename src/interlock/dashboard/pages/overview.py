"""The overview: every machine, and where somebody has to act."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated
from uuid import UUID

import sqlalchemy as sa
from fastapi import APIRouter, Query
from fastapi.responses import Response

from interlock.dashboard import kinds, plots
from interlock.dashboard.names import names
from interlock.dashboard.site import Reader, Visitor, frame, render
from interlock.machine import Machine
from interlock.watch import alerts, measures
from interlock.watch.alerts import Alert
from interlock.watch.stragglers import Straggler, longest, open_states

router = APIRouter(include_in_schema=False)
SHOWN_ALERTS = 5
SHOWN_LONGEST = 8
DAY = plots.SPANS["24h"]
MEASURES = ("finished", "failed")
Series = Mapping[tuple[str, str], Sequence[measures.Point]]
Chosen = Annotated[str, Query(alias="span", max_length=10)]


@dataclass(frozen=True, slots=True)
class Figures:
    """The figures of the page beyond those of its frame."""

    alerts: Sequence[Alert]
    long: Mapping[str, Straggler]
    """The instance of each machine that has been in its state the longest."""
    longest: Sequence[Straggler]
    names: Mapping[UUID, str]
    chosen: Series
    day: Series


@router.get("/ui")
async def overview(v: Reader, chosen: Chosen = "24h") -> Response:
    span, around = plots.span_of(chosen), await frame(v)
    figures = await v.service.read(lambda conn: read(conn, v, around.overview, span))
    nothing = plots.empty(v.now, span)
    charts = {
        measure: plots.plot(
            plots.added((points for (_, one), points in figures.chosen.items() if one == measure), nothing),
            span,
            kind,
            what,
        )
        for measure, kind, what in (("finished", "work", "finished"), ("failed", "failed", "attempts failed"))
    }
    day = plots.empty(v.now, DAY)
    sparks = {
        machine.name: plots.spark(
            figures.day.get((machine.name, "finished"), day), figures.day.get((machine.name, "failed"), day)
        )
        for machine in v.service.engine.registry
    }
    return await render(
        v,
        "overview.html",
        figures=figures,
        charts=charts,
        sparks=sparks,
        span=span,
        spans=plots.SPANS.values(),
        by_kind=by_kind,
    )


def read(conn: sa.Connection, v: Visitor, numbers: measures.Overview, span: plots.Span) -> Figures:
    """Read everything in one transaction."""
    registry = v.service.engine.registry
    every: list[Straggler] = []
    for view in numbers.machines:
        machine = registry[view.machine]
        every += longest(conn, machine, open_states(machine, view.states), v.workspaces).values()
    every.sort(key=lambda one: one.since)
    long: dict[str, Straggler] = {}
    for one in every:
        long.setdefault(one.machine, one)
    chosen = _series(conn, v, span)
    return Figures(
        alerts.open_alerts(conn, SHOWN_ALERTS) if v.operator else (),
        long,
        every[:SHOWN_LONGEST],
        names(conn, registry, [one.id for one in every[:SHOWN_LONGEST]]),
        chosen,
        chosen if span is DAY else _series(conn, v, DAY),
    )


def _series(conn: sa.Connection, v: Visitor, span: plots.Span) -> Series:
    return measures.series_of_each(conn, MEASURES, v.now, window=span.window, by=span.by, workspaces=v.workspaces)


def by_kind(machine: Machine, states: Mapping[str, int]) -> dict[str, int]:
    """The number of unfinished instances by kind of state."""
    found = dict.fromkeys(("work", "wait", "person", "failed"), 0)
    for state, n in states.items():
        kind = kinds.kind_of(machine, state)
        if kind in found:
            found[kind] += n
    return {kind: n for kind, n in found.items() if n}
