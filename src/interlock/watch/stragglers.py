"""What is where it is for the longest time, and which of that is longer than usual.

The oldest of a state are looked up through the index by machine, state and id. Ids grow with time, so the first few
ids are those that were created first; which of them entered the state first is then known exactly. One that was
created late and has come back to an early state may be missed: that is the price for never reading a whole state.
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
from interlock.watch.histogram import MINUTE, Lengths

I, D = t.instance, t.definition  # noqa: E741
LOOK = 20
"""Of so many with the lowest ids, the one that entered first is taken."""
LOOK_AMONG_OTHERS = 50
"""And so many are looked at for those of a few workspaces."""
UNUSUAL = 3
MOST_VERSIONED = 5_000


@dataclass(frozen=True, slots=True)
class Resting:
    """An instance that has been in its state for long."""

    id: UUID
    machine: str
    state: str
    key: str | None
    since: Micros
    paused: bool


def longest(
    conn: sa.Connection, machine: Machine, states: Iterable[str], workspaces: Workspaces = None
) -> dict[str, Resting]:
    """Of each of these states, whichever instance entered it first, among the oldest."""
    found: dict[str, Resting] = {}
    columns = I.c.id, I.c.key, I.c.entered_at, I.c.paused_at
    for state in states:
        # In the order of the index: asked for one state and the lowest ids, PostgreSQL may walk through all ids.
        query = sa.select(*columns, I.c.workspace).where(I.c.machine == machine.name, I.c.state.between(state, state))
        ordered = query.order_by(I.c.state, I.c.id)
        first = ordered.limit(LOOK if workspaces is None else LOOK_AMONG_OTHERS).subquery()
        oldest = sa.select(first.c.id, first.c.key, first.c.entered_at, first.c.paused_at)
        if workspaces is not None:
            oldest = oldest.where(first.c.workspace.in_(sorted(workspaces)))
        row = conn.execute(oldest.order_by(first.c.entered_at, first.c.id).limit(1)).first()
        if row is not None:
            found[state] = Resting(row.id, machine.name, state, row.key, row.entered_at, row.paused_at is not None)
    return found


def open_states(machine: Machine, counts: Mapping[str, int]) -> list[str]:
    """The states in which something is that has not come to an end."""
    return [name for name, state in machine.states.items() if state.kind is not Kind.FINAL and counts.get(name, 0) > 0]


def unusual(resting: Resting, usual: Lengths | None, now: Micros) -> bool:
    """Whether it is there three times longer than nine in ten are, and at least a minute."""
    if usual is None or not usual.n or resting.paused:
        return False
    return now - resting.since > max(UNUSUAL * usual.p90, MINUTE)


@dataclass(frozen=True, slots=True)
class Versions:
    """How many of a machine's instances under way are of which version of its life cycle."""

    by_version: Mapping[int, int]
    whole: bool
    """False: only so many were looked at."""


def versions(
    conn: sa.Connection,
    machine: Machine,
    workspaces: Workspaces = None,
    *,
    under_way: int | None = None,
    most: int = MOST_VERSIONED,
) -> Versions:
    """The versions that are in use, the newest first, with their numbers among the first `most`.

    Whoever knows how many are under way saves the look where there is one version only.
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
