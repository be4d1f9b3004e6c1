"""Python's collector of cycles, in a process that lives for weeks and makes a thousand short-lived objects a moment."""

from __future__ import annotations

import gc

YOUNG = 50_000
"""New objects until it looks for cycles among them. With Python's 700 it looks many times at each batch of work while
that is still needed: a sixth of a worker's processor time."""


def settle() -> None:
    """What is loaded by now stays, and is not looked through again. For a process's own start, not for a library's."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG, 10, 10)
