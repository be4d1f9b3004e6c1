"""Moves from state to state in a time window, and how long instances stayed, read from the roll-ups."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import sqlalchemy as sa

from interlock.store import Micros, span
from interlock.store import service_tables as s
from interlock.watch.activity import Workspaces, within
from interlock.watch.histogram import HOUR, Bucket
from interlock.watch.rollups import SEPARATOR

R = s.rollup
AT_ONCE = 168
"""Hours that one query names. With the machine they are found through the table's key: a range reads every machine."""


@dataclass(frozen=True, slots=True)
class Move:
    """How often instances moved from a state to another; from None: they were created in it."""

    source: str | None
    to: str
    n: int


def moves(
    conn: sa.Connection, machine: str, now: Micros, window: timedelta, workspaces: Workspaces = None
) -> list[Move]:
    """Every move of the window, with instances that were created. Whole hours, the current one included."""
    found: dict[tuple[str | None, str], int] = defaultdict(int)
    for hours in _hours(now, window):
        query = (
            sa.select(R.c.measure, R.c.state, sa.func.sum(R.c.n))
            .where(
                R.c.span == "hour",
                R.c.at.in_(hours),
                R.c.machine == machine,
                R.c.measure.in_(("created", "moved")),
            )
            .group_by(R.c.measure, R.c.state)
        )
        for measure, state, n in conn.execute(within(query, R.c.workspace, workspaces)):
            source, _, to = state.rpartition(SEPARATOR) if measure == "moved" else ("", "", state)
            found[source or None, to] += int(n)
    return [Move(source, to, n) for (source, to), n in sorted(found.items(), key=_order) if n > 0]


def _order(item: tuple[tuple[str | None, str], int]) -> tuple[int, str, str]:
    (source, to), n = item
    return -n, source or "", to


def stays(
    conn: sa.Connection, machine: str, now: Micros, window: timedelta, workspaces: Workspaces = None
) -> dict[str, Mapping[Micros, Bucket]]:
    """How long instances stayed in each state, by bucket, for stays that ended in the window."""
    found: dict[str, dict[Micros, Bucket]] = defaultdict(dict)
    for hours in _hours(now, window):
        query = (
            sa.select(R.c.state, R.c.size, sa.func.sum(R.c.n), sa.func.sum(R.c.total), sa.func.max(R.c.worst))
            .where(R.c.span == "hour", R.c.at.in_(hours), R.c.machine == machine, R.c.measure == "dwell")
            .group_by(R.c.state, R.c.size)
        )
        for state, size, n, total, worst in conn.execute(within(query, R.c.workspace, workspaces)):
            before = found[state].get(size, Bucket(0, 0, 0))
            found[state][size] = Bucket(before.n + int(n), before.total + int(total), max(before.worst, int(worst)))
    return dict(found)


def _hours(now: Micros, window: timedelta) -> Iterator[Sequence[Any]]:
    first = now - span(window)
    every = range(first - first % HOUR, now + 1, HOUR)
    for begin in range(0, len(every), AT_ONCE):
        yield list(every[begin : begin + AT_ONCE])
