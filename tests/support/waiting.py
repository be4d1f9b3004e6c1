"""Waiting for something with a deadline, instead of sleeping and hoping."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")
PATIENCE = 20.0


def eventually(look: Callable[[], T], *, within: float = PATIENCE, what: Any = "") -> T:
    """The first true answer; an assertion fails when none came in time."""
    deadline = time.monotonic() + within
    while True:
        found = look()
        if found:
            return found
        assert time.monotonic() < deadline, f"still {found!r} after {within} s {what() if callable(what) else what}"
        time.sleep(0.005)


def took(action: Callable[[], object]) -> float:
    """How many seconds the action took."""
    begun = time.monotonic()
    action()
    return time.monotonic() - begun
