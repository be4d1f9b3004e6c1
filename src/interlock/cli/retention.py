"""`interlock retention`: archive and remove what finished long ago."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from interlock.console.options import DEFAULT_DATABASE, Config, Database, opened
from interlock.console.printing import INTERRUPTED, As, Json, as_json, bars, login, table, until_interrupted, when

if TYPE_CHECKING:
    from interlock.engine import Engine
    from interlock.engine.retention.policies import Report

app = typer.Typer(
    rich_markup_mode=None, help="The retention: remove what finished long ago, show its status.", no_args_is_help=True
)


@app.command()
def run(
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would be removed; write nothing.")] = False,
    in_json: Json = False,
    name: As = "",
    database: Database = DEFAULT_DATABASE,
    config: Config = None,
) -> None:
    """Archive and remove what the settings under `[retention]` do not keep. Workers do the same every hour."""
    from interlock.config import load
    from interlock.engine.retention.policies import Policy, Retention
    from interlock.machine import USER, Actor, InterlockError

    settings = load(config)
    policy = Policy.of(settings)
    if not policy.wanted:
        raise InterlockError(
            'nothing is ever removed: no age is set; say how long to keep what ended, such as default = "90d" under '
            "[retention] in interlock.toml"
        )
    with opened(database or settings.database_url, None, config) as engine:
        if not dry_run:
            _add_up(engine)
        retention = Retention(engine, policy, actor=Actor(USER, name or login()))
        with bars(in_json) as progress:
            bar = progress.add_task("looking" if dry_run else "removing", total=None)

            def show(report: Report) -> None:
                progress.update(bar, completed=report.instances.total())

            if dry_run:
                report = retention.plan(show)
            else:
                progress.update(bar, total=retention.plan().instances.total())
                with until_interrupted() as stopping:
                    report = retention.run(show, stopping=stopping)
    if report.busy:
        raise InterlockError(f"another process is running the retention: {report.busy}")
    if in_json:
        as_json(
            {
                "dry_run": dry_run,
                "instances": dict(report.instances),
                "rows": dict(report.rows),
                "held_back": dict(report.held_back),
                "months": report.months,
                "files": [str(path) for path in report.files],
                "stopped": report.stopped,
            }
        )
    else:
        _print(report, dry_run)
    if report.stopped:
        raise typer.Exit(INTERRUPTED)


def _print(report: Report, dry_run: bool) -> None:
    verb = "would go" if dry_run else "removed"
    gone = {**report.instances, **{f"rows of {name}": n for name, n in report.rows.items()}}
    rows = [(what, verb, f"{n:,}") for what, n in gone.items() if n]
    rows += [("held back", reason, f"{n:,}") for reason, n in report.held_back.items()]
    if rows:
        table(("what", "", "how many"), rows)
    else:
        typer.echo("nothing is old enough")
    for month in report.months:
        typer.echo(f"dropped   {month}")
    for path in report.files:
        typer.echo(f"archived  {path}")
    if report.stopped:
        typer.echo("stopped before the end; run it again to continue")


def _add_up(engine: Engine) -> None:
    """Add new history to the roll-ups first: rows that are not counted yet are not removed."""
    import sqlalchemy as sa

    from interlock.store.service_tables import cursor
    from interlock.watch import rollups

    used = sa.select(cursor.c.name).where(cursor.c.name == rollups.CURSOR)
    if engine.read(lambda conn: conn.execute(used).first()) is not None:
        while engine.write(rollups.roll):
            pass


@app.command()
def status(in_json: Json = False, database: Database = DEFAULT_DATABASE, config: Config = None) -> None:
    """Show how long everything is kept, whether it is running, and what the last runs did."""
    from dataclasses import asdict

    import sqlalchemy as sa

    from interlock.config import load
    from interlock.engine.retention.policies import LEASE
    from interlock.engine.values import anything
    from interlock.store.retention_tables import retention_run as R

    settings = load(config)
    wanted = settings.retention
    with opened(database or settings.database_url, None, config) as engine:
        rows = engine.read(lambda conn: conn.execute(sa.select(R).order_by(R.c.id.desc()).limit(10)).all())
        held = engine.leases.find(LEASE)
    ages = {"default": wanted.default, **wanted.machines}
    others = {name: getattr(wanted, name) for name in ("messages", "alerts", "actions", "answers")}
    runs = [
        {
            "started_at": when(row.started_at),
            "ended_at": when(row.ended_at),
            "by": row.actor,
            "instances": row.instances,
            "rows": anything(row.rows),
            "held_back": anything(row.kept_back),
            "files": anything(row.files),
            "error": row.error,
        }
        for row in rows
    ]
    folder = wanted.folder or settings.data / "retention"
    if in_json:
        as_json(
            {
                "machines": ages,
                "others": others,
                "folder": folder,
                "running": asdict(held) if held else None,
                "runs": runs,
            }
        )
        return
    table(("what", "kept for"), [*ages.items(), *others.items()])
    typer.echo(f"\narchives in {folder}" + (f"\n{held.holder} is running it" if held else ""))
    if runs:
        typer.echo()
        shown = [
            (
                str(run["started_at"]),
                str(run["by"]),
                f"{run['instances']:,}",
                f"{sum(run['rows'].values()):,}",
                str(run["error"] or ", ".join(run["files"])),
            )
            for run in runs
        ]
        table(("started (UTC)", "by", "instances", "other rows", "archives, or the error"), shown)
