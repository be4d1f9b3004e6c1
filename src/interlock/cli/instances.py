"""`interlock instance`: look at instances, and move them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any
from uuid import UUID

import typer

from interlock.cli import instance_parts
from interlock.cli.users import by, require_workspace
from interlock.console.options import DEFAULT_DATABASE, App, Database, check_state, id_of, json_object, opened
from interlock.console.printing import As, Json, as_json, described, login, table, when

if TYPE_CHECKING:
    from interlock.engine import HistoryRow

app = typer.Typer(rich_markup_mode=None, help="Instances: list, show, explain, move.", no_args_is_help=True)
Id = Annotated[str, typer.Argument(help="The instance's id, or the end of it.")]
Reason = Annotated[str, typer.Option("--reason", help="Why; the history keeps it.")]


@app.command("list")
def list_(
    machine: Annotated[str | None, typer.Option(help="Only of this machine.")] = None,
    state: Annotated[str | None, typer.Option(help="Only in this state.")] = None,
    error: Annotated[str | None, typer.Option(help="Only with a last error of this type.")] = None,
    key: Annotated[str | None, typer.Option(help="Only with this key.")] = None,
    workspace: Annotated[str | None, typer.Option("--workspace", help="Only of this workspace.")] = None,
    label: Annotated[str | None, typer.Option(help="Only with this label, as name=value.")] = None,
    text: Annotated[str | None, typer.Option(help="Only with this text in key, labels or data.")] = None,
    hours: Annotated[
        float | None, typer.Option("--in-state-for", min=0, max=876_000, help="Only so many hours in its state.")
    ] = None,
    paused: Annotated[bool, typer.Option("--paused", help="Only paused ones.")] = False,
    unfinished: Annotated[bool, typer.Option("--unfinished", help="Only unfinished ones.")] = False,
    after: Annotated[UUID | None, typer.Option(help="The cursor of the previous page.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=500, help="At most so many.")] = 50,
    in_json: Json = False,
    database: Database = DEFAULT_DATABASE,
    apps: App = None,
) -> None:
    """List instances, newest first."""
    from datetime import timedelta

    from interlock.dashboard.names import plain_name
    from interlock.engine.listing import Where

    where = Where(
        machine=machine,
        state=state,
        workspace=workspace,
        key=key,
        label=_label(label) if label is not None else None,
        error=error,
        finished=False if unfinished else None,
        paused=True if paused else None,
        in_state_for=timedelta(hours=hours) if hours is not None else None,
        text=text,
    )
    with opened(database, apps) as engine:
        total = engine.count(where)
        if not total.n:
            check_state(engine, machine, state)
        page = engine.page(where, after=after, limit=limit)
    if in_json:
        shown = [described(i) for i in page.instances]
        following = str(page.next) if page.next else None
        as_json({"instances": shown, "count": total.n, "exact": total.exact, "next": following})
        return
    table(
        ("id", "machine", "state", "since (UTC)", "name", "error"),
        [
            (str(i.id), i.machine, i.state, when(i.entered_at), plain_name(i), (i.error or {}).get("type", ""))
            for i in page.instances
        ],
    )
    more = f"; continue with --after {page.next}" if page.next else ""
    typer.echo(f"{len(page.instances)} of {'' if total.exact else 'at least '}{total.n:,}{more}")


@app.command()
def show(instance: Id, in_json: Json = False, database: Database = DEFAULT_DATABASE, apps: App = None) -> None:
    """Show one instance: its state and why, its data, and what can be done."""
    with opened(database, apps) as engine:
        id = id_of(engine, "instance", instance)
        found, why = engine.get(id), engine.explain(id)
    if in_json:
        as_json({**described(found), "explanation": why.sentence, "allowed": [a.event for a in why.next]})
        return
    typer.echo(f"{found.machine} {found.id}\n{why.sentence}\n")
    typer.echo(f"data     {json.dumps(found.shown_data, ensure_ascii=False)}")
    typer.echo(f"allowed  {', '.join(map(str, why.next)) or 'nothing'}")


@app.command()
def explain(instance: Id, in_json: Json = False, database: Database = DEFAULT_DATABASE, apps: App = None) -> None:
    """Explain why it is in its state, what happens automatically, and who can act."""
    with opened(database, apps) as engine:
        why = engine.explain(id_of(engine, "instance", instance))
    if in_json:
        from dataclasses import asdict

        as_json(asdict(why))
        return
    typer.echo(why.sentence)
    for coming in why.upcoming:
        typer.echo(f"  {coming.at:%Y-%m-%d %H:%M:%S} UTC  {coming.what}")
    for allowed in why.next:
        typer.echo(f"  {allowed.event} → {allowed.to or 'runs its work'}, by {', '.join(allowed.by)}")


@app.command()
def history(instance: Id, in_json: Json = False, database: Database = DEFAULT_DATABASE, apps: App = None) -> None:
    """Print its history, in order."""
    with opened(database, apps) as engine:
        id = engine.get(id_of(engine, "instance", instance)).id
        rows: list[HistoryRow] = []
        while page := engine.history(id, after=rows[-1].seq if rows else 0):
            rows += page
    if in_json:
        as_json([_as_json_row(row) for row in rows])
        return
    for row in rows:
        move = f"{row.from_state} → {row.to_state}" if row.from_state and row.to_state else row.to_state or ""
        why = _why(row.payload)
        change = f"{row.kind} {move}".strip() + (f" by {row.event!r}" if row.event else "")
        typer.echo(f"{row.seq:>4}  {when(row.at)}  {change}, {row.actor.partition(':')[0]}{': ' + why if why else ''}")


def _as_json_row(row: HistoryRow) -> dict[str, Any]:
    return {
        "seq": row.seq,
        "at": when(row.at),
        "kind": row.kind,
        "from": row.from_state,
        "to": row.to_state,
        "event": row.event,
        "actor": row.actor,
        "payload": row.payload,
    }


def _why(payload: dict[str, Any]) -> str:
    error = payload.get("error")
    if isinstance(error, dict):
        return f"{error.get('type')}: {error.get('message')}"[:80]
    return str(payload.get("reason") or payload.get("why") or payload.get("status") or "")[:80]


@app.command()
def create(
    machine: Annotated[str, typer.Argument(help="The machine's name.")],
    data: Annotated[str, typer.Option(help="Its data, as a JSON object.")] = "{}",
    key: Annotated[str | None, typer.Option(help="Its business key.")] = None,
    workspace: Annotated[str, typer.Option("--workspace", help="The workspace that it belongs to.")] = "default",
    priority: Annotated[int, typer.Option(min=0, max=3, help="0 is first, 3 last.")] = 2,
    labels: Annotated[list[str] | None, typer.Option("--label", help="name=value; may be given several times.")] = None,
    user: As = "",
    in_json: Json = False,
    database: Database = DEFAULT_DATABASE,
    apps: App = None,
) -> None:
    """Create an instance; prints its id."""
    from interlock.machine import USER, Actor

    given, labelled = json_object(data, "--data"), dict(map(_label, labels or ()))
    with opened(database, apps) as engine:
        engine.read(lambda conn: require_workspace(conn, workspace))
        actor = Actor(USER, user or login())
        made = engine.create(
            machine, given, key=key, workspace=workspace, priority=priority, labels=labelled, actor=actor
        )
    if in_json:
        as_json(described(made))
    else:
        typer.echo(str(made.id))


def _label(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        raise typer.BadParameter(f"{text!r} is not a label; write it as --label name=value")
    return name.strip(), value.strip()


@app.command()
def fire(
    instance: Id,
    event: Annotated[str, typer.Argument(help="The event; an error lists the allowed ones.")],
    data: Annotated[str | None, typer.Option(help="Fields to set, as a JSON object.")] = None,
    expected_seq: Annotated[int | None, typer.Option(help="Refuse if the instance has changed since.")] = None,
    reason: Reason = "",
    user: As = "",
    in_json: Json = False,
    database: Database = DEFAULT_DATABASE,
    apps: App = None,
) -> None:
    """Fire an event as a person."""
    from interlock.machine import USER, Actor

    given = json_object(data, "--data") if data else None
    actor = Actor(USER, user or login())
    with opened(database, apps) as engine:
        id = id_of(engine, "instance", instance)
        moved = engine.fire(id, event, actor=actor, reason=reason, data=given, expected_seq=expected_seq)
        _after(engine.get(moved.id), in_json)


@app.command()
def pause(
    instance: Id,
    reason: Reason = "",
    user: As = "",
    in_json: Json = False,
    database: Database = DEFAULT_DATABASE,
    apps: App = None,
) -> None:
    """Stop work on an instance until somebody resumes it."""
    from interlock.machine import USER, Actor

    with opened(database, apps) as engine:
        id = id_of(engine, "instance", instance)
        _after(engine.pause(id, actor=Actor(USER, user or login()), reason=reason), in_json)


@app.command()
def resume(
    instance: Id,
    reason: Reason = "",
    user: As = "",
    in_json: Json = False,
    database: Database = DEFAULT_DATABASE,
    apps: App = None,
) -> None:
    """Resume a paused instance."""
    from interlock.machine import USER, Actor

    with opened(database, apps) as engine:
        id = id_of(engine, "instance", instance)
        _after(engine.resume(id, actor=Actor(USER, user or login()), reason=reason), in_json)


@app.command()
def cancel(
    instance: Id,
    reason: Reason = "",
    user: As = "",
    in_json: Json = False,
    database: Database = DEFAULT_DATABASE,
    apps: App = None,
) -> None:
    """Move an instance to its machine's state for cancelled work."""
    from interlock.machine import USER, Actor

    with opened(database, apps) as engine:
        id = id_of(engine, "instance", instance)
        _after(engine.cancel(id, actor=Actor(USER, user or login()), reason=reason), in_json)


@app.command()
def force(
    instance: Id,
    state: Annotated[str, typer.Argument(help="The state; an error lists those of its machine.")],
    reason: Annotated[str, typer.Option("--reason", help="Why; it must be given, and the history keeps it.")],
    user: As = "",
    in_json: Json = False,
    database: Database = DEFAULT_DATABASE,
    apps: App = None,
) -> None:
    """Put an instance into any state, outside of the declared transitions, as an owner."""
    with opened(database, apps) as engine:
        id = id_of(engine, "instance", instance)
        _after(engine.force(id, state, actor=by(user), reason=reason), in_json)


def _after(instance: Any, in_json: bool) -> None:
    if in_json:
        as_json(described(instance))
    else:
        held = ", paused" if instance.paused_at is not None else ""
        typer.echo(f"{instance.machine} {instance.id} is in {instance.state} (seq {instance.seq}){held}")


instance_parts.add_to(app)
