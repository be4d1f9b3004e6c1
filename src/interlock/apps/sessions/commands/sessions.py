"""What the commands of sessions share: arguments, the session that is meant, and files."""

from __future__ import annotations

import mimetypes
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from uuid import UUID

    from interlock.apps.sessions.control import NewPrompt
    from interlock.engine import Engine, Instance

SessionId = Annotated[
    str, typer.Argument(metavar="SESSION", help="The session's id, or the end of it.", show_default=False)
]
Text = Annotated[str, typer.Argument(metavar="PROMPT", help="What is to be done; - reads it.", show_default=False)]
Files = Annotated[list[Path] | None, typer.Option("--file", help="A file for the agent; may be given several times.")]
Watch = Annotated[bool, typer.Option("--watch", help="Watch the agent until it has ended.")]


def session_in(conn: Any, session_id: UUID) -> Instance:
    """The session. NotFound for one that is deleted."""
    from interlock.apps.sessions.conversation.index import visible

    return visible(conn, session_id)[0]


def new_prompt(text: str, files: list[Path] | None) -> NewPrompt:
    """The prompt of a command, with its files."""
    from interlock.apps.sessions.control import NewPrompt
    from interlock.apps.sessions.conversation.attachments import File
    from interlock.machine import InterlockError

    said = sys.stdin.read() if text == "-" else text
    found = []
    for path in files or ():
        try:
            content = path.read_bytes()
        except OSError as error:
            raise InterlockError(f"{path} cannot be read: {error.strerror}") from None
        kind = mimetypes.guess_type(path.name)[0] or "application/octet-stream"
        found.append(File(path.name, kind, content))
    return NewPrompt(said, files=tuple(found))


def say_if_nobody_works(engine: Engine) -> None:
    """Say that no worker is alive, who would run the prompt."""
    from interlock.apps.sessions.machine import session
    from interlock.engine.application import is_served

    if not engine.read(lambda conn: is_served(conn, engine.clock.now(), session.queue)):
        typer.echo("no worker is running on this database; start one with: interlock up", err=True)
