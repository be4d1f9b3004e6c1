"""`interlock session diff`: what a session's branch changes."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from interlock.apps.sessions.commands.sessions import SessionId, session_in
from interlock.console.options import DEFAULT_DATABASE, App, Config, Database, id_of, opened
from interlock.console.printing import Json, as_json, table

if TYPE_CHECKING:
    from interlock.apps.sessions.sandbox.repository import Diff


def diff(
    session_id: SessionId,
    stat: Annotated[bool, typer.Option("--stat", help="Only the files, with the counts of their lines.")] = False,
    patch: Annotated[bool, typer.Option("--patch", help="The commits, for git am, whole and as they are.")] = False,
    in_json: Json = False,
    database: Database = DEFAULT_DATABASE,
    apps: App = None,
    config: Config = None,
) -> None:
    """Show what the session's branch changes. It needs the files of sessions, so run it on their host."""
    from interlock.apps.sessions.host_folders import host_folders
    from interlock.apps.sessions.models import Session

    with opened(database, apps, config) as engine:
        named = id_of(engine, "instance", session_id)
        data = Session.model_validate(engine.read(lambda conn: session_in(conn, named)).data)
        repository = host_folders(engine.setting).repository(data.repo)
        if patch:
            sys.stdout.flush()
            sys.stdout.buffer.write(repository.patch(data.branch, data.target_branch))
            return
        found = repository.diff(data.branch, data.target_branch)
    if in_json:
        as_json({"branch": data.branch, "target_branch": data.target_branch, **_described(found)})
    elif stat:
        table(("file", "added", "removed"), [(one.path, _count(one.added), _count(one.removed)) for one in found.files])
    else:
        _print(found)


def _described(found: Diff) -> dict[str, Any]:
    files = [{"path": one.path, "added": one.added, "removed": one.removed} for one in found.files]
    return {"base": found.base, "head": found.head, "files": files, "diff": found.text, "cut": found.cut}


def _count(lines: int | None) -> str:
    return "binary" if lines is None else str(lines)


def _print(found: Diff) -> None:
    """The difference: as it is into a file or a pipe, coloured and with nothing invisible on a terminal."""
    if not sys.stdout.isatty():
        typer.echo(found.text, nl=False)
    else:
        from rich.console import Console
        from rich.text import Text

        from interlock.apps.sessions.conversation.visible import visible

        console = Console(highlight=False)
        for line in visible(found.text).splitlines():
            console.print(Text(line, style=_style(line)), soft_wrap=True)
    if found.cut:
        typer.echo("this is only the beginning; --patch has all of it", err=True)


def _style(line: str) -> str:
    if line.startswith(("diff ", "+++", "---", "index ")):
        return "bold"
    return {"+": "green", "-": "red", "@": "cyan"}.get(line[:1], "")
