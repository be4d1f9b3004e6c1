"""`interlock audit`: verify the history, and sign checkpoints of it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from uuid import UUID

import typer

from interlock.console.options import DEFAULT_DATABASE, App, Config, Database, audit_settings, opened, store_of
from interlock.console.printing import Json, as_json, counted, table, times_shown, verified, when

if TYPE_CHECKING:
    from interlock.config import Settings
    from interlock.engine import Verdict
    from interlock.engine.audit.checkpoints import Checkpoint

app = typer.Typer(rich_markup_mode=None, help="The audit: verify the history, list actions.", no_args_is_help=True)


@app.command()
def verify(
    instance: Annotated[UUID | None, typer.Option("--instance", help="Only this instance.")] = None,
    files: Annotated[
        list[Path] | None,
        typer.Option("--file", help="Verify an archive instead; with --database, compare it with the database."),
    ] = None,
    against: Annotated[
        str,
        typer.Option("--against", help="A checkpoint kept elsewhere, or a file of them.", show_default="audit.file"),
    ] = "",
    database: Database = DEFAULT_DATABASE,
    config: Config = None,
) -> None:
    """Verify every hash chain, replay every history, compare every checkpoint. Exit code 1 if something is wrong."""
    if files:
        _files(files, database)
        return
    import sqlalchemy as sa
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    from interlock.engine import Verdict
    from interlock.engine.audit import checkpoint_verification, checkpoints, signing, verifying
    from interlock.store import migrate, tables

    settings = audit_settings(database, config)
    kept = _kept(settings, against) if instance is None else []
    found = Verdict()
    with store_of(database or settings.database_url) as store:
        migrate.require(store)
        total = 1
        if instance is None:
            total = store.read(
                lambda conn: conn.execute(sa.select(sa.func.count()).select_from(tables.instance)).scalar_one()
            )
        columns = (TextColumn("verifying"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
            bar = progress.add_task("", total=total)
            for part in verifying.verify(store, instance):
                found += part
                progress.advance(bar, part.instances)
            if instance is None:
                last = store.read(checkpoints.last)
                bar = progress.add_task("", total=last.no if last else 0)
                for part in checkpoint_verification.verify(store, signing.find(settings), kept):
                    found += part
                    progress.advance(bar)
    _report(found, against=max(kept, key=lambda one: one.no, default=None))


def _kept(settings: Settings, against: str) -> list[Checkpoint]:
    """The named checkpoints, or all of the configured file."""
    from interlock.engine.audit import checkpoints

    if against:
        return checkpoints.from_argument(against)
    file = settings.audit.file
    return checkpoints.from_argument(str(file)) if file is not None and file.exists() else []


@app.command()
def actions(
    actor: Annotated[str | None, typer.Option(help="Only by this person or token.")] = None,
    what: Annotated[str | None, typer.Option(help="Only this action, as the list names it.")] = None,
    workspace: Annotated[str | None, typer.Option("--workspace", help="Only of this workspace.")] = None,
    since: Annotated[
        datetime | None, typer.Option("--from", formats=["%Y-%m-%d"], help="From this day on (UTC).")
    ] = None,
    until: Annotated[datetime | None, typer.Option("--to", formats=["%Y-%m-%d"], help="Up to this day (UTC).")] = None,
    after: Annotated[UUID | None, typer.Option(help="The cursor of the previous page.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=500, help="At most so many.")] = 50,
    in_json: Json = False,
    database: Database = DEFAULT_DATABASE,
    apps: App = None,
) -> None:
    """List what people and tokens did outside of histories: logins, roles, tokens, schedules, bulk actions."""
    from interlock.engine import secrets
    from interlock.people import actions as log
    from interlock.store import micros

    first = micros(since.replace(tzinfo=UTC)) if since is not None else None
    end = micros(until.replace(tzinfo=UTC) + timedelta(days=1)) if until is not None else None
    with opened(database, apps) as engine:
        found = engine.read(
            lambda conn: log.page(
                conn, actor=actor, what=what, workspace=workspace, since=first, until=end, after=after, limit=limit
            )
        )
    if in_json:
        as_json({"actions": [times_shown(one) for one in found.actions], "next": found.next})
        return
    table(
        ("at (UTC)", "who", "what", "target", "workspace", "details"),
        [
            (when(a.at), a.actor, a.what, a.target, a.workspace or "", _details(secrets.shown(a.details)))
            for a in found.actions
        ],
    )
    if found.next is not None:
        typer.echo(f"continue with --after {found.next}")


def _details(details: dict[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in details.items() if value not in (None, "", [], {}))


@app.command()
def checkpoint(
    new_key: Annotated[
        bool, typer.Option("--new-key", help="The old key is lost: sign with the present one from now on.")
    ] = False,
    database: Database = DEFAULT_DATABASE,
    config: Config = None,
) -> None:
    """Sign the history as it is now, and print the checkpoint. Workers do the same every ten minutes."""
    from interlock.engine.audit import checkpoints

    settings = audit_settings(database, config)
    with opened(database or settings.database_url, None, config) as engine:
        before = engine.read(checkpoints.last)
        made = engine.checkpoint(new_key=new_key, kept=checkpoints.last_in_file(settings.audit.file))
    if made is None:
        typer.echo("there is nothing to sign: the database has no history")
        return
    if settings.audit.file is not None and made != before:
        checkpoints.keep(settings.audit.file, [made])
    typer.echo(str(made))


@app.command()
def key(database: Database = DEFAULT_DATABASE, config: Config = None) -> None:
    """Create the audit key if there is none, readable only by you; print where it is, never the key."""
    from interlock.engine.audit import signing

    settings = audit_settings(database, config)
    if settings.audit.key is not None:
        found = signing.find(settings)
        typer.echo(f"the audit key {found.id if found else ''} is given as a setting (audit.key)")
        return
    file = signing.place(settings)
    new = not file.exists()
    if new:
        signing.make(settings)
    known = signing.find(settings)
    assert known is not None, "it was just made"
    typer.echo(f"{'made' if new else 'there is'} the audit key {known.id} in {file}")
    if new:
        typer.echo("give the same file to every process of this database, and keep a copy away from the database")


def _files(files: list[Path], database: str) -> None:
    """Verify the lines of archives, one by one."""
    from contextlib import nullcontext

    from interlock.console.printing import bars
    from interlock.engine import Verdict
    from interlock.engine.retention import archive

    found = Verdict()
    with store_of(database) if database else nullcontext() as store, bars() as progress:
        bar = progress.add_task("verifying", total=None)
        for file in files:
            for part in archive.verify(file, store):
                found += part
                progress.advance(bar)
    _report(found)


def _report(found: Verdict, *, against: Checkpoint | None = None) -> None:
    for problem in found.problems[:100]:
        typer.echo(f"BROKEN  {problem}")
    if len(found.problems) > 100:
        typer.echo(f"… and {len(found.problems) - 100} more")
    if found.problems:
        size = f"{counted(found.instances, 'instance')}, {counted(found.rows, 'history row')}"
        typer.echo(f"{counted(len(found.problems), 'problem')} in {size}")
    else:
        known = f"; everything that checkpoint {against.no} signed is there" if against else ""
        typer.echo(f"{verified(found.instances, found.rows)}{known}")
    for note in found.notes:
        typer.echo(f"note: {note}")
    if found.problems:
        raise typer.Exit(1)
