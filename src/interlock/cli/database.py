"""`interlock db`: the database's schema."""

from __future__ import annotations

import typer

from interlock.cli.partitioning import partition
from interlock.console.options import DEFAULT_DATABASE, Database, address, parsed

app = typer.Typer(
    rich_markup_mode=None, help="The database: bring its schema up to date, see how it stands.", no_args_is_help=True
)
app.command("partition")(partition)


@app.command("migrate")
def migrate_(database: Database = DEFAULT_DATABASE) -> None:
    """Create or upgrade the tables; safe to run again, and while others run."""
    from interlock.store import migrate, open_store

    with open_store(address(database), wakeup="poll") as store:
        before = migrate.status(store)
        after = migrate.upgrade(store)
    if before.ready:
        typer.echo(f"nothing to do: the schema is {after.current}")
    else:
        typer.echo(f"migrated: {before.current or 'empty'} → {after.current}")


@app.command()
def status(database: Database = DEFAULT_DATABASE) -> None:
    """Show the schema of the database and of this code; exit code 1 when they differ."""
    from interlock.store import StoreError, migrate, open_store
    from interlock.store.database import file_of

    where = address(database)
    file = file_of(parsed(where))
    if file is not None and not file.exists():
        raise StoreError(f"there is no database {file}; run: interlock db migrate")
    with open_store(where, wakeup="poll") as store:
        found = migrate.status(store)
    typer.echo(f"database  {found.current or 'empty'}\ncode      {found.wanted}")
    if found.unknown:
        typer.echo("the database is newer than this code: upgrade interlock")
    elif found.pending:
        typer.echo(f"to apply  {', '.join(found.pending)}: run: interlock db migrate")
    raise typer.Exit(0 if found.ready else 1)
