"""`interlock worker`: run a worker, or list workers."""

from __future__ import annotations

from dataclasses import asdict

import typer

from interlock.cli.serving import Concurrency, Queues, worker
from interlock.console.options import DEFAULT_DATABASE, App, Config, Database, opened
from interlock.console.printing import Json, as_json, table, when

app = typer.Typer(rich_markup_mode=None, help="Run a worker, or list those that run.")


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
