"""`interlock user`, `interlock workspace` and `interlock login-link`: people, their roles and their logins."""

from __future__ import annotations

import sys
from collections.abc import Callable
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from interlock.console.options import DEFAULT_DATABASE, App, Database, opened
from interlock.console.printing import As, Json, as_json, login, table, when

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from interlock.machine import Actor
    from interlock.people import People, Person

app = typer.Typer(
    rich_markup_mode=None, help="People: add them, set their roles, enable or disable them.", no_args_is_help=True
)
workspaces = typer.Typer(
    rich_markup_mode=None, help="Workspaces: each has its own instances and people.", no_args_is_help=True
)


class RoleName(StrEnum):
    """The roles, repeated here so that `--help` loads nothing."""

    VIEWER = "viewer"
    REVIEWER = "reviewer"
    MEMBER = "member"
    OWNER = "owner"


Name = Annotated[str, typer.Argument(help="The person's name; upper and lower case are the same.")]
Where = Annotated[str, typer.Option("--workspace", help="In which workspace.")]
FromInput = Annotated[
    bool, typer.Option("--password-stdin", help="Read the password from the standard input, one line.")
]


def by(user: str) -> Actor:
    """The actor of a command: whoever has the database acts as its owner, under this name."""
    from interlock.machine import OWNER, Actor

    return Actor(OWNER, user or login())


def require_workspace(conn: Connection, name: str) -> None:
    """Refuse a workspace that there is not. The first one need not be in the database of a library."""
    from interlock.people import OPERATORS, workspaces

    if name != OPERATORS:
        workspaces.require(conn, name)


def described(person: Person) -> dict[str, Any]:
    """A person for scripts."""
    return {
        "id": str(person.id),
        "name": person.name,
        "email": person.email,
        "roles": {workspace: role.value for workspace, role in person.roles.items()},
        "has_password": person.has_password,
        "created_at": when(person.created_at),
        "disabled_at": when(person.disabled_at) or None,
    }


def _asked(from_input: bool) -> str | None:
    """The password from the standard input or the terminal; None if there is neither."""
    if from_input:
        return sys.stdin.readline().rstrip("\r\n")
    if not sys.stdin.isatty():
        return None
    answer: str = typer.prompt("Password", hide_input=True, confirmation_prompt=True)
    return answer


def _after(person: Person, done: str, in_json: bool) -> None:
    if in_json:
        as_json(described(person))
    else:
        typer.echo(f"{person.name} {done}")


@app.command("add")
def add(
    name: Annotated[str, typer.Argument(help="1 to 64 letters, digits and . _ @ -")],
    role: Annotated[RoleName, typer.Option(help="What they may do there.")] = RoleName.MEMBER,
    workspace: Where = "default",
    email: Annotated[str | None, typer.Option(help="Their mail address.")] = None,
    from_input: FromInput = False,
    user: As = "",
    in_json: Json = False,
    database: Database = DEFAULT_DATABASE,
    apps: App = None,
) -> None:
    """Add a person. Without a password they log in with a login link."""
    from interlock.people import People, Role

    with opened(database, apps) as engine:
        password = _asked(from_input)
        made = People(engine).add(
            name, password=password, email=email, workspace=workspace, role=Role(role.value), by=by(user)
        )
    way = "by password" if made.has_password else f"by link: interlock login-link {made.name}"
    _after(made, f"is {role.value} of {workspace}, and logs in {way}", in_json)


@app.command("list")
def list_(
    workspace: Annotated[str | None, typer.Option("--workspace", help="Only of this workspace.")] = None,
    in_json: Json = False,
    database: Database = DEFAULT_DATABASE,
    apps: App = None,
) -> None:
    """List people with their roles."""
    from interlock.people import People

    with opened(database, apps) as engine:
        found = People(engine).everyone(workspace)
    if in_json:
        as_json([described(person) for person in found])
        return
    table(
        ("name", "roles", "email", "password", "added (UTC)", "disabled (UTC)"),
        [
            (
                p.name,
                ", ".join(f"{r.value} of {w}" for w, r in p.roles.items()),
                p.email or "",
                "yes" if p.has_password else "no",
                when(p.created_at),
                when(p.disabled_at),
            )
            for p in found
        ],
    )


@app.command("password")
def password_(
    name: Name,
    from_input: FromInput = False,
    user: As = "",
    in_json: Json = False,
    database: Database = DEFAULT_DATABASE,
    apps: App = None,
) -> None:
    """Set a person's password; their sessions end."""
    from interlock.engine import InvalidData

    def change(people: People, person: Person) -> Person:
        password = _asked(from_input)
        if password is None:
            raise InvalidData("there is no terminal to ask for the password; give it with --password-stdin")
        return people.set_password(person.id, password, by=by(user))

    _changed(name, change, "has a new password and is logged out everywhere", in_json, database, apps)


