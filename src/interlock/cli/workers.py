"""`interlock worker`: run a worker; list workers, leases and limits."""

from __future__ import annotations

from dataclasses import asdict

import typer

from interlock.cli.serving import Concurrency, Queues, worker
from interlock.console.options import DEFAULT_DATABASE, App, Config, Database, opened
from interlock.console.printing import Json, as_json, table, times_shown, when

app = typer.Typer(rich_markup_mode=None, help="Run a worker; list workers, leases, limits.")


@app.callback(invoke_without_command=True)
def run(
    context: typer.Context,
    queues: Queues = None,
    concurrency: Concurrency = None,
    database: Database = DEFAULT_DATABASE,
    apps: App = None,
    config: Config = None,
) -> None:
    """Run a worker; start as many as you like, on as many machines."""
    if context.invoked_subcommand is None:
        worker(queues, concurrency, database, apps, config)


@app.command("list")
def list_(in_json: Json = False, database: Database = DEFAULT_DATABASE, apps: App = None) -> None:
    """List workers, newest first, with their last heartbeat."""
    from interlock.engine import workers

    with opened(database, apps) as engine:
        found = engine.read(workers.every)
    if in_json:
        as_json([asdict(worker) for worker in found])
        return
    table(
        ("id", "host", "process", "status", "started (UTC)", "last heartbeat (UTC)", "queues"),
        [
            (str(w.id), w.host, str(w.pid), w.status, when(w.started_at), when(w.beat_at), ", ".join(w.queues))
            for w in found
        ],
    )


@app.command("leases")
def leases_(in_json: Json = False, database: Database = DEFAULT_DATABASE, apps: App = None) -> None:
    """List named resources that somebody holds, next to expire first."""
    from interlock.engine import leases

    with opened(database, apps) as engine:
        found = engine.read(lambda conn: leases.active(conn, engine.clock.now()))
    if in_json:
        as_json([times_shown(lease) for lease in found])
        return
    table(
        ("resource", "holder", "expiry (UTC)", "taken (UTC)", "fence", "instance"),
        [
            (one.name, one.holder, when(one.until), when(one.taken_at), str(one.fence), str(one.instance_id or ""))
            for one in found
        ],
    )


@app.command("limits")
def limits_(in_json: Json = False, database: Database = DEFAULT_DATABASE, apps: App = None) -> None:
    """List limits in use, most used first."""
    from interlock.engine import limits

    with opened(database, apps) as engine:
        found = engine.read(lambda conn: limits.usage(conn, engine.registry, engine.clock.now()))
    if in_json:
        as_json([times_shown(limit) for limit in found])
        return
    table(
        ("limit", "kind", "used", "last use (UTC)"),
        [(one.key, one.kind, str(one.used), when(one.last_at)) for one in found],
    )
