"""`interlock audit`: the proof that the history is whole."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated
from uuid import UUID

import typer

from interlock.cli.options import DEFAULT_DATABASE, Database, store_of

app = typer.Typer(rich_markup_mode=None, help="The audit: prove that nobody changed the history.", no_args_is_help=True)


@app.callback()
def _audit() -> None:
    """Keeps `verify` a command of its own."""


@app.command()
def verify(
    instance: Annotated[UUID | None, typer.Option("--instance", help="Only this instance.")] = None,
    files: Annotated[
        list[Path] | None,
        typer.Option("--file", help="An archive of the retention instead; with --database compared with it."),
    ] = None,
    database: Database = DEFAULT_DATABASE,
) -> None:
    """Walk every hash chain and replay every history; exit code 1 when something does not fit."""
    if files:
        _files(files, database)
        return
    import sqlalchemy as sa
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    from interlock.engine import audit
    from interlock.store import migrate, tables

    problems: list[str] = []
    instances = rows = 0
    with store_of(database) as store:
        migrate.require(store)
        total = 1
        if instance is None:
            total = store.read(
                lambda conn: conn.execute(sa.select(sa.func.count()).select_from(tables.instance)).scalar_one()
            )
        columns = (TextColumn("verifying"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
            bar = progress.add_task("", total=total)
            for part in audit.verify(store, instance):
                instances, rows = instances + part.instances, rows + part.rows
                problems += part.problems
                progress.advance(bar, part.instances)
    _tell(problems, instances, rows)


def _files(files: list[Path], database: str) -> None:
    """Lines of archives, each by itself."""
    from contextlib import nullcontext

    from interlock.cli.printing import bars
    from interlock.engine import archive

    problems: list[str] = []
    instances = rows = 0
    with store_of(database) if database else nullcontext() as store, bars() as progress:
        bar = progress.add_task("verifying", total=None)
        for file in files:
            for part in archive.verify(file, store):
                instances, rows = instances + part.instances, rows + part.rows
                problems += part.problems
                progress.advance(bar)
    _tell(problems, instances, rows)


def _tell(problems: list[str], instances: int, rows: int) -> None:
    for problem in problems[:100]:
        typer.echo(f"BROKEN  {problem}")
    if len(problems) > 100:
        typer.echo(f"… and {len(problems) - 100} more")
    if problems:
        typer.echo(f"{len(problems)} problems in {instances} instances, {rows} history rows")
        raise typer.Exit(1)
    typer.echo(f"whole: {instances} instances, {rows} history rows, every chain and every replay")