@app.command()
def disable(
    name: Name, user: As = "", in_json: Json = False, database: Database = DEFAULT_DATABASE, apps: App = None
) -> None:
    """Disable a person at once: sessions end and tokens are revoked."""
    _changed(name, lambda people, it: people.disable(it.id, by=by(user)), "is disabled", in_json, database, apps)


@app.command()
def enable(
    name: Name, user: As = "", in_json: Json = False, database: Database = DEFAULT_DATABASE, apps: App = None
) -> None:
    """Enable a person again; revoked tokens stay revoked."""
    _changed(name, lambda people, it: people.enable(it.id, by=by(user)), "is enabled", in_json, database, apps)


@app.command("role")
def role_(
    name: Name,
    role: Annotated[RoleName, typer.Argument(help="The new role.")],
    workspace: Where = "default",
    user: As = "",
    in_json: Json = False,
    database: Database = DEFAULT_DATABASE,
    apps: App = None,
) -> None:
    """Give a person a role in a workspace, whether or not they had one there."""

    def change(people: People, person: Person) -> Person:
        from interlock.people import Role

        return people.set_role(person.id, Role(role.value), workspace=workspace, by=by(user))

    _changed(name, change, f"is {role.value} of {workspace}", in_json, database, apps)


@app.command()
def leave(
    name: Name,
    workspace: Where = "default",
    user: As = "",
    in_json: Json = False,
    database: Database = DEFAULT_DATABASE,
    apps: App = None,
) -> None:
    """Take a person out of a workspace."""
    from interlock.people import People

    with opened(database, apps) as engine:
        people = People(engine)
        person = people.leave(people.find(name).id, workspace, by=by(user))
    _after(person, f"is no longer in {workspace}", in_json)


@app.command()
def logout(name: Name, user: As = "", database: Database = DEFAULT_DATABASE, apps: App = None) -> None:
    """End all of a person's sessions; their tokens stay."""
    from interlock.people import People

    with opened(database, apps) as engine:
        people = People(engine)
        person = people.find(name)
        ended = people.end_all(person.id, by=by(user))
    typer.echo(f"{person.name} is logged out; {ended} session{'' if ended == 1 else 's'} ended")


def _changed(
    name: str,
    change: Callable[[People, Person], Person],
    done: str,
    in_json: bool,
    database: str,
    apps: list[str] | None,
) -> None:
    from interlock.people import People

    with opened(database, apps) as engine:
        people = People(engine)
        person = change(people, people.find(name))
    _after(person, done, in_json)


@workspaces.command("add")
def add_workspace(
    name: Annotated[str, typer.Argument(help="1 to 64 letters, digits and . _ @ -")],
    title: Annotated[str, typer.Option(help="The title on pages; the name, if it is left out.")] = "",
    user: As = "",
    in_json: Json = False,
    database: Database = DEFAULT_DATABASE,
    apps: App = None,
) -> None:
    """Add a workspace."""
    from interlock.people import People

    with opened(database, apps) as engine:
        made = People(engine).add_workspace(name, title, by(user))
    if in_json:
        as_json({"name": made.name, "title": made.title, "created_at": when(made.created_at)})
    else:
        typer.echo(
            f"workspace {made.name} was added; give somebody a role: interlock user role NAME owner --workspace {name}"
        )


@workspaces.command("list")
def list_workspaces(in_json: Json = False, database: Database = DEFAULT_DATABASE, apps: App = None) -> None:
    """List workspaces."""
    from interlock.people import People

    with opened(database, apps) as engine:
        found = People(engine).workspaces()
    if in_json:
        as_json([{"name": w.name, "title": w.title, "created_at": when(w.created_at)} for w in found])
    else:
        table(("name", "title", "added (UTC)"), [(w.name, w.title, when(w.created_at)) for w in found])


def _address(apps: list[str] | None) -> str:
    """The service's address in the configuration."""
    from interlock.config import load

    return load(apps=apps or ()).http.address()


def login_link(
    name: Annotated[str | None, typer.Argument(help="The person to log in; the owner, if it is left out.")] = None,
    url: Annotated[
        str,
        typer.Option(
            help="The address of the service.", show_default="from the configuration, else http://127.0.0.1:8420"
        ),
    ] = "",
    user: As = "",
    in_json: Json = False,
    database: Database = DEFAULT_DATABASE,
    apps: App = None,
) -> None:
    """Print a link that logs a person in, once, within the hour."""
    from interlock.engine import NotFound
    from interlock.people import People, link_address

    with opened(database, apps) as engine:
        people = People(engine)
        person = people.find(name) if name is not None else people.first_owner()
        if person is None:
            raise NotFound("nobody owns this installation yet; start it once with: interlock up")
        link = link_address(url or _address(apps), people.login_link(person.id, by=by(user)))
    if in_json:
        as_json({"name": person.name, "link": link})
    else:
        typer.echo(link)
