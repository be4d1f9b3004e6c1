"""The waiting line of a pool: the borrower that came first gets the next free sandbox.

A borrower keeps its place by asking again. A place that is not renewed expires, so that nobody waits for a borrower
that is gone.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

import sqlalchemy as sa

from interlock.apps.sessions.allocator import pool
from interlock.apps.sessions.tables import sandbox_waiter as W
from interlock.engine.application import Unit
from interlock.store import Micros, span
from interlock.store.sql import upsert

PLACE = timedelta(seconds=30)
"""A borrower that does not ask again within this time loses its place."""
LOOK_AGAIN = timedelta(seconds=5)


@dataclass(frozen=True, slots=True)
class MustWait:
    """Nothing is free for this borrower now."""

    ahead: int
    """How many others wait before this one."""


def keep_place(unit: Unit, name: str, key: str) -> MustWait | None:
    """Take a place in the line, or keep it; None if an item is free for this borrower."""
    pool.lock(unit, name)
    until = unit.now + span(PLACE)
    values = {"pool": name, "key": key, "since": unit.now, "until": until}
    kept = upsert(W).values(values)
    unit.conn.execute(kept.on_conflict_do_update(index_elements=["pool", "key"], set_={"until": until}))
    unit.conn.execute(sa.delete(W).where(W.c.pool == name, W.c.until < unit.now))
    before = ahead(unit, name, key)
    return None if pool.counts(unit.conn, name).free > before else MustWait(before)


def ahead(unit: Unit, name: str, key: str) -> int:
    """How many wait before this one; all of them if it has no place."""
    mine = unit.conn.execute(sa.select(W.c.since).where(W.c.pool == name, W.c.key == key, W.c.until >= unit.now))
    since = mine.scalar()
    query = sa.select(sa.func.count()).where(W.c.pool == name, W.c.until >= unit.now, W.c.key != key)
    if since is not None:
        query = query.where(sa.or_(W.c.since < since, sa.and_(W.c.since == since, W.c.key < key)))
    return int(unit.conn.execute(query).scalar_one())


def leave(unit: Unit, name: str, key: str) -> None:
    """Give up a place; the pool has to be locked."""
    unit.conn.execute(sa.delete(W).where(W.c.pool == name, W.c.key == key))


def leave_line(unit: Unit, name: str, key: str) -> None:
    """Give up a place in line."""
    pool.lock(unit, name)
    leave(unit, name, key)


def first_in_line(conn: sa.Connection, name: str, now: Micros, limit: int) -> list[str]:
    """The keys of those who wait, in their order."""
    query = sa.select(W.c.key).where(W.c.pool == name, W.c.until >= now).order_by(W.c.since, W.c.key)
    return list(conn.execute(query.limit(limit)).scalars())


def waiting(conn: sa.Connection, name: str | None = None) -> int:
    """How many places in the line are taken, including those that expire soon."""
    query = sa.select(sa.func.count()).select_from(W)
    return int(conn.execute(query if name is None else query.where(W.c.pool == name)).scalar_one())
