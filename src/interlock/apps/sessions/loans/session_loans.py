"""The loans of a session: its open loan, the sandbox that it lent, and how both are shown.

`sandbox_for` is for the session's step, `sandbox_of` for whoever works in it, `lease_of` for pages and the API.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

import sqlalchemy as sa

from interlock.apps.sessions.allocator.lender import Lent
from interlock.apps.sessions.machine import BORROWING, HELD, RETURNED, RETURNING, STUCK, loan
from interlock.apps.sessions.models import Session
from interlock.apps.sessions.tables import sandbox_loan
from interlock.engine import Instance
from interlock.engine.application import find, instances
from interlock.machine import Spawn, WorkError
from interlock.store import Micros
from interlock.worker import Task

LOOK_AGAIN = timedelta(seconds=5)
"""How often a session looks whether its earlier work is on the branch."""
LOOK_LATER = timedelta(seconds=30)
"""How often it looks for its sandbox. It is woken when the sandbox is there, or will not come."""
MOST_LOANS = 1000


class NoSandbox(WorkError):
    """The session's loan is stuck: whether a sandbox was lent is not known, and a person has to settle it."""


@dataclass(frozen=True, slots=True)
class SandboxOrWait:
    """A session's sandbox, or how long to wait for it."""

    loan_id: UUID | None = None
    lent: Lent | None = None
    wait: timedelta | None = None
    """Set if there is none yet: return `Again(wait, reason=why)`."""
    why: str = ""


@dataclass(frozen=True, slots=True)
class LeaseView:
    """The loan of a session as people may see it: no secrets."""

    loan_id: UUID
    state: str
    """borrowing, held, returning, returned or stuck."""
    since: Micros
    allocator: str
    item_id: str | None
    lent_at: Micros | None
    retry_count: int
    """Failed attempts to return it (`ip_return_retry_count`)."""
    error: str | None
    operation_id: str | None
    resolution: str | None

    @property
    def is_held(self) -> bool:
        """Whether the sandbox may still be at the session: `sbx_config` is not null."""
        return self.lent_at is not None and self.state != RETURNED


# -- for the session's step


def sandbox_for(task: Task[Session]) -> SandboxOrWait:
    """The sandbox of the session. Without one a loan is started, and `wait` is set.

    A held sandbox is used again; a loan is never overwritten. Raises NoSandbox if the loan is stuck before it lent one,
    or before its work was saved.
    """
    current = task.read(open_loan, task.id)
    if current is None:
        before = task.read(unsaved_loan, task.id)
        if before is not None and before.state == STUCK:
            raise NoSandbox(
                f"the work of the session's last prompt could not be put on its branch: see loan {before.id} in the "
                "dead letters, and retry or resolve it"
            )
        if before is not None:
            return SandboxOrWait(before.id, wait=LOOK_AGAIN, why="waits until its earlier work is on the branch")
        made = task.spawn(Spawn(loan.name, {"session_id": str(task.id)}))
        if made is None:
            raise NoSandbox(f"session {task.id} may start no further loan; see its refused children")
        return SandboxOrWait(made, wait=LOOK_LATER, why="waits for a sandbox")
    if current.state == STUCK:
        raise NoSandbox(
            f"loan {current.id} of the session is stuck: whether a sandbox was lent is not known; settle it in "
            "the dead letters"
        )
    lent = task.read(sandbox_of, current.id) if current.state == HELD else None
    if lent is None:
        return SandboxOrWait(current.id, wait=LOOK_LATER, why="waits for a sandbox")
    return SandboxOrWait(current.id, lent)


def open_loan(conn: sa.Connection, session_id: UUID) -> Instance | None:
    """The loan that gives the session a sandbox, or will: one that is borrowing or held, or stuck while borrowing.

    A loan on its way back, or stuck there, is not open: the next prompt gets a loan of its own beside it.
    """
    for found in _loans(conn, session_id):
        if found.state in {BORROWING, HELD} or (found.state == STUCK and not found.data["lent"]):
            return found
    return None


def unsaved_loan(conn: sa.Connection, session_id: UUID) -> Instance | None:
    """A loan on its way back whose work is not on the branch yet: another sandbox would begin without it."""
    for found in _loans(conn, session_id):
        leaves = found.state in {RETURNING, STUCK} and found.data["lent"] and not found.data.get("saved")
        if leaves and sandbox_of(conn, found.id) is not None:
            return found
    return None


def sandbox_of(conn: sa.Connection, loan_id: UUID) -> Lent | None:
    """What a loan holds, with its secrets; None if it holds nothing. Never log or show it."""
    row = conn.execute(sa.select(sandbox_loan).where(sandbox_loan.c.loan_id == loan_id)).first()
    if row is None or row.ended_at is not None or row.token is None:
        return None
    return Lent(row.item_id, json.loads(row.item), row.token)


# -- for pages and the API


def lease_of(conn: sa.Connection, session_id: UUID) -> LeaseView | None:
    """The session's loan that matters most: one that is stuck, else the newest; None if it never had one."""
    found = _loans(conn, session_id)
    if not found:
        return None
    return lease_view(conn, next((one for one in found if one.state == STUCK), found[0]))


def lease_view(conn: sa.Connection, found: Instance) -> LeaseView:
    """A loan as people may see it."""
    row = conn.execute(
        sa.select(sandbox_loan.c.item_id, sandbox_loan.c.lent_at).where(sandbox_loan.c.loan_id == found.id)
    ).first()
    return LeaseView(
        loan_id=found.id,
        state=found.state,
        since=found.entered_at,
        allocator=found.data.get("allocator", ""),
        item_id=row.item_id if row is not None else None,
        lent_at=row.lent_at if row is not None else None,
        retry_count=return_attempts(found),
        error=found.error.get("message") if found.error else None,
        operation_id=found.data.get("operation_id"),
        resolution=found.data.get("resolution"),
    )


def return_attempts(found: Instance) -> int:
    """Failed attempts to return the sandbox since it was last given back or retried (`ip_return_retry_count`)."""
    if found.state == RETURNED:
        return 0
    return sum(n for name, n in found.failures.items() if name.startswith(f"{RETURNING}|") and "|crash" not in name)


def loan_of(conn: sa.Connection, loan_id: UUID, workspace: str | None = None) -> Instance | None:
    return find(conn, loan_id, machine=loan.name, workspace=workspace)


def _loans(conn: sa.Connection, session_id: UUID) -> list[Instance]:
    return instances(conn, loan.name, children_of=session_id, newest_first=True, limit=MOST_LOANS)
