"""Saving: the work in a sandbox is put on the session's branch before the sandbox goes back."""

from __future__ import annotations

from uuid import UUID

import sqlalchemy as sa

from interlock.apps.sessions.allocator.lender import Lent
from interlock.apps.sessions.host_folders import host_folders
from interlock.apps.sessions.machine import session
from interlock.apps.sessions.models import Loan
from interlock.engine import Engine
from interlock.engine.application import find
from interlock.machine import InterlockError
from interlock.store import failpoints
from interlock.worker import Task


def save_work(task: Task[Loan], lent: Lent) -> str:
    """Commit what is in a local sandbox and empty it; what was done, as a sentence.

    It is harmless to repeat until the loan says `saved`. After that the slot may belong to the session's next loan.
    """
    if not isinstance(lent.item, dict):
        return "the sandbox is not local"
    pool, whose = host_folders(task.setting).sandboxes, task.data.session_id
    slot = pool.slot(lent.item)
    if slot is None:
        return "the sandbox is not local"
    if pool.holder(slot) != whose:
        return "nothing was done in the sandbox"
    title = task.read(_title, UUID(whose))
    made = pool.commit(slot, f"{title}\n\nSession {whose}", session=whose)
    failpoints.reach("return:committed")
    task.heartbeat()  # a worker that lost the loan must not empty a sandbox that was lent again
    pool.reset(slot, session=whose)
    failpoints.reach("return:emptied")
    left = f"; {len(made.left_out)} nested repositories or unreadable files were left out" if made.left_out else ""
    return f"the work is in commit {made.head[:12]}{left}" if made.changed else f"nothing new to commit{left}"


def commit_by_hand(engine: Engine, session_id: str, lent: Lent) -> str:
    """Commit what is in a local sandbox that a person gives up; what came of it, as a sentence."""
    if not isinstance(lent.item, dict):
        return ""
    try:
        pool = host_folders(engine.setting).sandboxes
        slot = pool.slot(lent.item)
        if slot is None or pool.holder(slot) != session_id:
            return ""
        made = pool.commit(
            slot,
            f"{engine.read(lambda conn: _title(conn, UUID(session_id)))}\n\nSession {session_id}",
            session=session_id,
        )
    except (InterlockError, OSError) as error:
        return f"the work in the sandbox could not be put on the branch: {error}"
    return f"the work is in commit {made.head[:12]}"


def _title(conn: sa.Connection, session_id: UUID) -> str:
    found = find(conn, session_id, machine=session.name)
    title = str(found.data.get("title") or "") if found is not None else ""
    return " ".join(title.split())[:100] or "Work of a session"
