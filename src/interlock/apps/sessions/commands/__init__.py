"""`interlock session start|prompt|watch|cancel|diff`."""

from __future__ import annotations

import typer

from interlock.apps.sessions.commands.asking import cancel, prompt, start
from interlock.apps.sessions.commands.branch import diff
from interlock.apps.sessions.commands.watching import watch

session = typer.Typer(
    help="Agent sessions: start one, ask for more, watch the agent, cancel, see what it changed.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
for function in (start, prompt, watch, cancel, diff):
    session.command()(function)

__all__ = ["session"]
