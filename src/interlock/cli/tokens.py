"""`interlock token`: API tokens for people's scripts and for agents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from interlock.cli.users import Where, by
from interlock.console.options import DEFAULT_DATABASE, App, Database, id_of, opened
from interlock.console.printing import As, Json, as_json, table, when

if TYPE_CHECKING:
    from interlock.people import TokenRow

app = typer.Typer(
    rich_markup_mode=None, help="Tokens: create them, see their last use, revoke them.", no_args_is_help=True
)


def described(token: TokenRow) -> dict[str, Any]:
    """A token for scripts, without its secret."""
    return {
        "id": str(token.id),
        "workspace": token.workspace,
        "name": token.name,
        "kind": token.kind,
        "person_id": str(token.person_id) if token.person_id else None,
        "scopes": list(token.scopes),
        "hint": token.hint,
        "created_at": when(token.created_at),
        "created_by": token.created_by,
        "used_at": when(token.used_at) or None,
        "until": when(token.until) or None,
        "revoked_at": when(token.revoked_at) or None,
        "revoked_by": token.revoked_by,
    }


@app.command()
def create(
    name: Annotated[str, typer.Argument(help="What it is for; the history shows it.")],
    workspace: Where = "default",
    person: Annotated[str | None, typer.Option("--user", help="Acts as this person, with their role.")] = None,
    scopes: Annotated[
        list[str] | None,
        typer.Option(
            "--scope",
            help="It is an agent's, and may read, create, fire, or what an application brings; or, as "
            "fire:parcel, for one machine. May be given several times. `interlock token scopes` lists them.",
        ),
    ] = None,
    days: Annotated[int | None, typer.Option(min=1, max=3650, help="Expires after so many days.")] = None,
    user: As = "",
    in_json: Json = False,
    database: Database = DEFAULT_DATABASE,
    apps: App = None,
) -> None:
    """Create a token and print its secret; it is shown only once."""
    from datetime import timedelta

    from interlock.engine import InvalidData
    from interlock.people import People
    from interlock.store import moment

    if (person is None) == (not scopes):
        raise InvalidData(
            "a token acts as a person (--user ann) or belongs to an agent (--scope read); give one of the two"
        )
    with opened(database, apps) as engine:
        people = People(engine)
        until = moment(engine.clock.now()) + timedelta(days=days) if days is not None else None
        whose = people.find(person).id if person is not None else None
        made, secret = people.create_token(
            workspace,
            name,
            kind="agent" if whose is None else "person",
            person_id=whose,
            scopes=scopes or (),
            until=until,
            by=by(user),
        )
    if in_json:
        as_json({**described(made), "secret": secret})
    else:
        typer.echo(
            f"token {made.name} of {made.workspace}, {made.id}; keep its secret, it is not shown again:", err=True
        )
        typer.echo(secret)


@app.command("scopes")
def scopes_(in_json: Json = False, apps: App = None) -> None:
    """List the scopes that an agent's token can have, with what each allows."""
    from interlock.console.options import registry_of
    from interlock.people import scope_meanings

    found = scope_meanings(registry_of(apps).scopes)
    if in_json:
        as_json([{"scope": name, "meaning": meaning} for name, meaning in found.items()])
    else:
        table(("scope", "its holder may"), list(found.items()))


@app.command("list")
def list_(
    workspace: Annotated[str | None, typer.Option("--workspace", help="Only of this workspace.")] = None,
    in_json: Json = False,
    database: Database = DEFAULT_DATABASE,
    apps: App = None,
) -> None:
    """List tokens, newest first, with their last use."""
    from interlock.people import People

    with opened(database, apps) as engine:
        people = People(engine)
        found, names = people.tokens(workspace), {person.id: person.name for person in people.everyone()}
    if in_json:
        as_json([described(token) for token in found])
        return
    table(
        ("id", "workspace", "name", "acts as", "ends with", "made (UTC)", "used (UTC)", "until (UTC)", "revoked (UTC)"),
        [
            (
                str(t.id),
                t.workspace,
                t.name,
                names.get(t.person_id, "") if t.person_id else f"agent: {', '.join(t.scopes)}",
                t.hint,
                when(t.created_at),
                when(t.used_at),
                when(t.until),
                when(t.revoked_at),
            )
            for t in found
        ],
    )


@app.command()
def revoke(
    token: Annotated[str, typer.Argument(help="The token's id, or the end of it.")],
    user: As = "",
    in_json: Json = False,
    database: Database = DEFAULT_DATABASE,
    apps: App = None,
) -> None:
    """Revoke a token; it stops working at once."""
    from interlock.people import People

    with opened(database, apps) as engine:
        gone = People(engine).revoke(id_of(engine, "token", token), by(user))
    if in_json:
        as_json(described(gone))
    else:
        typer.echo(f"token {gone.name} of {gone.workspace} is revoked")
