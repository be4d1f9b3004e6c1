"""Named points around every commit, where a test can step in: kill the process there, or wait there.

A write is named for what it does, so `finish:before` is reached when a result's changes are made and not committed,
and `finish:after` when they are committed and no caller has the answer yet.
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
"""The names that the engine and its workers give to their writes."""
ASKING = ("ask",)
"""That of a handler that asks a person."""
KEEPING = ("retain", "erase", "migrate")
"""Those of whoever looks after the database; `retain:archived` is between an archive and the removal."""


def reach(name: str) -> None:
    if hook is not None:
        hook(name)
