"""Costs of model calls by day, machine, task and model, and how much of the budgets they have used.

Each recorded call adds to the sums of its day in its own transaction: two rows, that of its workspace and that of all
workspaces together (`ALL`). So a budget is checked, and a page shown, without reading calls.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Literal

import sqlalchemy as sa

from interlock.machine import Registry
from interlock.store import Micros, micros, moment, span
from interlock.store.ai import ai_cost as K
from interlock.store.prepared import Prepared

if TYPE_CHECKING:
    from interlock.config import BudgetSettings

ALL = ""
"""The name under which the sums of all workspaces together are stored."""
INSTALLATION = "all"
"""The budget of everything; the others are named after applications."""
SETTING = "ai"
BILLION = 1_000_000_000
DAY = span(timedelta(days=1))
SUMS = ("calls", "cached", "failed", "input_tokens", "output_tokens", "cost", "unpriced")
KEY = ("workspace", "day", "machine", "task", "model")
_VALUES = ", ".join(f":{name}" for name in (*KEY[1:], *SUMS))
ADD = Prepared(
    sa.text(
        f"INSERT INTO ai_cost ({', '.join((*KEY, *SUMS))}) VALUES ('{ALL}', {_VALUES}), (:workspace, {_VALUES}) "
        f"ON CONFLICT ({', '.join(KEY)}) DO UPDATE SET "
        + ", ".join(f"{name} = ai_cost.{name} + excluded.{name}" for name in SUMS)
    )
)
Period = Literal["day", "month"]


@dataclass(frozen=True, slots=True)
class DayCost:
    """Usage of a machine's task and model on a day."""

    day: Micros
    machine: str
    """Empty: asked outside of a handler."""
    task: str
    model: str
    calls: int
    cached: int
    failed: int
    input_tokens: int
    output_tokens: int
    cost: int
    """Billionths of a dollar, for calls whose price is known."""
    unpriced: int
    """Calls of unknown cost."""


@dataclass(frozen=True, slots=True)
class Budget:
    """A budget, and how much of it is used."""

    whose: str
    """An application, or `all`."""
    period: Period
    limit: int
    """Billionths of a dollar."""
    used: int
    until: Micros
    """When the next period begins."""

    @property
    def share(self) -> float:
        """The used part; 1 or more if nothing is left."""
        return self.used / self.limit if self.limit else 1.0

    @property
    def spent(self) -> bool:
        return self.used >= self.limit

    @property
    def words(self) -> str:
        """Whose budget it is, for which time: `the budget of the installation for the day`."""
        of = "the installation" if self.whose == INSTALLATION else self.whose
        return f"the budget of {of} for the {self.period}"

    @property
    def amounts(self) -> str:
        return f"${self.used / BILLION:,.2f} of ${self.limit / BILLION:,.2f}"


def day_of(now: Micros) -> Micros:
    """The start of the day of this moment, in UTC."""
    return now - now % DAY


def add(
    conn: sa.Connection,
    workspace: str,
    at: Micros,
    *,
    machine: str,
    task: str,
    model: str,
    input_tokens: int | None = None,
    output_tokens: int | None = None,
    cost: int | None = None,
    cached: bool = False,
    failed: bool = False,
) -> None:
    """Add one call to the sums of its day. The rows stay locked until the commit, so call it last."""
    ADD.count(
        conn,
        workspace=workspace,
        day=day_of(at),
        machine=machine,
        task=task,
        model=model,
        calls=1,
        cached=int(cached),
        failed=int(failed),
        input_tokens=input_tokens or 0,
        output_tokens=output_tokens or 0,
        cost=cost or 0,
        unpriced=int(cost is None),
    )


def by_day(conn: sa.Connection, workspaces: Collection[str], since: Micros) -> list[DayCost]:
    """Calls, tokens and cost of these workspaces by day, machine, task and model, newest day first."""
    key = (K.c.day, K.c.machine, K.c.task, K.c.model)
    query = (
        sa.select(*key, *(sa.func.sum(K.c[name]) for name in SUMS))
        .where(K.c.workspace.in_(list(workspaces)), K.c.day >= day_of(since))
        .group_by(*key)
        .order_by(K.c.day.desc(), K.c.machine, K.c.task, K.c.model)
    )
    return [DayCost(row[0], row[1], row[2], row[3], *map(int, tuple(row)[4:])) for row in conn.execute(query)]


def application_of(registry: Registry, machine: str) -> str | None:
    """The application that a machine belongs to."""
    return next((one.name for one in registry.applications.values() if one.has(machine)), None)


# -- budgets


def limits_of(settings: Mapping[str, Any]) -> Mapping[str, BudgetSettings]:
    """The configured budgets, by the settings of an engine (`engine.core.settings`)."""
    found = settings.get(SETTING)
    return found.budgets if found is not None else {}


def budgets(conn: sa.Connection, registry: Registry, limits: Mapping[str, BudgetSettings], now: Micros) -> list[Budget]:
    """The configured budgets, those of the installation first, and what is used of them."""
    if not limits:
        return []
    today, tomorrow = day_of(now), day_of(now) + DAY
    month, next_month = _month_of(now)
    used: dict[str, tuple[int, int]] = {}
    query = (
        sa.select(
            K.c.machine,
            sa.func.sum(sa.case((K.c.day >= today, K.c.cost), else_=0)),
            sa.func.sum(K.c.cost),
        )
        .where(K.c.workspace == ALL, K.c.day >= month)
        .group_by(K.c.machine)
    )
    for machine, of_day, of_month in conn.execute(query):
        for whose in (INSTALLATION, application_of(registry, machine)):
            if whose is not None:
                before = used.get(whose, (0, 0))
                used[whose] = before[0] + int(of_day), before[1] + int(of_month)
    found = []
    for whose in sorted(limits, key=lambda name: (name != INSTALLATION, name)):
        limit, (of_day, of_month) = limits[whose], used.get(whose, (0, 0))
        if limit.day is not None:
            found.append(Budget(whose, "day", _nanos(limit.day), of_day, tomorrow))
        if limit.month is not None:
            found.append(Budget(whose, "month", _nanos(limit.month), of_month, next_month))
    return found


def _nanos(dollars: float) -> int:
    return round(dollars * BILLION)


def _month_of(now: Micros) -> tuple[Micros, Micros]:
    """The start of the month of this moment, in UTC, and of the next one."""
    first = moment(day_of(now)).replace(day=1)
    return micros(first), micros((first + timedelta(days=32)).replace(day=1))
