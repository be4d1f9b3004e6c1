"""Sessions of the demo: the scripted agent works in real worktrees of a small repository; acts play only the past."""

from interlock.apps.sessions.demo.part import SESSIONS
from interlock.demo import Part

__all__ = ["parts"]


def parts() -> list[Part]:
    return [SESSIONS]
