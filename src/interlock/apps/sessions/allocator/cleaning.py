"""Removal of what ended long ago. A token that is removed is unknown afterwards, as if it had never been lent."""

from __future__ import annotations

import sqlalchemy as sa

from interlock.apps.sessions.allocator.lending import PUT_BACK, RELEASED, RETURNED
from interlock.apps.sessions.tables import sandbox_borrow as B
from interlock.apps.sessions.tables import sandbox_event as E
from interlock.apps.sessions.tables import sandbox_notice as N
from interlock.apps.sessions.tables import sandbox_operation as O
from interlock.engine.application import Unit
from interlock.store import Micros

AT_ONCE = 500


def remove_old(unit: Unit, before: Micros) -> int:
    """Delete operations and borrows that ended before then, some at a time; how many."""
    old = sa.select(O.c.id).where(O.c.ended_at < before).limit(AT_ONCE)
    operations = list(unit.conn.execute(old).scalars())
    for table, column in ((E, E.c.operation_id), (N, N.c.operation_id), (O, O.c.id)):
        if operations:
            unit.conn.execute(sa.delete(table).where(column.in_(operations)))
    ended = sa.select(B.c.id).where(B.c.status.in_((RETURNED, PUT_BACK, RELEASED)), B.c.ended_at < before)
    borrows = list(unit.conn.execute(ended.limit(AT_ONCE)).scalars())
    if borrows:
        unit.conn.execute(sa.delete(B).where(B.c.id.in_(borrows)))
    return len(operations) + len(borrows)
