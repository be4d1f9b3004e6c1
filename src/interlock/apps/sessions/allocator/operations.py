"""Operations: what is done for a borrow, a return or a new item while its subscribers are called.

The row of an operation says how far it is, so that another process continues it after a crash. Whoever works on it has
a fence; what an earlier worker writes later changes nothing.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

import sqlalchemy as sa
from uuid_utils.compat import uuid7

from interlock.apps.sessions.allocator.lender import FAILED, SUCCEEDED
from interlock.apps.sessions.tables import sandbox_event as E
from interlock.apps.sessions.tables import sandbox_notice as N
from interlock.apps.sessions.tables import sandbox_operation as O
from interlock.engine.application import Unit, hint
from interlock.store import Micros, span

PENDING, IN_PROGRESS = "pending", "inprogress"
STATUSES = (PENDING, IN_PROGRESS, SUCCEEDED, FAILED)
KINDS = (BORROW, RETURN, SUBMIT) = ("borrow", "return", "submit")
CREATED, NOTIFIED, COMPLETED, BROKEN = "created", "notifications_ok", "completed", "failed"
CHANGED = "*sandbox_operations"
"""The hint that an operation has begun or got further."""
CLAIMED_FOR = timedelta(seconds=60)
"""How long one process has an operation before another continues it, beyond the time of the subscriber it calls."""


@dataclass(frozen=True, slots=True)
class Operation:
    """An operation as it is stored. The content may contain secrets."""

    id: UUID
    kind: str
    pool: str
    status: str
    message: str | None
    content: str
    params: str
    item_id: UUID | None
    borrow_id: UUID | None
    fence: int
    due_at: Micros | None
    created_at: Micros
    ended_at: Micros | None

    @property
    def is_over(self) -> bool:
        return self.status in {SUCCEEDED, FAILED}


@dataclass(frozen=True, slots=True)
class Notice:
    """What a subscriber of an operation answered: pending (polled by its `remote_id`), succeeded or failed."""

    subscriber: str
    status: str
    remote_id: str | None
    error: str | None
    since: Micros


@dataclass(frozen=True, slots=True)
class Event:
    """One event of an operation."""

    seq: int
    event: str
    reason: str | None
    at: Micros


def _read(row: Any) -> Operation:
    return Operation(**row._mapping)


# -- reading


def find(conn: sa.Connection, operation_id: UUID) -> Operation | None:
    row = conn.execute(sa.select(O).where(O.c.id == operation_id)).first()
    return _read(row) if row is not None else None


def page(
    conn: sa.Connection, *, status: str | None = None, after: UUID | None = None, limit: int = 100
) -> list[Operation]:
    """Operations, the newest first. `after` is the id of the last one of the page before."""
    query = sa.select(O).order_by(O.c.id.desc()).limit(limit)
    if status is not None:
        query = query.where(O.c.status == status)
    if after is not None:
        query = query.where(O.c.id < after)
    return [_read(row) for row in conn.execute(query)]


def due(conn: sa.Connection, now: Micros, limit: int = 100) -> list[UUID]:
    """Operations that somebody has to work on now, the oldest first."""
    query = sa.select(O.c.id).where(O.c.status.in_((PENDING, IN_PROGRESS)), O.c.due_at <= now)
    return list(conn.execute(query.order_by(O.c.due_at).limit(limit)).scalars())


def counted(conn: sa.Connection) -> dict[str, int]:
    """The number of operations by status."""
    rows = conn.execute(sa.select(O.c.status, sa.func.count().label("n")).group_by(O.c.status))
    return dict.fromkeys(STATUSES, 0) | {row.status: row.n for row in rows}


def events(conn: sa.Connection, operation_id: UUID, after: int = 0) -> list[Event]:
    query = sa.select(E).where(E.c.operation_id == operation_id, E.c.seq > after).order_by(E.c.seq)
    return [Event(row.seq, row.event, row.reason, row.at) for row in conn.execute(query)]


def notices(conn: sa.Connection, operation_id: UUID) -> dict[str, Notice]:
    rows = conn.execute(sa.select(N).where(N.c.operation_id == operation_id))
    return {row.subscriber: Notice(row.subscriber, row.status, row.remote_id, row.error, row.since) for row in rows}


# -- changing


def begin(
    unit: Unit,
    kind: str,
    pool: str,
    content: str,
    params: Mapping[str, Any],
    *,
    item_id: UUID | None = None,
    borrow_id: UUID | None = None,
) -> Operation:
    """Store a new operation; somebody works on it from now on."""
    made = Operation(
        uuid7(),
        kind,
        pool,
        PENDING,
        None,
        content,
        json.dumps(params),
        item_id,
        borrow_id,
        0,
        unit.now,
        unit.now,
        None,
    )
    unit.conn.execute(sa.insert(O).values({name: getattr(made, name) for name in Operation.__slots__}))
    say(unit, made.id, CREATED)
    return made


def say(unit: Unit, operation_id: UUID, event: str, reason: str | None = None) -> None:
    """Add an event."""
    last = unit.conn.execute(sa.select(sa.func.max(E.c.seq)).where(E.c.operation_id == operation_id)).scalar() or 0
    values = {"operation_id": operation_id, "seq": last + 1, "event": event, "reason": reason, "at": unit.now}
    unit.conn.execute(sa.insert(E).values(values))
    hint(unit, CHANGED)


def claim(unit: Unit, operation_id: UUID, longest: float = 0.0) -> Operation | None:
    """Take the operation to work on it, for `longest` seconds at least; None if it is over or somebody else has it."""
    row = unit.conn.execute(sa.select(O).where(O.c.id == operation_id).with_for_update()).first()
    if row is None or row.status in {SUCCEEDED, FAILED} or row.due_at > unit.now:
        return None
    until = unit.now + span(CLAIMED_FOR + timedelta(seconds=longest))
    changed = {"status": IN_PROGRESS, "fence": row.fence + 1, "due_at": until}
    unit.conn.execute(sa.update(O).where(O.c.id == operation_id).values(changed))
    return _read(unit.conn.execute(sa.select(O).where(O.c.id == operation_id)).one())


def postpone(unit: Unit, operation: Operation, delay: timedelta) -> None:
    """Release the operation until a subscriber is asked again."""
    unit.conn.execute(
        sa.update(O)
        .where(O.c.id == operation.id, O.c.fence == operation.fence, O.c.status == IN_PROGRESS)
        .values(due_at=unit.now + span(delay))
    )


def note(
    unit: Unit, operation: Operation, subscriber: str, status: str, remote_id: str | None, error: str | None
) -> bool:
    """Store what a subscriber answered; False if somebody else works on the operation by now."""
    if not is_ours(unit, operation):
        return False
    which = (N.c.operation_id == operation.id, N.c.subscriber == subscriber)
    values = {"status": status, "remote_id": remote_id, "error": error[:2000] if error else None}
    if not unit.conn.execute(sa.update(N).where(*which).values(values)).rowcount:
        named = {"operation_id": operation.id, "subscriber": subscriber, "since": unit.now}
        unit.conn.execute(sa.insert(N).values(**named, **values))
    return True


def end(unit: Unit, operation: Operation, failure: str | None, *, item_id: UUID | None = None) -> None:
    """Write down how the operation ended."""
    if failure is None:
        say(unit, operation.id, NOTIFIED)
        say(unit, operation.id, COMPLETED)
    else:
        say(unit, operation.id, BROKEN, failure[:2000])
    unit.conn.execute(
        sa.update(O)
        .where(O.c.id == operation.id)
        .values(
            status=SUCCEEDED if failure is None else FAILED,
            message=failure[:2000] if failure else None,
            item_id=item_id or operation.item_id,
            content="",  # it may contain secrets, and nobody needs it any more
            params="{}",
            due_at=None,
            ended_at=unit.now,
        )
    )


def is_ours(unit: Unit, operation: Operation) -> bool:
    """Whether the operation is still worked on under this fence; locked until the commit."""
    row = unit.conn.execute(sa.select(O.c.fence, O.c.status).where(O.c.id == operation.id).with_for_update()).first()
    return row is not None and row.fence == operation.fence and row.status not in {SUCCEEDED, FAILED}


def forget(unit: Unit, operation_id: UUID) -> bool:
    """Delete an operation that is over; False if it is not."""
    row = unit.conn.execute(sa.select(O.c.status).where(O.c.id == operation_id).with_for_update()).first()
    if row is None or row.status not in {SUCCEEDED, FAILED}:
        return False
    for table in (E, N):
        unit.conn.execute(sa.delete(table).where(table.c.operation_id == operation_id))
    unit.conn.execute(sa.delete(O).where(O.c.id == operation_id))
    return True
