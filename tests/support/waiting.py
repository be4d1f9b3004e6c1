"""Waiting for something with a deadline, instead of sleeping and hoping."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")
PATIENCE = 60.0


def eventually(look: Callable[[], T], what: Any = "", *, within: float = PATIENCE) -> T:
    """The first true answer; an assertion fails when none came in time.

    The longer it waits, the less often it looks: looking every 5 ms took a third of a core.
    """
    begun = time.monotonic()
    while True:
        found = look()
        if found:
            return found
        waited = time.monotonic() - begun
        assert waited < within, f"still {found!r} after {within} s {what() if callable(what) else what}"
        time.sleep(min(max(waited / 10, 0.005), 0.1))


def took(action: Callable[[], object]) -> float:
    """How many seconds the action took."""
    begun = time.monotonic()
    action()
    return time.monotonic() - begun
