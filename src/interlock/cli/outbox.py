"""`interlock outbox`: messages, and what became of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated
from uuid import UUID

import typer

from interlock.cli.users import by
from interlock.console.options import DEFAULT_DATABASE, App, Database, id_of, opened
from interlock.console.printing import As, Json, as_json, short, table, times_shown, when

if TYPE_CHECKING:
    from interlock.engine.outbox import OutboxMessage

app = typer.Typer(rich_markup_mode=None, help="Messages: list, show, retry, discard.", no_args_is_help=True)
Message = Annotated[str, typer.Argument(help="The message's id, or the end of it.")]


@app.command("list")
def list_(
    status: Annotated[str | None, typer.Option(help="Only waiting, delivered, dead or discarded ones.")] = None,
    channel: Annotated[str | None, typer.Option(help="Only of this channel.")] = None,
    after: Annotated[UUID | None, typer.Option(help="The cursor of the previous page.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=500, help="At most so many.")] = 50,
    in_json: Json = False,
    database: Database = DEFAULT_DATABASE,
    apps: App = None,
) -> None:
    """List messages, newest first."""
    from interlock.engine import outbox

    with opened(database, apps) as engine:
        page = engine.read(lambda conn: outbox.page(conn, status=status, channel=channel, after=after, limit=limit))
    if in_json:
        as_json({"messages": [times_shown(one) for one in page.messages], "next": page.next})
        return
    table(
        ("id", "channel", "to", "subject", "status", "attempts", "since (UTC)", "error"),
        [
            (
                str(m.id),
                m.channel,
                m.recipient,
                short(m.subject),
                m.status,
                str(m.attempts),
                when(m.at),
                short(m.last_error or ""),
            )
            for m in page.messages
        ],
    )
    if page.next is not None:
        typer.echo(f"continue with --after {page.next}")


@app.command()
def show(message: Message, in_json: Json = False, database: Database = DEFAULT_DATABASE, apps: App = None) -> None:
    """Show a message and its deliveries."""
    from interlock.engine import outbox

    with opened(database, apps) as engine:
        id = id_of(engine, "message", message)
        found, attempts = engine.read(lambda conn: (outbox.get(conn, id), outbox.deliveries(conn, id)))
    if in_json:
        as_json({**times_shown(found), "deliveries": [times_shown(one) for one in attempts]})
        return
    _print(found)
    table(("at (UTC)", "outcome", "detail"), [(when(d.at), d.outcome, short(d.detail, 200)) for d in attempts])


@app.command()
def retry(message: Message, user: As = "", database: Database = DEFAULT_DATABASE, apps: App = None) -> None:
    """Deliver a dead message again."""
    from interlock.engine import outbox

    with opened(database, apps) as engine:
        id = id_of(engine, "message", message)
        _print(engine.write(lambda unit: outbox.retry(unit, id, by(user))))


@app.command()
def discard(
    message: Message,
    note: Annotated[str, typer.Option("--note", help="Why; it is kept.")] = "",
    user: As = "",
    database: Database = DEFAULT_DATABASE,
    apps: App = None,
) -> None:
    """Give up a dead message."""
    from interlock.engine import outbox

    with opened(database, apps) as engine:
        id = id_of(engine, "message", message)
        _print(engine.write(lambda unit: outbox.discard(unit, id, by(user), note)))


def _print(found: OutboxMessage) -> None:
    typer.echo(f"{found.channel} to {short(found.recipient)}: {short(found.subject)}; {found.status}")
