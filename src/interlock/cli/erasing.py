"""`interlock erase`: remove a person's data, keep the proof of what happened."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated
from uuid import UUID

import typer

from interlock.console.options import DEFAULT_DATABASE, Config, Database, opened
from interlock.console.printing import As, Json, as_json, bars, login, table

if TYPE_CHECKING:
    from interlock.engine.retention.erasing import Erased


def erase(
    value: Annotated[
        str | None, typer.Argument(help="A mail address or a name: every instance that contains it.")
    ] = None,
    instance: Annotated[UUID | None, typer.Option("--instance", help="One instance instead.")] = None,
    reason: Annotated[str, typer.Option("--reason", help="Why; the history keeps it.")] = "",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would be erased.")] = False,
    in_json: Json = False,
    name: As = "",
    database: Database = DEFAULT_DATABASE,
    config: Config = None,
) -> None:
    """Erase a person's data from finished instances; the chain still verifies. Exit code 1 if some are left."""
    from interlock.config import load
    from interlock.engine.retention.erasing import Erased, Erasing
    from interlock.engine.retention.policies import Policy
    from interlock.machine import OWNER, Actor, InterlockError

    if (value is None) == (instance is None):
        raise InterlockError("name either a value to look for, or one instance with --instance")
    if not dry_run and not reason.strip():
        raise InterlockError("say why with --reason; the history keeps it")
    settings = load(config)
    report = Erased()
    with opened(database or settings.database_url, None, config) as engine:
        erasing = Erasing(engine, Actor(OWNER, name or login()), reason, archives=Policy.of(settings).folder)
        if instance is not None:
            report = erasing.one(instance, dry_run=dry_run)
        else:
            assert value is not None
            with bars(in_json) as progress:
                bar = progress.add_task("looking" if dry_run else "erasing", total=None)
                for report in erasing.every(value, dry_run=dry_run):
                    progress.update(bar, completed=len(report.instances))
    if in_json:
        as_json(
            {
                "dry_run": dry_run,
                "instances": [str(one) for one in report.instances],
                "what": dict(report.what),
                "at_work": [str(one) for one in report.at_work],
                "shared_artifacts": report.shared,
                "stays": dict(report.stays),
                "archives": report.archives,
            }
        )
    else:
        _print(report, dry_run)
    raise typer.Exit(1 if report.at_work else 0)


def _print(report: Erased, dry_run: bool) -> None:
    verb = "would be erased" if dry_run else "erased"
    rows = [(str(one), verb) for one in report.instances]
    rows += [
        (str(one), "not erased: it has not finished; cancel it or wait, then erase again") for one in report.at_work
    ]
    if rows:
        table(("instance", ""), rows)
    for name, count in report.what.items():
        typer.echo(f"{count:>7,}  rows of {name}")
    for digest in report.shared:
        typer.echo(f"artifact {digest} stays: other instances use it, too")
    for name, count in report.stays.items():
        typer.echo(f"{count:>7,}  still in {STAYS.get(name, name)}")
    for path, lines in report.archives.items():
        typer.echo(f"{len(lines):>7,}  lines of {path}: erase them from the archive yourself")
    typer.echo(f"{len(report.instances)} {verb}, {len(report.at_work)} left")


STAYS = {
    "history.actor": "the history, as the actor: that is part of the chain",
    "person": "person: see interlock user",
    "action": "action: the action log; removed by age, see retention.actions",
    "idempotency": "idempotency: stored answers; removed after 7 days",
    "alert": "alert: removed by age, see retention.alerts",
    "outbox": "outbox: messages without an instance; removed by age, see retention.messages",
}
