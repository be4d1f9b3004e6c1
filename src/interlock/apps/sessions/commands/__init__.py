"""`interlock session list|start|prompt|watch|cancel|diff`."""

from __future__ import annotations

import typer

from interlock.apps.sessions.commands.asking import cancel, prompt, start
from interlock.apps.sessions.commands.branch import diff
from interlock.apps.sessions.commands.listing import list_sessions
from interlock.apps.sessions.commands.watching import watch

session = typer.Typer(
    help="Agent sessions: list them, start one, ask for more, watch the agent, cancel, see what it changed.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
session.command("list")(list_sessions)
for function in (start, prompt, watch, cancel, diff):
    session.command()(function)

__all__ = ["session"]
