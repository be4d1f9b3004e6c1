"""`interlock session list`: sessions with their branches and states."""

from __future__ import annotations

from typing import Annotated

import typer

from interlock.console.options import DEFAULT_DATABASE, App, Config, Database, opened
from interlock.console.printing import Json, as_json, described, table, when


def list_sessions(
    states: Annotated[
        list[str] | None, typer.Option("--state", help="Only in this state; may be given several times.")
    ] = None,
    repo: Annotated[str | None, typer.Option("--repo", help="Only of this repository.")] = None,
    person: Annotated[str | None, typer.Option("--person", help="Only those that this person started.")] = None,
    workspace: Annotated[str, typer.Option("--workspace", help="The workspace of the sessions.")] = "default",
    limit: Annotated[int, typer.Option(min=1, max=500, help="At most so many.")] = 50,
    in_json: Json = False,
    database: Database = DEFAULT_DATABASE,
    apps: App = None,
    config: Config = None,
) -> None:
    """List sessions, newest first."""
    from interlock.apps.sessions.conversation.index import SessionFilter, page
    from interlock.apps.sessions.machine import session
    from interlock.engine import InvalidData

    for name in states or ():
        if name not in session.states:
            raise InvalidData(f"{name!r} is not a state of sessions; there are: {', '.join(session.states)}")
    wanted = SessionFilter([workspace], tuple(states or ()), repo, person)
    with opened(database, apps, config) as engine:
        found = engine.read(lambda conn: page(conn, wanted, limit=limit))
    if in_json:
        as_json([described(one) for one in found])
        return
    table(
        ("id", "state", "title", "repository", "branch", "person", "since (UTC)"),
        [
            (
                str(one.id),
                one.state,
                *(str(one.shown_data.get(name) or "") for name in ("title", "repo", "branch", "user_id")),
                when(one.entered_at),
            )
            for one in found
        ],
    )
