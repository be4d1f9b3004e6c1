"""A machine: its diagram with live figures, its states, its transitions and its activity."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated
from uuid import UUID

import sqlalchemy as sa
from fastapi import APIRouter, Query, Request
from fastapi.responses import Response

from interlock.dashboard import diagram, plots, schema
from interlock.dashboard.forms import Done, posted
from interlock.dashboard.names import names
from interlock.dashboard.site import Reader, Visitor, frame, render
from interlock.engine import CreatedElsewhere, NotFound, creating
from interlock.engine.unit import Unit
from interlock.http.caller import require
from interlock.http.problems import BadRequest
from interlock.machine import Kind, Machine
from interlock.machine.diagram import lay_out
from interlock.people import OPERATORS, NotAllowed
from interlock.store import Micros
from interlock.watch import measures
from interlock.watch.histogram import DurationSummary
from interlock.watch.measures import Point
from interlock.watch.stragglers import Straggler, Versions, longest, open_states, unusual, versions

router = APIRouter(include_in_schema=False)


@dataclass(frozen=True, slots=True)
class Row:
    """A row of the table of states."""

    name: str
    n: int
    final: bool
    usual: DurationSummary | None
    oldest: Straggler | None
    stuck: bool


@dataclass(frozen=True, slots=True)
class Figures:
    """The figures of the page beyond those of its frame."""

    dwell: Mapping[str, DurationSummary]
    longest: Mapping[str, Straggler]
    names: Mapping[UUID, str]
    versions: Versions
    finished: Sequence[Point]
    failed: Sequence[Point]


@router.get("/ui/machines/{name}")
async def machine(v: Reader, name: str, chosen: Annotated[str, Query(alias="span", max_length=10)] = "24h") -> Response:
    known = v.service.engine.registry.get(name)
    if known is None:
        raise NotFound(f"there is no machine {name!r}")
    span, around = plots.span_of(chosen), await frame(v)
    view = around.overview[name]
    figures = await v.service.read(lambda conn: read(conn, v, known, view.states, span))
    rows = [row_of(known, state, view.states, figures, v.now) for state in known.states]
    stuck = sorted(
        (row for row in rows if row.stuck and row.oldest), key=lambda row: row.oldest.since if row.oldest else 0
    )
    late: dict[str, Micros] = {row.name: v.now - row.oldest.since for row in stuck if row.oldest}
    usual = {state: summary.median for state, summary in figures.dwell.items() if summary.n}
    charts = [
        (plots.plot(figures.finished, span, "work", "finished"), "Finished"),
        (plots.plot(figures.failed, span, "failed", "attempts failed"), "Failed attempts"),
    ]
    return await render(
        v,
        "machine.html",
        machine=known,
        view=view,
        rows=rows,
        picture=diagram.for_machine(known, view.states, usual, late),
        charts=charts,
        stuck=stuck,
        span=span,
        spans=plots.SPANS.values(),
        figures=figures,
        who_may=diagram.who_may,
        only_if=diagram.only_if,
        current=v.service.engine.core.current[name],
        without_code=v.service.engine.registry.missing_handlers(known),
        missing_states=sorted(set(view.states) - set(known.states)),
        can_create=known.created_through is None and bool(_where_created(v, name)),
        can_halt=v.may("operate", OPERATORS),
    )


def _where_created(v: Visitor, machine: str) -> list[str]:
    """The workspaces in which the reader may create instances of the machine."""
    return sorted(w for w in v.workspaces if v.may("create", w, machine))


@router.get("/ui/machines/{name}/new")
async def new(v: Reader, name: str) -> Response:
    """The form of a new instance, from the model of the machine's data."""
    known = _creatable(v, name)
    shape = known.data.model_json_schema() if known.data is not None else None
    return await render(
        v,
        "new_instance.html",
        machine=known,
        fields=schema.fields(shape, {}),
        free=shape is None,
        where=_where_created(v, name),
    )


def _creatable(v: Visitor, name: str) -> Machine:
    known = v.service.engine.registry.get(name)
    if known is None:
        raise NotFound(f"there is no machine {name!r}")
    if known.created_through is not None:
        raise CreatedElsewhere(name, known.created_through)
    if not _where_created(v, name):
        raise NotAllowed(f"you may not create instances of {name}; ask an owner for the role member")
    return known


@router.post("/ui/machines/{name}/new")
async def create(request: Request, name: str) -> Response:
    form = await posted(request)
    known = _creatable(form.v, name)
    workspace = form.get("workspace") or OPERATORS
    if known.data is not None:
        data = schema.answer(known.data.model_json_schema(), form.fields)
    else:
        data = schema.json_object(form.get("data"), "the data")
    labels = dict(_label(line) for line in form.get("labels").splitlines() if line.strip())

    def job(unit: Unit) -> Done:
        require(form.v.who, "create", workspace, f"workspace {workspace!r}", machine=name)
        made = creating.create(
            unit,
            known,
            data,
            form.v.who.actor_in(workspace),
            key=form.get("business_key") or None,
            workspace=workspace,
            priority=int(form.get("priority") or "2"),
            labels=labels,
        )
        return Done(said="Created", to=f"/ui/instances/{made.id}")

    return await form.do(job, "create")


def _label(line: str) -> tuple[str, str]:
    name, sign, value = line.partition("=")
    if not sign or not name.strip():
        raise BadRequest(f"the label {line[:80]!r} must be written as name=value")
    return name.strip(), value.strip()


def read(conn: sa.Connection, v: Visitor, machine: Machine, counts: Mapping[str, int], span: plots.Span) -> Figures:
    """Read everything in one transaction."""
    lay_out(machine)  # here, in a thread: the first layout takes a moment
    open_ = open_states(machine, counts)
    under_way = sum(counts[state] for state in open_)
    series = measures.series_of_each(
        conn,
        ("finished", "failed"),
        v.now,
        window=span.window,
        by=span.by,
        machine=machine.name,
        workspaces=v.workspaces,
    )
    nothing = plots.empty(v.now, span)
    oldest = longest(conn, machine, open_, v.workspaces)
    return Figures(
        measures.dwell(conn, machine.name, v.now, workspaces=v.workspaces),
        oldest,
        names(conn, v.service.engine.registry, [one.id for one in oldest.values()]),
        versions(conn, machine, v.workspaces, under_way=under_way),
        series.get((machine.name, "finished"), nothing),
        series.get((machine.name, "failed"), nothing),
    )


def row_of(machine: Machine, state: str, counts: Mapping[str, int], figures: Figures, now: Micros) -> Row:
    usual, oldest = figures.dwell.get(state), figures.longest.get(state)
    stuck = oldest is not None and unusual(oldest, usual, now)
    final = machine.states[state].kind is Kind.FINAL
    return Row(state, counts.get(state, 0), final, usual if usual and usual.n else None, oldest, stuck)
