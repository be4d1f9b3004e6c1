"""The command line. Only Typer is imported here: what a command needs, it imports when it runs."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from interlock.cli import (
    alerts,
    audit,
    backup,
    bulk,
    configuration,
    costs,
    database,
    dead_letters,
    doctor,
    erasing,
    exporting,
    halting,
    instances,
    machines,
    new,
    outbox,
    overview,
    retention,
    reviews,
    sample,
    schedules,
    serving,
    tokens,
    users,
    workers,
)
from interlock.cli.applications import Commands
from interlock.console import printing, running


def _version(wanted: bool) -> None:
    if wanted:
        from interlock import __version__

        typer.echo(f"interlock {__version__}")
        raise typer.Exit


app = typer.Typer(
    cls=Commands,
    rich_markup_mode=None,
    help="Interlock: long work that machines do and people approve.",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
)


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_version, is_eager=True)
    ] = False,
    wide: Annotated[
        bool, typer.Option("--wide", help="Cut no table to the terminal's width; also after any command.")
    ] = False,
) -> None:
    """Options of the program itself."""


app.command("up")(serving.up)
app.command("server")(serving.server)
app.command("overview")(overview.overview)
app.add_typer(workers.app, name="worker")
app.add_typer(instances.app, name="instance")
app.add_typer(reviews.app, name="review")
app.add_typer(dead_letters.app, name="dead-letter")
app.add_typer(bulk.app, name="bulk")
app.add_typer(schedules.app, name="schedule")
app.add_typer(outbox.app, name="outbox")
app.add_typer(alerts.app, name="alert")
app.add_typer(halting.app, name="halt")
app.command("costs")(costs.costs)
app.add_typer(users.app, name="user")
app.add_typer(users.workspaces, name="workspace")
app.add_typer(tokens.app, name="token")
app.command("login-link")(users.login_link)
app.add_typer(machines.app, name="machine")
app.add_typer(database.app, name="db")
app.add_typer(audit.app, name="audit")
app.add_typer(retention.app, name="retention")
app.command("erase")(erasing.erase)
app.command("doctor")(doctor.doctor)
app.add_typer(configuration.app, name="config")
app.command("export")(exporting.export)
app.command("backup")(backup.backup)
app.command("restore")(backup.restore)
app.command("sample")(sample.run)
app.command("new")(new.new)


def _take_wide(arguments: list[str]) -> None:
    """`--wide` is for every command, so it may stand anywhere before `--`."""
    end = arguments.index("--") if "--" in arguments else len(arguments)
    if "--wide" in arguments[:end]:
        arguments.remove("--wide")
        printing.cut_nothing()


def main() -> None:
    """Run a command; an error of ours is one clear line and exit code 1."""
    sys.path.append(os.getcwd())  # so that --app finds a module of the present folder
    _take_wide(sys.argv)
    running.follow(sys.argv[1:])
    try:
        app()
    except Exception as error:
        from interlock.machine import InterlockError

        if isinstance(error, OSError) and error.filename is not None:
            said = f"{error.filename} cannot be used: {error.strerror}"
        elif isinstance(error, InterlockError):
            said = str(error)
        else:
            raise
        from interlock.engine import secrets

        print(f"error: {secrets.hide(said)}", file=sys.stderr)
        sys.exit(1)
