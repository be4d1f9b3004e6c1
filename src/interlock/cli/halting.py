"""`interlock halt`: stop claiming work, and go on."""

from __future__ import annotations

from typing import Annotated

import typer

from interlock.cli.users import by
from interlock.console.options import DEFAULT_DATABASE, App, Database, opened
from interlock.console.printing import As, Json, as_json, table, times_shown, when

app = typer.Typer(rich_markup_mode=None, help="Halts: start no work of a machine, or of all.", no_args_is_help=True)
Which = Annotated[str, typer.Argument(help="A machine, or '*' for all of them.")]


@app.command("list")
def list_(in_json: Json = False, database: Database = DEFAULT_DATABASE, apps: App = None) -> None:
    """List halted machines, longest first."""
    from interlock.engine import halting

    with opened(database, apps) as engine:
        found = engine.read(halting.all_halts)
    if in_json:
        as_json([times_shown(one) for one in found])
        return
    table(("machine", "since (UTC)", "by", "reason"), [(h.machine, when(h.at), h.actor, h.reason) for h in found])


@app.command()
def start(
    machine: Which,
    reason: Annotated[str, typer.Option("--reason", help="Why; everybody sees it.")] = "",
    user: As = "",
    database: Database = DEFAULT_DATABASE,
    apps: App = None,
) -> None:
    """Halt a machine: no step starts, running steps finish."""
    from interlock.engine import halting

    with opened(database, apps) as engine:
        done = engine.write(lambda unit: halting.halt(unit, machine, by(user), reason=reason))
    typer.echo(f"{_name(done.machine)} halted since {when(done.at)} UTC; resume with: interlock halt end '{machine}'")


@app.command()
def end(machine: Which, user: As = "", database: Database = DEFAULT_DATABASE, apps: App = None) -> None:
    """Let a machine start work again."""
    from interlock.engine import halting

    with opened(database, apps) as engine:
        halting_ended = engine.write(lambda unit: halting.resume(unit, machine, by(user)))
    typer.echo(f"{_name(halting_ended.machine)} no longer halted")


def _name(machine: str) -> str:
    return "all machines are" if machine == "*" else f"{machine} is"
