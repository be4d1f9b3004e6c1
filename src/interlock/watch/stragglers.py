"""The instances that have been in their state the longest, and whether that is unusually long.

The candidates of a state are the instances with the lowest ids, found through the index by machine, state and id. Ids
grow with time, so these were created first. An instance created later that returned to an early state may be missed:
that is the price of never reading a whole state.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from uuid import UUID

import sqlalchemy as sa

from interlock.machine import Kind, Machine
from interlock.store import Micros
from interlock.store import tables as t
from interlock.watch.activity import Workspaces
from interlock.watch.histogram import MINUTE, DurationSummary

I, D = t.instance, t.definition  # noqa: E741
CANDIDATES = 20
"""How many instances with the lowest ids are compared by the time they entered the state."""
WORKSPACE_CANDIDATES = 50
"""The same, when only some workspaces are of interest."""
UNUSUAL = 3
MOST_VERSIONED = 5_000


@dataclass(frozen=True, slots=True)
class Straggler:
    """An instance that has been in its state for a long time."""

    id: UUID
    machine: str
    state: str
    key: str | None
    since: Micros
    paused: bool


def longest(
    conn: sa.Connection, machine: Machine, states: Iterable[str], workspaces: Workspaces = None
) -> dict[str, Straggler]:
    """For each state, the instance among the candidates that entered it first."""
    found: dict[str, Straggler] = {}
    columns = I.c.id, I.c.key, I.c.entered_at, I.c.paused_at
    for state in states:
        # Ordered like the index: with one state and the lowest ids, PostgreSQL may otherwise walk through all ids.
        query = sa.select(*columns, I.c.workspace).where(I.c.machine == machine.name, I.c.state.between(state, state))
        ordered = query.order_by(I.c.state, I.c.id)
        first = ordered.limit(CANDIDATES if workspaces is None else WORKSPACE_CANDIDATES).subquery()
        oldest = sa.select(first.c.id, first.c.key, first.c.entered_at, first.c.paused_at)
        if workspaces is not None:
            oldest = oldest.where(first.c.workspace.in_(sorted(workspaces)))
        row = conn.execute(oldest.order_by(first.c.entered_at, first.c.id).limit(1)).first()
        if row is not None:
            found[state] = Straggler(row.id, machine.name, state, row.key, row.entered_at, row.paused_at is not None)
    return found


def open_states(machine: Machine, counts: Mapping[str, int]) -> list[str]:
    """The states with unfinished instances."""
    return [name for name, state in machine.states.items() if state.kind is not Kind.FINAL and counts.get(name, 0) > 0]


def unusual(straggler: Straggler, usual: DurationSummary | None, now: Micros) -> bool:
    """Whether the instance has been there three times longer than the 90th percentile, and at least a minute."""
    if usual is None or not usual.n or straggler.paused:
        return False
    return now - straggler.since > max(UNUSUAL * usual.p90, MINUTE)


@dataclass(frozen=True, slots=True)
class Versions:
    """The number of a machine's unfinished instances by version of the machine."""

    by_version: Mapping[int, int]
    whole: bool
    """False if there are more instances than were counted."""


def versions(
    conn: sa.Connection,
    machine: Machine,
    workspaces: Workspaces = None,
    *,
    under_way: int | None = None,
    most: int = MOST_VERSIONED,
) -> Versions:
    """The versions in use, newest first, counted among the first `most` instances.

    Pass `under_way` to save the query when there is only one version.
    """
    known = conn.execute(sa.select(D.c.version).where(D.c.machine == machine.name)).scalars().all()
    if len(known) == 1 and under_way is not None:
        return Versions({known[0]: under_way}, True)
    live = [name for name, state in machine.states.items() if state.kind is not Kind.FINAL]
    query = sa.select(I.c.version).where(I.c.machine == machine.name, I.c.state.in_(live))
    if workspaces is not None:
        query = query.where(I.c.workspace.in_(sorted(workspaces)))
    some = query.limit(most + 1).subquery()
    rows = conn.execute(sa.select(some.c.version, sa.func.count()).group_by(some.c.version)).all()
    found = dict.fromkeys(known, 0) | {version: int(n) for version, n in rows}
    return Versions(dict(sorted(found.items(), reverse=True)), sum(found.values()) <= most)
