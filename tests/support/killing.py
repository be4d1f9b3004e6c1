"""Processes that end at a named point of a commit."""

from __future__ import annotations

import os
import signal

from interlock.store import failpoints


def die_at(point: str, times: int) -> None:
    """SIGKILL, so that nothing is cleaned up, flushed or said."""
    left = times

    def hook(reached: str) -> None:
        nonlocal left
        if reached == point:
            left -= 1
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)

    failpoints.hook = hook


def die_after(commits: int) -> None:
    """SIGKILL at the so manieth point of whatever commits."""
    left = commits

    def hook(_: str) -> None:
        nonlocal left
        left -= 1
        if left <= 0:
            os.kill(os.getpid(), signal.SIGKILL)

    failpoints.hook = hook
