"""`interlock db partition`: partition the history by month, on PostgreSQL."""

from __future__ import annotations

from typing import Annotated

import typer

from interlock.console.options import DEFAULT_DATABASE, Database, store_of
from interlock.console.printing import Json, as_json, table


def partition(
    apply: Annotated[bool, typer.Option("--apply", help="Do it.")] = False,
    plan: Annotated[bool, typer.Option("--plan", help="Only show what would be done.")] = False,
    in_json: Json = False,
    database: Database = DEFAULT_DATABASE,
) -> None:
    """Partition the history by month, so that old months are dropped whole. Nothing is copied; work continues."""
    from interlock.machine import InterlockError
    from interlock.store import SystemClock, migrate, moment, partitions

    if apply == plan:
        raise InterlockError("say either --plan, to see what would be done, or --apply, to do it")
    clock = SystemClock()
    with store_of(database) as store:
        migrate.require(store)
        clock.correct(store.clock_offset())
        before = store.read(lambda conn: partitions.plan(conn, clock.now()))
        begun = clock.steady()
        found = partitions.apply(store, clock.now()) if apply else before
        took = clock.steady() - begun
    months = [(month.name, f"{moment(partitions.begun(month.high)):%Y-%m-%d}") for month in found.months]
    if in_json:
        as_json(
            {
                "partitioned": found.partitioned,
                "rows": found.rows,
                "bytes": found.size,
                "months": [{"table": name, "until": until} for name, until in months],
                "missing": list(found.missing),
                "strays": found.strays,
            }
        )
        return
    typer.echo(f"about {found.rows:,} history rows, {found.size / 1e6:,.0f} MB with indexes")
    if months:
        table(("table", "instances that began before"), months)
    if apply:
        made = len(found.months) - len(before.months)
        typer.echo(f"done in {took:.1f} s: {made} tables" if made else "nothing to do")
    elif not found.partitioned:
        typer.echo(
            "the present history becomes the table history_before; its rows are read once while work continues, and "
            f"the tables are swapped under a lock of some milliseconds; then it creates {', '.join(found.missing)}"
        )
    else:
        typer.echo(f"would create {', '.join(found.missing)}" if found.missing else "nothing to do")
    if found.strays:
        typer.echo(f"{found.strays:,} rows belong to no month and are in history_other")
