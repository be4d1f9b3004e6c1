"""What models cost, by day, application and task, and how much of the budgets is used."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import timedelta
from typing import Annotated, Any

from fastapi import APIRouter, Query
from fastapi.responses import Response

from interlock.ai.calls import RULES
from interlock.dashboard import plots
from interlock.dashboard.formatting import dollars
from interlock.dashboard.site import Reader, render
from interlock.machine import Registry
from interlock.store import moment
from interlock.watch import costs
from interlock.watch.costs import SUMS, DayCost

router = APIRouter(include_in_schema=False)
DOLLAR = 1_000_000_000
"""In billionths, as costs are counted."""
WINDOWS = {
    name: plots.Span(name, f"{days} days", timedelta(days=days), "day")
    for name, days in (("7d", 7), ("30d", 30), ("90d", 90))
}


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a table: what it is about, and the sums."""

    name: str
    more: str
    share: float
    """Of the most expensive row's cost."""
    calls: int
    cached: int
    failed: int
    input_tokens: int
    output_tokens: int
    cost: int
    unpriced: int


@router.get("/ui/costs")
async def show_costs(v: Reader, chosen: Annotated[str, Query(alias="span", max_length=10)] = "30d") -> Response:
    window = WINDOWS.get(chosen, WINDOWS["30d"])
    engine, registry = v.service.engine, v.service.engine.registry
    workspaces = [costs.ALL] if v.operator else sorted(w for w in v.workspaces if v.may("read", w))
    today = costs.day_of(v.now)
    first = today - (window.window.days - 1) * costs.DAY
    month = today - (moment(today).day - 1) * costs.DAY

    def read(conn: Any) -> tuple[list[DayCost], list[costs.Budget]]:
        limits = costs.limits_of(engine.core.settings) if v.operator else {}
        return costs.by_day(conn, workspaces, min(first, month)), costs.budgets(conn, registry, limits, v.now)

    every, budgets = await v.service.read(read)
    shown = [one for one in every if one.day >= first]
    by_day = {day: [one for one in shown if one.day == day] for day in range(first, today + 1, costs.DAY)}
    return await render(
        v,
        "costs.html",
        window=window,
        windows=WINDOWS.values(),
        budgets=budgets,
        plot=plots.daily([(day, _total(rows)) for day, rows in by_day.items()], "spent", dollars, top=DOLLAR),
        today=_total(one for one in every if one.day == today),
        month=_total(one for one in every if one.day >= month),
        month_name=f"{moment(month):%B}",
        total=_total(shown),
        asked=sum(one.calls - one.cached for one in shown if one.model != RULES),
        by_rules=sum(one.calls for one in shown if one.model == RULES),
        cached=sum(one.cached for one in shown),
        unpriced=sum(one.unpriced for one in shown),
        by_application=_rows(shown, lambda one: (_application(registry, one), "")),
        by_task=_rows(shown, lambda one: (one.task, f"{_application(registry, one)} · {one.model}")),
        days=[(day, _sums(rows)) for day, rows in reversed(by_day.items()) if rows],
    )


def _total(rows: Iterable[DayCost]) -> int:
    return sum(one.cost for one in rows)


def _sums(rows: Iterable[DayCost]) -> dict[str, int]:
    found = list(rows)
    return {name: sum(getattr(one, name) for one in found) for name in SUMS}


def _application(registry: Registry, one: DayCost) -> str:
    return costs.application_of(registry, one.machine) or one.machine or "outside of handlers"


def _rows(found: Iterable[DayCost], key: Callable[[DayCost], tuple[str, str]]) -> list[Row]:
    """A row for each key, the most expensive first."""
    groups: dict[tuple[str, str], list[DayCost]] = {}
    for one in found:
        groups.setdefault(key(one), []).append(one)
    sums = {names: _sums(rows) for names, rows in groups.items()}
    most = max((one["cost"] for one in sums.values()), default=0)
    rows = [
        Row(name, more, each["cost"] / most if most else 0.0, *(each[sum_] for sum_ in SUMS))
        for (name, more), each in sums.items()
    ]
    return sorted(rows, key=lambda row: (-row.cost, -row.calls, row.name, row.more))
