"""`interlock schedule`: instances that the clock starts."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from interlock.cli.users import by, require_workspace
from interlock.console.options import DEFAULT_DATABASE, App, Database, json_object, opened
from interlock.console.printing import As, Json, as_json, table, times_shown, when

if TYPE_CHECKING:
    from interlock.engine.schedules import Schedule
    from interlock.engine.unit import Unit
    from interlock.machine import Actor

app = typer.Typer(rich_markup_mode=None, help="Schedules: list, set, pause, resume, run, remove.", no_args_is_help=True)
Name = Annotated[str, typer.Argument(help="The schedule's name.")]
Where = Annotated[str, typer.Option("--workspace", help="The schedule's workspace.")]


@app.command("list")
def list_(in_json: Json = False, database: Database = DEFAULT_DATABASE, apps: App = None) -> None:
    """List schedules with their next and last run."""
    from interlock.engine import schedules

    with opened(database, apps) as engine:
        found = engine.read(schedules.all_schedules)
    if in_json:
        as_json([times_shown(one) for one in found])
        return
    table(
        ("workspace", "name", "machine", "cron", "zone", "next (UTC)", "last (UTC)", "runs", "problem"),
        [
            (
                s.workspace,
                s.name,
                s.machine,
                s.cron,
                s.zone,
                "paused" if s.paused_at is not None else when(s.next_at),
                when(s.last_at),
                str(s.runs),
                (s.last_error or "")[:60],
            )
            for s in found
        ],
    )


@app.command("set")
def set_(
    name: Name,
    machine: Annotated[str, typer.Argument(help="The machine to start an instance of.")],
    cron: Annotated[str, typer.Argument(help="When, as five fields: '30 2 * * *'.")],
    zone: Annotated[str, typer.Option(help="The time zone of the fields.")] = "UTC",
    data: Annotated[str, typer.Option(help="The instance's data, as a JSON object.")] = "{}",
    overlap: Annotated[str, typer.Option(help="allow, or skip: not while the last run is unfinished.")] = "allow",
    missed: Annotated[str, typer.Option(help="What to do with missed runs: once, all or skip.")] = "once",
    workspace: Where = "default",
    user: As = "",
    in_json: Json = False,
    database: Database = DEFAULT_DATABASE,
    apps: App = None,
) -> None:
    """Create a schedule, or replace the one of this name."""
    from interlock.engine import schedules

    given = json_object(data, "--data")
    spec = schedules.ScheduleSpec(
        name=name,
        machine=machine,
        cron=cron,
        zone=zone,
        data=given,
        workspace=workspace,
        overlap=overlap,
        missed=missed,
    )

    def put(unit: Unit, actor: Actor) -> Schedule:
        require_workspace(unit.conn, workspace)
        return schedules.put(unit, spec, actor)

    _changed(put, user, in_json, database, apps)


@app.command()
def pause(
    name: Name,
    workspace: Where = "default",
    user: As = "",
    in_json: Json = False,
    database: Database = DEFAULT_DATABASE,
    apps: App = None,
) -> None:
    """Pause a schedule: it starts nothing until it is resumed."""
    from interlock.engine import schedules

    _changed(lambda unit, actor: schedules.pause(unit, workspace, name, actor), user, in_json, database, apps)


@app.command()
def resume(
    name: Name,
    workspace: Where = "default",
    user: As = "",
    in_json: Json = False,
    database: Database = DEFAULT_DATABASE,
    apps: App = None,
) -> None:
    """Resume a schedule. Runs during the pause do not count as missed."""
    from interlock.engine import schedules

    _changed(lambda unit, actor: schedules.resume(unit, workspace, name, actor), user, in_json, database, apps)


@app.command()
def run(
    name: Name,
    workspace: Where = "default",
    user: As = "",
    database: Database = DEFAULT_DATABASE,
    apps: App = None,
) -> None:
    """Run a schedule now, besides its calendar; prints the id of the instance."""
    from interlock.engine import schedules

    with opened(database, apps) as engine:
        made = engine.write(lambda unit: schedules.run_now(unit, workspace, name, by(user)))
    typer.echo(str(made.id))


@app.command()
def remove(
    name: Name,
    workspace: Where = "default",
    user: As = "",
    database: Database = DEFAULT_DATABASE,
    apps: App = None,
) -> None:
    """Remove a schedule. Instances that it started continue."""
    from interlock.engine import schedules

    with opened(database, apps) as engine:
        engine.write(lambda unit: schedules.remove(unit, workspace, name, by(user)))
    typer.echo(f"schedule {name} of {workspace} is removed")


def _changed(
    change: Callable[[Unit, Actor], Schedule], user: str, in_json: bool, database: str, apps: list[str] | None
) -> None:
    with opened(database, apps) as engine:
        made: Any = engine.write(lambda unit: change(unit, by(user)))
    if in_json:
        as_json(times_shown(made))
    else:
        state = "is paused" if made.paused_at is not None else f"runs next at {when(made.next_at)} UTC"
        typer.echo(f"schedule {made.name} of {made.workspace} {state}")
