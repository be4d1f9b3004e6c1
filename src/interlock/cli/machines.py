"""`interlock machine`: the life cycles, printed and drawn."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from interlock.cli.migrating import migrate
from interlock.console.options import DEFAULT_DATABASE, App, Database, address, registry_of

app = typer.Typer(
    rich_markup_mode=None, help="The machines: list them, show one, migrate its instances.", no_args_is_help=True
)
app.command("migrate")(migrate)


class Format(StrEnum):
    TABLE = "table"
    MERMAID = "mermaid"
    JSON = "json"


@app.command("list")
def list_(apps: App = None) -> None:
    """List every machine with the number of its states and transitions."""
    from rich.console import Console
    from rich.table import Table

    table = Table("machine", "starts in", "states", "transitions", "ends in")
    for machine in registry_of(apps):
        ends = [s.name for s in machine.states.values() if s.kind == "final"]
        table.add_row(machine.name, machine.initial, str(len(machine.states)), str(len(machine.edges)), ", ".join(ends))
    Console().print(table)


@app.command()
def show(
    name: str,
    format: Annotated[Format, typer.Option("--format", help="How to print it.")] = Format.TABLE,
    database: Database = DEFAULT_DATABASE,
    apps: App = None,
) -> None:
    """Show one machine as a table, as a Mermaid diagram, or as JSON."""
    import json

    from interlock.machine import as_json, as_mermaid, as_table

    machine = registry_of(apps)[name]
    if format is Format.MERMAID:
        typer.echo(as_mermaid(machine), nl=False)
    elif format is Format.JSON:
        typer.echo(json.dumps(as_json(machine, _version(database, apps, machine.name, machine.digest())), indent=2))
    else:
        typer.echo(as_table(machine, _version(database, apps, machine.name, machine.digest())), nl=False)


def _version(database: str, apps: list[str] | None, name: str, digest: str) -> int:
    """The version of this life cycle in the database; 1 without a database."""
    import sqlalchemy as sa

    from interlock.store import migrate, open_store
    from interlock.store.database import file_of

    where = address(database, apps)
    file = file_of(sa.make_url(where))
    if file is not None and not file.exists():
        return 1
    from interlock.store.tables import definition

    with open_store(where, wakeup="poll") as store:
        if not migrate.status(store).core.ready:
            return 1
        rows = store.read(
            lambda conn: conn.execute(
                sa.select(definition.c.version, definition.c.digest).where(definition.c.machine == name)
            ).all()
        )
    known: dict[str, int] = {row.digest: row.version for row in rows}
    return known.get(digest, 1 + max(known.values(), default=0))
