"""Deletes expired rows in bounded batches. Any process may run it."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import sqlalchemy as sa

from interlock.engine.unit import Unit
from interlock.people import attempts, sessions
from interlock.store import span
from interlock.store.service_tables import idempotency as I
from interlock.store.service_tables import login_attempt as L
from interlock.store.service_tables import login_link as K
from interlock.store.service_tables import login_session as S

BATCH = 500
ANSWERS_KEPT = span(timedelta(days=7))


def clean_up(unit: Unit, batch: int = BATCH) -> int:
    """Delete old attempts, ended sessions, links and idempotent answers. Returns how many; repeat until it is 0."""
    now = unit.now
    over = sa.or_(S.c.ended_at.is_not(None), S.c.until <= now, S.c.seen_at <= now - sessions.IDLE)
    old: list[tuple[sa.Table, sa.ColumnElement[bool]]] = [
        (L, L.c.at <= now - attempts.WINDOW),
        (S, over),
        (K, K.c.until <= now),
        (I, I.c.at <= now - ANSWERS_KEPT),
    ]
    return sum(_delete(unit, table, where, batch) for table, where in old)


def _delete(unit: Unit, table: sa.Table, where: sa.ColumnElement[bool], batch: int) -> int:
    columns = list(table.primary_key.columns)
    pick = sa.select(*columns).where(where).limit(batch).with_for_update(skip_locked=True)
    found = [tuple(row) for row in unit.conn.execute(pick)]
    if not found:
        return 0
    key: Any = sa.tuple_(*columns)
    return unit.conn.execute(sa.delete(table).where(key.in_(found))).rowcount
