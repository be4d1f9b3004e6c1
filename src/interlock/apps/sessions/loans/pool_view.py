"""The pools as people may see them: each sandbox, who has it, who waits, and what does not agree. No secrets.

An allocator elsewhere shows only what loans of this installation hold: the rest is its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

import sqlalchemy as sa

from interlock.apps.sessions.allocator import lending, pool, waiting_line
from interlock.apps.sessions.allocator.pool import Counts, Item
from interlock.apps.sessions.loans.keys import loan_in
from interlock.apps.sessions.loans.reconciling import Drift, drifts
from interlock.apps.sessions.machine import loan
from interlock.apps.sessions.settings import SessionSettings
from interlock.apps.sessions.tables import sandbox_loan
from interlock.engine import Instance
from interlock.engine.application import instances
from interlock.store import Micros

MOST = 10_000


@dataclass(frozen=True, slots=True)
class SandboxRow:
    """One sandbox."""

    item_id: str
    pool: str
    name: str
    """What the item calls itself, or a part of its id."""
    state: str
    since: Micros
    note: str | None
    borrower: str | None
    """Who has it, as people see it."""
    until: Micros | None
    """When its borrower has to have renewed it."""
    loan_id: UUID | None
    session_id: UUID | None
    workspace: str | None
    """The workspace of the session that has it."""


@dataclass(frozen=True, slots=True)
class PoolView:
    """Everything about sandboxes at one moment."""

    allocator: str
    """`inside`, or the address of the allocator."""
    counts: tuple[Counts, ...]
    sandboxes: tuple[SandboxRow, ...]
    waiting: int
    """Places in line, those included that lapse soon."""
    drifts: tuple[Drift, ...]


def pool_view(conn: sa.Connection, settings: SessionSettings, now: Micros) -> PoolView:
    """The pools, their sandboxes and their borrowers."""
    if settings.allocator.url is not None:
        return PoolView(settings.allocator.url, (), _held(conn, settings.allocator.url), 0, tuple(drifts(conn, now)))
    counts = tuple(pool.all_counts(conn))
    found = pool.items(conn)
    holders = {one.item_id: one for one in lending.holders(conn)}
    loans = _loans(conn, [its for one in holders.values() if (its := loan_in(one.key)) is not None])
    rows = tuple(_row(one, holders.get(one.id), loans) for one in found)
    return PoolView("inside", counts, rows, waiting_line.waiting(conn), tuple(drifts(conn, now)))


def _row(one: Item, holder: lending.Holder | None, loans: dict[UUID, Instance]) -> SandboxRow:
    its = loans.get(loan_in(holder.key) or one.id) if holder is not None else None
    return SandboxRow(
        item_id=str(one.id),
        pool=one.pool,
        name=_name(one),
        state=one.state,
        since=one.since,
        note=one.note,
        borrower=holder.borrower if holder is not None else None,
        until=holder.until if holder is not None else None,
        loan_id=its.id if its is not None else None,
        session_id=its.parent if its is not None else None,
        workspace=its.workspace if its is not None else None,
    )


def _name(one: Item) -> str:
    value = one.value
    name = value.get("name") if isinstance(value, dict) else None
    return name[:60] if isinstance(name, str) and name else str(one.id)[-12:]


def _held(conn: sa.Connection, allocator: str) -> tuple[SandboxRow, ...]:
    """What loans here hold of an allocator elsewhere."""
    query = sa.select(sandbox_loan.c.loan_id, sandbox_loan.c.item_id, sandbox_loan.c.lent_at).where(
        sandbox_loan.c.ended_at.is_(None), sandbox_loan.c.allocator == allocator
    )
    rows = conn.execute(query.order_by(sandbox_loan.c.lent_at).limit(MOST)).all()
    loans = _loans(conn, [row.loan_id for row in rows])
    return tuple(
        SandboxRow(
            item_id=row.item_id or "",
            pool="",
            name=(row.item_id or "")[-12:],
            state=loans[row.loan_id].state if row.loan_id in loans else "held",
            since=row.lent_at,
            note=None,
            borrower=f"session {loans[row.loan_id].parent}" if row.loan_id in loans else None,
            until=None,
            loan_id=row.loan_id,
            session_id=loans[row.loan_id].parent if row.loan_id in loans else None,
            workspace=loans[row.loan_id].workspace if row.loan_id in loans else None,
        )
        for row in rows
    )


def _loans(conn: sa.Connection, ids: list[UUID]) -> dict[UUID, Instance]:
    found = instances(conn, loan.name, ids=ids, limit=len(ids)) if ids else []
    return {one.id: one for one in found}
