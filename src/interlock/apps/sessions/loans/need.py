"""Whether a session still needs a sandbox, and when it has done with the one it holds."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

import sqlalchemy as sa

from interlock.apps.sessions.machine import ARCHIVED, IN_PROGRESS, PENDING, session
from interlock.engine import Instance
from interlock.engine.application import find, under_way
from interlock.store import Micros, span


def needs_sandbox(conn: sa.Connection, session_id: UUID) -> bool:
    """Whether the session works, or is about to."""
    found = find(conn, session_id, machine=session.name)
    return found is not None and is_busy(found)


def is_busy(found: Instance) -> bool:
    """Whether the session works, or is about to. One that waits in pending for a prompt does not."""
    return found.state == IN_PROGRESS or (found.state == PENDING and under_way(found))


def has_done(found: Instance, now: Micros, keep_for: timedelta) -> bool:
    """Whether the sandbox of the session can go back: an archived session keeps none for a follow-up prompt."""
    if is_busy(found):
        return False
    return found.state == ARCHIVED or now >= found.entered_at + span(keep_for)
