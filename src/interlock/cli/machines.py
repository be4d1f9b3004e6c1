"""`interlock machine`: the life cycles, printed and drawn."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from interlock.cli.migrating import migrate
from interlock.console.options import DEFAULT_DATABASE, App, Database, address, parsed, registry_here
from interlock.console.printing import Json, as_json, table

app = typer.Typer(
    rich_markup_mode=None, help="The machines: list them, show one, migrate its instances.", no_args_is_help=True
)
app.command("migrate")(migrate)


class Format(StrEnum):
    TABLE = "table"
    MERMAID = "mermaid"
    JSON = "json"


@app.command("list")
def list_(in_json: Json = False, database: Database = DEFAULT_DATABASE, apps: App = None) -> None:
    """List every machine with the number of its states and transitions."""
    registry = registry_here(database, apps)
    ends = {machine.name: [s.name for s in machine.states.values() if s.kind == "final"] for machine in registry}
    if in_json:
        as_json(
            [
                {
                    "name": machine.name,
                    "initial": machine.initial,
                    "states": len(machine.states),
                    "transitions": len(machine.edges),
                    "final": ends[machine.name],
                }
                for machine in registry
            ]
        )
        return
    table(
        ("machine", "starts in", "states", "transitions", "ends in"),
        [(m.name, m.initial, str(len(m.states)), str(len(m.edges)), ", ".join(ends[m.name])) for m in registry],
    )


@app.command()
def show(
    name: Annotated[str, typer.Argument(help="The machine's name.")],
    format: Annotated[Format, typer.Option("--format", help="How to print it.")] = Format.TABLE,
    database: Database = DEFAULT_DATABASE,
    apps: App = None,
) -> None:
    """Show one machine as a table, as a Mermaid diagram, or as JSON."""
    from interlock.machine import as_json as spec_of
    from interlock.machine import as_mermaid, as_table

    machine = registry_here(database, apps)[name]
    if format is Format.MERMAID:
        typer.echo(as_mermaid(machine), nl=False)
    elif format is Format.JSON:
        as_json(spec_of(machine, _version(database, apps, machine.name, machine.digest())))
    else:
        typer.echo(as_table(machine, _version(database, apps, machine.name, machine.digest())), nl=False)


def _version(database: str, apps: list[str] | None, name: str, digest: str) -> int:
    """The version of this life cycle in the database; 1 without a database."""
    import sqlalchemy as sa

    from interlock.store import migrate, open_store
    from interlock.store.database import file_of

    where = address(database, apps)
    file = file_of(parsed(where))
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
