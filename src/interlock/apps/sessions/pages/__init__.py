"""Pages of sessions: the list, a session as a conversation, what its branch changes, and who holds which sandbox."""

from __future__ import annotations

from collections.abc import Sequence

from fastapi import APIRouter

from interlock.apps.sessions.pages import (
    acting,
    approving,
    changes,
    conversation,
    dead_letters,
    listing,
    pool,
    starting,
)
from interlock.dashboard.site import bring

bring("sessions", "interlock.apps.sessions.pages")

routers: Sequence[APIRouter] = tuple(
    one.router for one in (listing, starting, pool, dead_letters, conversation, changes, approving, acting)
)

__all__ = ["routers"]
