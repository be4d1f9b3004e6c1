"""Totals and rates of what happened in a time window, read from the roll-ups."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import sqlalchemy as sa

from interlock.machine import Kind, Machine
from interlock.store import Micros, span
from interlock.store import service_tables as s
from interlock.watch.histogram import HOUR, MINUTE

R = s.rollup
FINE = 3 * HOUR
"""Windows up to this length are read from the minute roll-ups, longer ones from the hour roll-ups."""
SPANS = {"minute": MINUTE, "hour": HOUR}
Workspaces = Collection[str] | None
"""The workspaces to read; None reads all of them."""


@dataclass(slots=True)
class Activity:
    """Totals for one machine's instances in a time window. Each mapping is keyed by state."""

    created: int = 0
    ended: dict[str, int] = field(default_factory=dict)
    lived: Micros = 0
    """The summed lifetimes of the instances that ended."""
    retried: int = 0
    given_up: int = 0
    passed: dict[str, int] = field(default_factory=dict)
    failed: dict[str, int] = field(default_factory=dict)
    waited: int = 0
    waited_total: Micros = 0

    @property
    def throughput(self) -> int:
        """How many instances finished."""
        return sum(self.ended.values())

    @property
    def attempts(self) -> int:
        """Finished attempts at a step, successful or failed."""
        return sum(self.passed.values()) + sum(self.failed.values())

    @property
    def failure_rate(self) -> float | None:
        """The share of attempts that failed; None if there were no attempts."""
        return sum(self.failed.values()) / self.attempts if self.attempts else None

    @property
    def retry_rate(self) -> float | None:
        """The share of finished instances that needed more than one attempt."""
        return self.retried / self.throughput if self.throughput else None

    @property
    def average_lag(self) -> Micros | None:
        """The average time that a ready step waited for a worker."""
        return self.waited_total // self.waited if self.waited else None

    def add(self, other: Activity) -> None:
        """Add another machine's totals to these."""
        for name in ("created", "lived", "retried", "given_up", "waited", "waited_total"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        for name in ("ended", "passed", "failed"):
            mine: dict[str, int] = getattr(self, name)
            for state, n in getattr(other, name).items():
                mine[state] = mine.get(state, 0) + n


@dataclass(frozen=True, slots=True)
class Ends:
    """How instances ended: good, bad (including failed and given-up instances), or neither."""

    good: int = 0
    bad: int = 0
    neither: int = 0

    @property
    def success_rate(self) -> float | None:
        """Good ends divided by good and bad ends. Neutral ends, such as a withdrawal, do not count."""
        judged = self.good + self.bad
        return self.good / judged if judged else None

    def __add__(self, other: Ends) -> Ends:
        return Ends(self.good + other.good, self.bad + other.bad, self.neither + other.neither)


def activity(
    conn: sa.Connection, now: Micros, window: timedelta = timedelta(hours=24), workspaces: Workspaces = None
) -> dict[str, Activity]:
    """Totals by machine over the window, at minute resolution up to three hours and hour resolution beyond."""
    name, since = _since(now, span(window))
    r = R.c
    query = (
        sa.select(r.machine, r.measure, r.state, sa.func.sum(r.n), sa.func.sum(r.total))
        .where(r.span == name, r.at >= since, r.measure.not_in(("dwell", "moved")))
        .group_by(r.machine, r.measure, r.state)
    )
    found: dict[str, Activity] = defaultdict(Activity)
    for machine, measure, state, n_, total_ in conn.execute(within(query, r.workspace, workspaces)):
        one, n, total = found[machine], int(n_), int(total_)
        match measure:
            case "created":
                one.created += n
            case "finished":
                one.ended[state] = n
                one.lived += total
            case "retried":
                one.retried += n
            case "given_up":
                one.given_up += n
            case "passed":
                one.passed[state] = n
            case "failed":
                one.failed[state] = n
            case "waited":
                one.waited += n
                one.waited_total += total
    return dict(found)


def _since(now: Micros, window: Micros) -> tuple[str, Micros]:
    name = "minute" if window <= FINE else "hour"
    first = now - window
    return name, first - first % SPANS[name]


def ends(machine: Machine | None, totals: Activity) -> Ends:
    """Classify ends as good or bad, as the machine declares its final states."""
    good = bad = neither = 0
    for name, n in totals.ended.items():
        state = machine.states.get(name) if machine else None
        if state is not None and (state.kind is Kind.FAILED or state.good is False):
            bad += n
        elif state is not None and state.good:
            good += n
        else:
            neither += n
    return Ends(good, bad + totals.given_up, neither)


def within(query: sa.Select[Any], column: Any, workspaces: Workspaces) -> sa.Select[Any]:
    """Restrict the query to these workspaces."""
    return query if workspaces is None else query.where(column.in_(list(workspaces)))
