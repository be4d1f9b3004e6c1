"""`interlock review`: list and decide open reviews."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Annotated

import typer

from interlock.console.options import DEFAULT_DATABASE, App, Database, id_of, opened
from interlock.console.printing import As, Json, as_json, login, table, when

app = typer.Typer(rich_markup_mode=None, help="Reviews: list open ones, decide.", no_args_is_help=True)


@app.command("list")
def list_(
    instance: Annotated[str | None, typer.Option("--instance", help="Only of this instance.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=500)] = 50,
    in_json: Json = False,
    database: Database = DEFAULT_DATABASE,
    apps: App = None,
) -> None:
    """List open reviews, most urgent first."""
    with opened(database, apps) as engine:
        only = id_of(engine, "instance", instance) if instance is not None else None
        found = engine.reviews.waiting(instance_id=only, limit=limit)
    if in_json:
        as_json([asdict(review) for review in found])
        return
    table(
        ("id", "machine", "question", "decisions", "open since (UTC)", "due (UTC)", "held by"),
        [
            (
                str(r.id),
                r.machine,
                r.title,
                ", ".join(r.decisions),
                when(r.opened_at),
                when(r.due_at),
                r.claimed_by or "",
            )
            for r in found
        ],
    )


@app.command()
def decide(
    review: Annotated[str, typer.Argument(help="The review's id, or the end of it.")],
    decision: Annotated[str, typer.Argument(help="One of its decisions.")],
    answer: Annotated[str | None, typer.Option(help="The filled-in form, as a JSON object.")] = None,
    reason: Annotated[str, typer.Option("--reason", help="Why; the history keeps it.")] = "",
    user: As = "",
    in_json: Json = False,
    database: Database = DEFAULT_DATABASE,
    apps: App = None,
) -> None:
    """Decide a review as a person; the first decision counts."""
    from interlock.engine import InvalidData
    from interlock.machine import USER, Actor

    try:
        given = json.loads(answer) if answer else None
    except ValueError as error:
        raise InvalidData(f"--answer is not JSON: {error}") from error
    with opened(database, apps) as engine:
        id = id_of(engine, "review", review)
        done = engine.reviews.decide(id, decision, actor=Actor(USER, user or login()), answer=given, reason=reason)
        moved = engine.get(done.instance_id)
    if in_json:
        as_json(asdict(done))
    else:
        typer.echo(f"decided: {done.decision} by {done.decided_by}; {moved.machine} {moved.id} is in {moved.state}")
