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
    machine: Annotated[str | None, typer.Option("--machine", help="Only of this machine.")] = None,
    person: Annotated[str | None, typer.Option("--person", help="Only those assigned to or claimed by them.")] = None,
    unassigned: Annotated[bool, typer.Option("--unassigned", help="Only those that are assigned to nobody.")] = False,
    limit: Annotated[int, typer.Option(min=1, max=500)] = 50,
    in_json: Json = False,
    database: Database = DEFAULT_DATABASE,
    apps: App = None,
) -> None:
    """List open reviews, most urgent first."""
    from interlock.engine import reviews

    with opened(database, apps) as engine:
        only = id_of(engine, "instance", instance) if instance is not None else None
        wanted = reviews.ReviewFilter(instance_id=only, machine=machine, of_person=person, unassigned=unassigned)
        found = engine.read(lambda conn: reviews.waiting(conn, wanted, limit=limit))
    if in_json:
        as_json([asdict(review) for review in found])
        return
    table(
        (
            "id",
            "machine",
            "question",
            "decisions",
            "open since (UTC)",
            "due (UTC)",
            "claimed by",
            "assigned to",
            "snoozed until",
        ),
        [
            (
                str(r.id),
                r.machine,
                r.title,
                ", ".join(r.decisions),
                when(r.opened_at),
                when(r.due_at),
                r.claimed_by or "",
                r.assigned_to or "",
                when(r.snoozed_until),
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


@app.command()
def assign(
    review: Annotated[str, typer.Argument(help="The review's id, or the end of it.")],
    person: Annotated[str, typer.Argument(help="The person's name; nobody to take it from them.")],
    user: As = "",
    database: Database = DEFAULT_DATABASE,
    apps: App = None,
) -> None:
    """Make a person responsible for a review; others may still decide it."""
    from interlock.engine import InvalidData, review_access
    from interlock.machine import USER, Actor
    from interlock.people import Role, accounts

    with opened(database, apps) as engine:
        id = id_of(engine, "review", review)
        name: str | None = None
        if person != "nobody":
            found = engine.reviews.get(id)
            known = engine.read(lambda conn: accounts.find(conn, person))
            role = known.roles.get(found.workspace)
            held = frozenset(one.value for one in Role if role is not None and role.includes(one))
            if known.disabled_at is not None or not review_access.has_role(
                Actor(USER, known.name, roles=held), found.role
            ):
                raise InvalidData(f"{known.name} may not decide review {id}, which is for the role {found.role}")
            name = known.name
        done = engine.reviews.assign(id, name, actor=Actor(USER, user or login()))
    typer.echo(f"assigned to {done.assigned_to or 'nobody'}: {done.title}")


@app.command()
def snooze(
    review: Annotated[str, typer.Argument(help="The review's id, or the end of it.")],
    hours: Annotated[float, typer.Argument(min=0, max=8760, help="For how many hours; 0 ends the snooze.")] = 1,
    user: As = "",
    database: Database = DEFAULT_DATABASE,
    apps: App = None,
) -> None:
    """Put a review to the end of the inbox for some hours; its deadline stays."""
    from interlock.engine import review_queue
    from interlock.machine import USER, Actor
    from interlock.store import SECOND

    actor = Actor(USER, user or login())
    with opened(database, apps) as engine:
        id = id_of(engine, "review", review)
        done = engine.write(
            lambda unit: (
                review_queue.snooze(unit, id, unit.now + int(hours * 3600 * SECOND), actor)
                if hours
                else review_queue.wake(unit, id, actor)
            ),
            name="review",
        )
    typer.echo(f"snoozed until {when(done.snoozed_until)} UTC: {done.title}" if hours else f"awake: {done.title}")
