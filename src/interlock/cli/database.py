"""`interlock db`: the database's schema."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from interlock.cli.partitioning import partition
from interlock.console.options import DEFAULT_DATABASE, App, Database, address, parsed, registry_of
from interlock.console.printing import table

if TYPE_CHECKING:
    from interlock.store.migrate import BranchStatus

app = typer.Typer(
    rich_markup_mode=None, help="The database: upgrade its schema, show its version.", no_args_is_help=True
)
app.command("partition")(partition)


@app.command("migrate")
def migrate_(database: Database = DEFAULT_DATABASE, apps: App = None) -> None:
    """Create or upgrade the tables of the core and of every application. Safe to repeat, and while others run."""
    from interlock.store import migrate, open_store

    applications = list(registry_of(apps).applications.values())
    with open_store(address(database, apps), wakeup="poll") as store:
        before = migrate.status(store, applications)
        after = migrate.upgrade(store, applications)
    if before.ready:
        typer.echo(f"nothing to do: the schema is {after.core.current}")
        return
    for old, new in zip(before.branches, after.branches, strict=True):
        if not old.ready:
            whose = "migrated" if new is after.core else f"migrated {new.name}"
            typer.echo(f"{whose}: {old.current or 'empty'} → {new.current}")


@app.command()
def status(database: Database = DEFAULT_DATABASE, apps: App = None) -> None:
    """Show the schema versions of the database and of this code. Exit code 1 if they differ."""
    from interlock.store import StoreError, migrate, open_store
    from interlock.store.database import file_of

    where = address(database, apps)
    file = file_of(parsed(where))
    if file is not None and not file.exists():
        raise StoreError(f"there is no database {file}; run: interlock db migrate")
    with open_store(where, wakeup="poll") as store:
        found = migrate.status(store, registry_of(apps).applications.values())
        others = store.read(migrate.applied) if found.core.ready else {}
    rows = [(one.name, one.current or "empty", one.wanted, _to_do(one)) for one in found.branches]
    loaded = {one.name for one in found.branches}
    rows += [(name, there or "empty", "", "not loaded") for name, there in others.items() if name not in loaded]
    table(("", "database", "code", "to do"), rows)
    raise typer.Exit(0 if found.ready else 1)


def _to_do(one: BranchStatus) -> str:
    if one.unknown:
        return "the database is newer than this code: upgrade " + ("interlock" if one.name == "core" else one.name)
    return f"apply {', '.join(one.pending)}: run: interlock db migrate" if one.pending else ""
