"""`interlock review`: list, show, claim, assign, snooze and decide reviews."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from interlock.console.options import DEFAULT_DATABASE, App, Database, check_state, id_of, json_object, opened
from interlock.console.printing import As, Json, as_json, clean, login, table, when

if TYPE_CHECKING:
    from interlock.engine import OpenReview

app = typer.Typer(rich_markup_mode=None, help="Reviews: list open ones, show one, claim, decide.", no_args_is_help=True)
Which = Annotated[str, typer.Argument(help="The review's id, or the end of it.")]


@app.command("list")
def list_(
    instance: Annotated[str | None, typer.Option("--instance", help="Only of this instance.")] = None,
    machine: Annotated[str | None, typer.Option("--machine", help="Only of this machine.")] = None,
    person: Annotated[str | None, typer.Option("--person", help="Only those assigned to or claimed by them.")] = None,
    unassigned: Annotated[bool, typer.Option("--unassigned", help="Only those that are assigned to nobody.")] = False,
    limit: Annotated[int, typer.Option(min=1, max=500, help="At most so many.")] = 50,
    in_json: Json = False,
    database: Database = DEFAULT_DATABASE,
    apps: App = None,
) -> None:
    """List open reviews, most urgent first."""
    from interlock.dashboard.names import plain_names
    from interlock.engine import reviews

    with opened(database, apps) as engine:
        only = id_of(engine, "instance", instance) if instance is not None else None
        wanted = reviews.ReviewFilter(instance_id=only, machine=machine, of_person=person, unassigned=unassigned)
        found = engine.read(lambda conn: reviews.waiting(conn, wanted, limit=limit))
        about = engine.read(lambda conn: plain_names(conn, [one.instance_id for one in found]))
        if machine is not None and not found:
            check_state(engine, machine)
    if in_json:
        as_json([asdict(review) for review in found])
        return
    table(
        (
            "id",
            "machine",
            "about",
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
                about.get(r.instance_id, ""),
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
def show(review: Which, in_json: Json = False, database: Database = DEFAULT_DATABASE, apps: App = None) -> None:
    """Show what is asked, on which evidence, what can be decided, and what happens without a decision."""
    from interlock.engine import secrets

    with opened(database, apps) as engine:
        found = engine.reviews.get(id_of(engine, "review", review))
        why = engine.explain(found.instance_id)
    if in_json:
        as_json({**asdict(found), "evidence": secrets.shown(found.evidence), "explanation": why.sentence})
        return
    typer.echo(
        f"{clean(found.title)}\nreview {found.id} of {found.machine} {found.instance_id}\n{clean(why.sentence)}\n"
    )
    for name, value in _lines(found):
        typer.echo(f"{name:<12}{clean(value)}")
    for name, value in secrets.shown(found.evidence).items():
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        typer.echo(f"\n{clean(name)}:")
        for line in text.splitlines():
            typer.echo(f"  {clean(line)}")


def _lines(found: OpenReview) -> Iterator[tuple[str, str]]:
    """What is known of a review, without what is empty."""
    if found.status == "open":
        yield "decisions", ", ".join(found.decisions)
    elif found.decision is None:
        yield "closed", found.closed_reason or found.status
    else:
        yield "decided", f"{found.decision} by {found.decided_by} at {when(found.decided_at)} UTC"
    if found.form:
        required = found.form.get("required", ())
        names = [f"{name}{'' if name in required else ' (optional)'}" for name in found.form.get("properties", {})]
        yield "form", f"{', '.join(names)}; fill it in with --answer '{{…}}'"
    yield "role", f"{found.role} or above"
    yield "open since", f"{when(found.opened_at)} UTC"
    if found.due_at is not None:
        yield "due", f"{when(found.due_at)} UTC" + (f", then {found.default}" if found.default else "")
    if found.claimed_by:
        yield "claimed by", f"{found.claimed_by} until {when(found.claimed_until)} UTC"
    if found.assigned_to:
        yield "assigned to", found.assigned_to
    if found.snoozed_until is not None:
        yield "snoozed", f"until {when(found.snoozed_until)} UTC"


@app.command()
def claim(review: Which, user: As = "", database: Database = DEFAULT_DATABASE, apps: App = None) -> None:
    """Keep a review for yourself for half an hour, so that nobody else decides it meanwhile."""
    from interlock.machine import USER, Actor

    with opened(database, apps) as engine:
        done = engine.reviews.claim(id_of(engine, "review", review), actor=Actor(USER, user or login()))
    typer.echo(f"claimed by {done.claimed_by} until {when(done.claimed_until)} UTC: {done.title}")


@app.command()
def release(review: Which, user: As = "", database: Database = DEFAULT_DATABASE, apps: App = None) -> None:
    """Give a review back that you claimed."""
    from interlock.engine import reviews
    from interlock.machine import USER, Actor

    with opened(database, apps) as engine:
        id = id_of(engine, "review", review)
        done = engine.write(lambda unit: reviews.release(unit, id, Actor(USER, user or login())), name="review")
    typer.echo(f"released: {done.title}")


@app.command()
def decide(
    review: Which,
    decision: Annotated[str, typer.Argument(help="One of its decisions.")],
    answer: Annotated[str | None, typer.Option(help="The filled-in form, as a JSON object.")] = None,
    reason: Annotated[str, typer.Option("--reason", help="Why; the history keeps it.")] = "",
    user: As = "",
    in_json: Json = False,
    database: Database = DEFAULT_DATABASE,
    apps: App = None,
) -> None:
    """Decide a review as a person; the first decision counts."""
    from interlock.machine import USER, Actor

    given = json_object(answer, "--answer") if answer else None
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
    review: Which,
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
    review: Which,
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
