"""`interlock costs`: what models cost, and what is used of the budgets."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from interlock.console.options import DEFAULT_DATABASE, App, Config, Database, audit_settings, configure_demo, opened
from interlock.console.printing import Json, as_json, table, when

if TYPE_CHECKING:
    from interlock.machine import Registry
    from interlock.watch.costs import DayCost


class By(StrEnum):
    """What the rows of the table are."""

    day = "day"
    application = "application"
    task = "task"
    model = "model"


def costs(
    days: Annotated[int, typer.Option(min=1, max=400, help="Days (UTC), today included.")] = 30,
    by: Annotated[By, typer.Option(help="What a row is.")] = By.application,
    workspace: Annotated[str | None, typer.Option(help="Of one workspace, else of all.")] = None,
    in_json: Json = False,
    database: Database = DEFAULT_DATABASE,
    apps: App = None,
    config: Config = None,
) -> None:
    """Show what models cost, by application, day, task or model, and what is used of the budgets."""
    from interlock.watch import costs as model_costs

    settings = audit_settings(database, config, apps)
    with opened(database, apps, config) as engine:
        engine.core.settings[model_costs.SETTING] = settings.ai
        configure_demo(engine)  # which has budgets, too
        limits = model_costs.limits_of(engine.core.settings)
        now, registry = engine.clock.now(), engine.registry
        where = model_costs.ALL if workspace is None else workspace
        since = now - (days - 1) * model_costs.DAY
        found = engine.read(lambda conn: model_costs.by_day(conn, [where], since))
        budgets = engine.read(lambda conn: model_costs.budgets(conn, registry, limits, now))
    if in_json:
        as_json(
            {
                "costs": [_of(one, registry) for one in found],
                "budgets": [
                    {
                        "of": one.whose,
                        "period": one.period,
                        "limit": one.limit / model_costs.BILLION,
                        "used": one.used / model_costs.BILLION,
                        "share": one.share,
                        "until": when(one.until),
                    }
                    for one in budgets
                ],
            }
        )
        return
    name: Callable[[DayCost], str] = {
        By.day: lambda one: when(one.day)[:10],
        By.application: lambda one: _application(one, registry),
        By.task: lambda one: one.task,
        By.model: lambda one: one.model,
    }[by]
    table((by.value, "calls", "cached", "failed", "tokens in", "tokens out", "dollars", "unpriced"), _rows(found, name))
    if budgets:
        typer.echo()
        table(
            ("budget", "period", "used", "share", "until (UTC)"),
            [(one.whose, one.period, one.amounts, f"{one.share:.0%}", when(one.until)) for one in budgets],
        )


def _application(one: DayCost, registry: Registry) -> str:
    from interlock.watch.costs import application_of

    return application_of(registry, one.machine) or one.machine or "outside of handlers"


def _rows(found: Iterable[DayCost], name: Callable[[DayCost], str]) -> list[tuple[str, ...]]:
    """A row for each name, the most expensive first, and the total."""
    from interlock.watch.costs import BILLION, SUMS

    sums: dict[str, list[int]] = {}
    for one in found:
        for key in (name(one), "total"):
            before = sums.setdefault(key, [0] * len(SUMS))
            sums[key] = [a + getattr(one, b) for a, b in zip(before, SUMS, strict=True)]
    cost = SUMS.index("cost")
    ordered = sorted(sums.items(), key=lambda item: (item[0] == "total", -item[1][cost], item[0]))
    return [
        (key, *(f"{n / BILLION:,.4f}" if i == cost else f"{n:,}" for i, n in enumerate(row))) for key, row in ordered
    ]


def _of(one: DayCost, registry: Registry) -> dict[str, object]:
    from dataclasses import asdict

    from interlock.watch.costs import BILLION, application_of

    application = application_of(registry, one.machine)
    return {**asdict(one), "day": when(one.day)[:10], "application": application, "cost": one.cost / BILLION}
