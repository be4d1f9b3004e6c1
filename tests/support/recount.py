"""The same sums, counted the slow way: row by row in Python, from the whole history with its payloads read."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Any
from uuid import UUID

import sqlalchemy as sa

from interlock.machine import SYSTEM, Kind, Machine, Registry
from interlock.store import service_tables as s
from interlock.store import tables as t
from interlock.watch.rollups import SEPARATOR

H, I = t.history, t.instance  # noqa: E741
Key = tuple[str, str, str]
Sums = dict[tuple[str, str, str, str], tuple[int, int]]
"""By workspace, machine, measure and state: how many, and what they add up to."""


@dataclass
class Recount:
    """What a full scan finds."""

    present: Counter[Key]
    sums: Sums
    resting: set[UUID]
    """Instances whose last stay counts as an end."""


def present(conn: sa.Connection) -> Counter[Key]:
    where = (I.c.workspace, I.c.machine, I.c.state)
    return Counter(
        {(r[0], r[1], r[2]): r[3] for r in conn.execute(sa.select(*where, sa.func.count()).group_by(*where))}
    )


def recount(conn: sa.Connection, registry: Registry) -> Recount:
    found: Counter[tuple[str, str, str, str]] = Counter()
    totals: Counter[tuple[str, str, str, str]] = Counter()
    resting: set[UUID] = set()
    query = sa.select(H, I.c.workspace, I.c.machine, I.c.created_at).join(I, I.c.id == H.c.instance_id)
    rows = conn.execute(query.order_by(H.c.instance_id, H.c.seq)).all()
    for instance_id, group in groupby(rows, key=lambda row: row.instance_id):
        life = list(group)
        machine = registry[life[0].machine]
        for measure, state, total in counted_rows(machine, life):
            key = (life[0].workspace, machine.name, measure, state)
            found[key] += 1
            totals[key] += total
        if stays(machine, life)[-1].ends:
            resting.add(instance_id)
    return Recount(present(conn), {key: (n, totals[key]) for key, n in found.items()}, resting)


@dataclass
class Stay:
    """From the row with which an instance enters a state to the one with which it leaves it."""

    state: str
    entry: Any
    ends: bool


def payload(row: Any) -> dict[str, Any]:
    return json.loads(row.payload) if row.payload else {}


def erred(row: Any) -> bool:
    return row.kind == "failed" or (row.from_state is not None and "error" in payload(row))


def stays(machine: Machine, life: list[Any]) -> list[Stay]:
    entries = [row for row in life if row.to_state is not None]
    found = []
    for entry, leaving in zip(entries, [*entries[1:], None], strict=True):
        passes = leaving is not None and leaving.dwell is None
        found.append(Stay(entry.to_state, entry, not passes and _rests(machine, entry)))
    return found


def _rests(machine: Machine, entry: Any) -> bool:
    kind = machine.states[entry.to_state].kind
    if kind is not Kind.FAILED:
        return kind is Kind.FINAL
    if erred(entry):
        return payload(entry).get("exhausted", False)
    tried_again = entry.to_state == machine.failures.state and any(
        SYSTEM in edge.by for edge in machine.edges_on(entry.to_state, machine.failures.retry)
    )
    return entry.kind == "forced" or not tried_again


def counted_rows(machine: Machine, life: list[Any]) -> Iterator[tuple[str, str, int]]:
    state = ""
    for row in life:
        there = row.from_state or state
        if row.kind == "created":
            yield "created", row.to_state, 0
        if erred(row):
            yield "failed", there, 0
            if row.kind == "failed" and payload(row).get("exhausted"):
                yield "given_up", there, 0
        elif row.actor.startswith("worker:") and "took" in payload(row):
            yield "passed", there, 0
        if row.dwell is not None:
            yield "dwell", there, row.dwell
        if row.waited is not None:
            yield "waited", there, row.waited
        if row.from_state is not None and row.to_state is not None:
            yield "moved", f"{row.from_state}{SEPARATOR}{row.to_state}", 0
        state = row.to_state or state
    for stay in stays(machine, life):
        if stay.ends:
            yield "finished", stay.state, stay.entry.at - stay.entry.created_at
            if any(erred(row) for row in life if row.seq <= stay.entry.seq):
                yield "retried", stay.state, 0


def rolled(conn: sa.Connection, span: str = "hour") -> Sums:
    """What the table says, added up over all time."""
    r = s.rollup.c
    key = (r.workspace, r.machine, r.measure, r.state)
    rows = conn.execute(sa.select(*key, sa.func.sum(r.n), sa.func.sum(r.total)).where(r.span == span).group_by(*key))
    return {(w, m, measure, state): (int(n), int(total)) for w, m, measure, state, n, total in rows if n}


def counted(conn: sa.Connection) -> Counter[Key]:
    return Counter({(r.workspace, r.machine, r.state): r.n for r in conn.execute(sa.select(s.state_count)) if r.n})
