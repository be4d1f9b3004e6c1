"""`interlock dead-letter`: work that failed for good."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from interlock.console.options import DEFAULT_DATABASE, App, Database, check_state, id_of, opened
from interlock.console.printing import As, Json, as_json, clean, login, table, when

if TYPE_CHECKING:
    from interlock.engine import Filter

app = typer.Typer(
    rich_markup_mode=None, help="Dead letters: list, show, retry, resolve, discard.", no_args_is_help=True
)
MachineName = Annotated[str | None, typer.Option("--machine", help="Only of this machine.")]
Fingerprint = Annotated[str | None, typer.Option("--fingerprint", help="Only with this fingerprint of the error.")]
ErrorType = Annotated[str | None, typer.Option("--error", help="Only with this type of error.")]
One = Annotated[
    str | None, typer.Argument(help="One dead letter, by its id or the end of it; or select many with the options.")
]
Note = Annotated[str, typer.Option("--note", help="Why; it is kept.")]


def _filter(machine: str | None, fingerprint: str | None, error: str | None) -> Filter:
    from interlock.engine import Filter

    return Filter(machine=machine, fingerprint=fingerprint, error_type=error)


@app.command("list")
def list_(
    machine: MachineName = None,
    fingerprint: Fingerprint = None,
    error: ErrorType = None,
    limit: Annotated[int, typer.Option(min=1, max=500, help="At most so many.")] = 50,
    in_json: Json = False,
    database: Database = DEFAULT_DATABASE,
    apps: App = None,
) -> None:
    """List open dead letters, newest first."""
    with opened(database, apps) as engine:
        found = engine.dead_letters.find(_filter(machine, fingerprint, error), limit=limit)
        if machine is not None and not found:
            check_state(engine, machine)
    if in_json:
        as_json([asdict(letter) for letter in found])
        return
    table(
        ("id", "machine", "step", "error", "attempts", "since (UTC)", "fingerprint"),
        [
            (
                str(d.id),
                d.machine,
                d.step,
                f"{d.error_type}: {d.error['message']}"[:60],
                str(d.attempts),
                when(d.at),
                d.fingerprint,
            )
            for d in found
        ],
    )


@app.command()
def show(
    letter: Annotated[str, typer.Argument(help="The dead letter's id, or the end of it.")],
    in_json: Json = False,
    database: Database = DEFAULT_DATABASE,
    apps: App = None,
) -> None:
    """Show a dead letter: its error, where it was raised, and the data of its step."""
    from interlock.engine import secrets

    with opened(database, apps) as engine:
        found = engine.dead_letters.get(id_of(engine, "dead letter", letter))
    if in_json:
        as_json({**asdict(found), "error": secrets.shown(found.error), "data": secrets.shown(found.data)})
        return
    error = secrets.shown(found.error)
    typer.echo(f"{clean(found.error_type)}: {clean(str(error.get('message', '')))}")
    for place in error.get("where") or ():
        typer.echo(f"  at {clean(str(place))}")
    typer.echo(f"\nstep      {found.step} of {found.machine} {found.instance_id}, after {found.attempts} attempts")
    closed = f" by {found.closed_by} at {when(found.closed_at)} UTC" if found.closed_at is not None else ""
    typer.echo(f"status    {found.status}{closed}, since {when(found.at)} UTC")
    if found.note:
        typer.echo(f"note      {clean(found.note)}")
    typer.echo(f"data      {json.dumps(secrets.shown(found.data), ensure_ascii=False)}")


@app.command()
def retry(
    letter: One = None,
    machine: MachineName = None,
    fingerprint: Fingerprint = None,
    error: ErrorType = None,
    note: Note = "",
    user: As = "",
    database: Database = DEFAULT_DATABASE,
    apps: App = None,
) -> None:
    """Retry the failed step, of one or of all that match."""
    _act("retry", letter, _filter(machine, fingerprint, error), note, user, database, apps)


@app.command()
def resolve(
    letter: One = None,
    machine: MachineName = None,
    fingerprint: Fingerprint = None,
    error: ErrorType = None,
    note: Note = "",
    user: As = "",
    database: Database = DEFAULT_DATABASE,
    apps: App = None,
) -> None:
    """Close what was fixed elsewhere, one or all that match."""
    _act("resolve", letter, _filter(machine, fingerprint, error), note, user, database, apps)


@app.command()
def discard(
    letter: One = None,
    machine: MachineName = None,
    fingerprint: Fingerprint = None,
    error: ErrorType = None,
    note: Note = "",
    user: As = "",
    database: Database = DEFAULT_DATABASE,
    apps: App = None,
) -> None:
    """Close what nobody needs, one or all that match."""
    _act("discard", letter, _filter(machine, fingerprint, error), note, user, database, apps)


def _act(
    action: str, letter: str | None, where: Filter, note: str, user: str, database: str, apps: list[str] | None
) -> None:
    from rich.console import Console

    from interlock.machine import USER, Actor

    actor = Actor(USER, user or login())
    with opened(database, apps) as engine:
        if letter is not None:
            box: Any = engine.dead_letters
            given = {"reason": note} if action == "retry" else {"note": note}
            getattr(box, action)(id_of(engine, "dead letter", letter), actor=actor, **given)
            done = 1
        else:
            done = 0
            with Console(stderr=True).status("working") as status:
                while some := engine.dead_letters.many(action, where, actor=actor, note=note):
                    done += len(some)
                    status.update(f"{done} done")
    typer.echo(f"{done} {'retried' if action == 'retry' else action + 'd' if action == 'resolve' else 'discarded'}")
