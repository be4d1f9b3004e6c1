"""`interlock overview`: the key figures of every machine, as on the first page of the dashboard."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from interlock.console.options import DEFAULT_DATABASE, App, Database, opened
from interlock.console.printing import Json, as_json, table, when

if TYPE_CHECKING:
    from interlock.watch.measures import MachineView, Totals


def overview(
    hours: Annotated[float, typer.Option(min=0.1, max=1440, help="The hours that rates and sums cover.")] = 24,
    in_json: Json = False,
    database: Database = DEFAULT_DATABASE,
    apps: App = None,
) -> None:
    """Show the key figures of every machine and of all together."""
    from datetime import timedelta

    from interlock.watch import measures

    with opened(database, apps) as engine:
        now = engine.clock.now()
        found = engine.read(lambda conn: measures.overview(conn, engine.registry, now, window=timedelta(hours=hours)))
    if in_json:
        machines = [{"machine": one.machine, "states": dict(one.states), **_figures(one)} for one in found.machines]
        totals = {**_figures(found.totals), "workers_alive": found.totals.workers_alive}
        as_json({"hours": hours, "machines": machines, "totals": totals})
        return
    rows = [(one.machine, *_cells(one)) for one in found.machines if sum(one.states.values())]
    table(
        ("machine", "unfinished", "finished", "success", "failed attempts", "queue lag", "reviews", "dead letters"),
        [*rows, ("all", *_cells(found.totals))],
    )
    alive = found.totals.workers_alive
    typer.echo(f"sums and rates over {hours:g} h; {alive} worker{'' if alive == 1 else 's'} alive")


def _figures(view: MachineView | Totals) -> dict[str, Any]:
    from interlock.store import SECOND

    return {
        "unfinished": view.live,
        "created": view.created,
        "finished": view.throughput,
        "success_rate": view.success_rate,
        "retry_rate": view.retry_rate,
        "failed_attempts": view.failures,
        "queue_lag_seconds": view.queue_lag / SECOND,
        "open_reviews": view.reviews.open,
        "oldest_review_at": when(view.reviews.oldest) or None,
        "dead_letters": view.dead_letters,
    }


def _cells(view: MachineView | Totals) -> tuple[str, ...]:
    from interlock.store import SECOND
    from interlock.store.health import duration_text

    success = "" if view.success_rate is None else f"{view.success_rate:.0%}"
    lag = duration_text(view.queue_lag / SECOND) if view.queue_lag else ""
    before, after = (view.live, view.throughput), (view.reviews.open, view.dead_letters)
    return (*map(_number, before), success, _number(view.failures), lag, *map(_number, after))


def _number(value: int) -> str:
    return f"{value:,}"
