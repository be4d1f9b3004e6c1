"""Named points around every commit, at which a test can kill the process or wait.

A write is named for what it does. `finish:before` is reached when the changes of a result are made and not committed,
`finish:after` when they are committed and no caller has the answer yet.
"""

from __future__ import annotations

from collections.abc import Callable

hook: Callable[[str], None] | None = None

WRITES = (
    "create",
    "fire",
    "pause",
    "resume",
    "claim",
    "finish",
    "give_back",
    "tick",
    "take_back",
    "start",
    "beat",
    "intend",
    "sent",
    "settle",
    "move",
    "save",
    "extend",
    "progress",
    "send",
    "artifact",
    "review",
    "dead_letter",
    "lease",
)
"""Names of writes by the engine and its workers."""
ASKING = ("ask",)
"""Names of writes by a handler that asks a person."""
KEEPING = ("retain", "erase", "migrate")
"""Names of maintenance writes. `retain:archived` is between archiving and removing."""


def reach(name: str) -> None:
    if hook is not None:
        hook(name)
