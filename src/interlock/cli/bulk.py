"""`interlock bulk`: one action for many instances or dead letters."""

from __future__ import annotations

import json
import sys
from typing import Annotated, Any

import typer

from interlock.cli.users import by
from interlock.console.options import DEFAULT_DATABASE, App, Database, id_of, opened
from interlock.console.printing import As, Json, as_json, bars, table, times_shown, when

app = typer.Typer(rich_markup_mode=None, help="Bulk actions: run one, list, stop.", no_args_is_help=True)


@app.command()
def run(
    action: Annotated[
        str,
        typer.Argument(
            help="For instances: pause, resume, cancel, fire, retry; for dead letters: retry, resolve, discard."
        ),
    ],
    filters: Annotated[
        list[str],
        typer.Option("--filter", help="Which, as name=value: machine=parcel, state=weighing, error=Timeout, …"),
    ],
    dead_letters: Annotated[bool, typer.Option("--dead-letters", help="Dead letters instead of instances.")] = False,
    event: Annotated[str | None, typer.Option(help="The event, for the action fire.")] = None,
    reason: Annotated[str, typer.Option("--reason", help="Why; the history keeps it.")] = "",
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    user: As = "",
    in_json: Json = False,
    database: Database = DEFAULT_DATABASE,
    apps: App = None,
) -> None:
    """Show how many match, ask, and run the action with them. Exit code 1 if some were refused."""
    from interlock.engine import InvalidData, bulk

    target, chosen = "dead_letters" if dead_letters else "instances", dict(map(_pair, filters))
    arguments: dict[str, Any] = {} if event is None else {"event": event}
    with opened(database, apps) as engine:
        now = engine.clock.now()
        seen = engine.read(lambda conn: bulk.preview(conn, now, target, action, chosen, arguments=arguments))
        many = f"{'' if seen.count.exact else 'at least '}{seen.count.n:,}"
        if not yes:
            typer.echo(f"{many} match, such as {', '.join(map(str, seen.sample)) or 'none'}", err=True)
            if not sys.stdin.isatty():
                raise InvalidData(
                    "nothing was done: there is no terminal to ask; look at what matches, then give --yes"
                )
            if not typer.confirm(f"{action} them?", err=True):
                raise typer.Exit(1)
        actor = by(user)
        begun = engine.write(
            lambda unit: bulk.start(unit, target, action, chosen, actor, reason=reason, arguments=arguments)
        )
        with bars(in_json) as progress:
            bar = progress.add_task(action, total=begun.total)
            while (found := engine.read(lambda conn: bulk.get(conn, begun.id))).status == "running":
                progress.update(bar, completed=found.done + found.refused)
                engine.bulk.step(bulk.BATCH)  # beside workers, which take batches as well
    if in_json:
        as_json(times_shown(found))
    else:
        typer.echo(f"{found.status}: {found.done:,} done, {found.refused:,} refused")
        for problem in found.problems:
            typer.echo(f"  {problem.count:,} times: {problem.problem}, such as {problem.example}")
    if found.refused or found.status != "done":
        raise typer.Exit(1)


def _pair(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not equals or not name.strip() or not value.strip():  # an empty one would match everything
        raise typer.BadParameter(f"{text!r} is not a filter; write it as --filter name=value")
    try:
        return name.strip(), json.loads(value) if value in {"true", "false"} or value[0] in '["' else value
    except ValueError as error:
        raise typer.BadParameter(f"the value of {text!r} is not JSON: {error}") from error


@app.command("list")
def list_(
    limit: Annotated[int, typer.Option(min=1, max=500, help="At most so many.")] = 50,
    in_json: Json = False,
    database: Database = DEFAULT_DATABASE,
    apps: App = None,
) -> None:
    """List bulk actions, newest first, with their progress."""
    from interlock.engine import bulk

    with opened(database, apps) as engine:
        found = engine.read(lambda conn: bulk.page(conn, limit=limit)).bulks
    if in_json:
        as_json([times_shown(one) for one in found])
        return
    table(
        ("id", "action", "of", "status", "done", "refused", "by", "started (UTC)"),
        [
            (str(b.id), b.action, b.target, b.status, f"{b.done:,}", f"{b.refused:,}", b.actor, when(b.created_at))
            for b in found
        ],
    )


@app.command()
def stop(
    bulk_action: Annotated[str, typer.Argument(help="The action's id, or the end of it.")],
    user: As = "",
    database: Database = DEFAULT_DATABASE,
    apps: App = None,
) -> None:
    """Stop a bulk action; finished items stay finished."""
    from interlock.engine import bulk

    with opened(database, apps) as engine:
        id = id_of(engine, "bulk action", bulk_action)
        done = engine.write(lambda unit: bulk.stop(unit, id, by(user)))
    typer.echo(f"{done.action} is {done.status} after {done.done:,}")
