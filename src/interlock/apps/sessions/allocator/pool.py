"""Pools and their items: each change of an item changes the counts of its pool in the same transaction.

Lock a pool before one of its items is read for a change. All changes of one pool therefore happen one after the other.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import sqlalchemy as sa
from uuid_utils.compat import uuid7

from interlock.apps.sessions.tables import sandbox_item as I
from interlock.apps.sessions.tables import sandbox_pool as P
from interlock.engine import NotFound
from interlock.engine.application import Unit, hint
from interlock.store import Micros
from interlock.store.sql import upsert

FREE, BORROWED, IN_RETURN, QUARANTINED = "free", "borrowed", "in_return", "quarantined"
STATES = (FREE, BORROWED, IN_RETURN, QUARANTINED)
FREED = "*sandboxes"
"""The hint that an item became free."""


@dataclass(frozen=True, slots=True)
class Counts:
    """How many items of a pool are in which state."""

    pool: str
    total: int = 0
    free: int = 0
    borrowed: int = 0
    in_return: int = 0
    quarantined: int = 0


@dataclass(frozen=True, slots=True)
class Item:
    """One item of a pool. The content may contain secrets."""

    id: UUID
    pool: str
    slot: int
    content: str
    digest: str
    state: str
    borrow_id: UUID | None
    since: Micros
    note: str | None

    @property
    def value(self) -> Any:
        return json.loads(self.content)


def canonical(content: Any) -> str:
    """The content as text: equal contents have equal texts, whatever the order of their keys."""
    return json.dumps(content, sort_keys=True, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


# -- reading


def counts(conn: sa.Connection, pool: str) -> Counts:
    """The counts of a pool; zeros for one that does not exist."""
    return next((one for one in all_counts(conn) if one.pool == pool), Counts(pool))


def all_counts(conn: sa.Connection) -> list[Counts]:
    """The counts of all pools."""
    rows = conn.execute(sa.select(P).order_by(P.c.name))
    return [Counts(r.name, r.total, r.free, r.borrowed, r.in_return, r.quarantined) for r in rows]


def items(conn: sa.Connection, pool: str | None = None, states: tuple[str, ...] = STATES) -> list[Item]:
    """Items in these states, by pool and slot."""
    query = sa.select(I).where(I.c.state.in_(states)).order_by(I.c.pool, I.c.slot)
    return [_read(row) for row in conn.execute(query if pool is None else query.where(I.c.pool == pool))]


def find(conn: sa.Connection, item_id: UUID) -> Item | None:
    row = conn.execute(sa.select(I).where(I.c.id == item_id)).first()
    return _read(row) if row is not None else None


def with_digest(conn: sa.Connection, wanted: str) -> list[Item]:
    """Items with this content; two equal ones are two."""
    return [_read(row) for row in conn.execute(sa.select(I).where(I.c.digest == wanted).order_by(I.c.slot))]


def miscounted(conn: sa.Connection) -> list[str]:
    """Pools whose counts are not those of their items; there are none unless somebody edited the tables."""
    rows = conn.execute(sa.select(I.c.pool, I.c.state, sa.func.count().label("n")).group_by(I.c.pool, I.c.state))
    found: dict[str, dict[str, int]] = {}
    for row in rows:
        found.setdefault(row.pool, {})[row.state] = row.n
    pools = {one.pool: {state: getattr(one, state) for state in STATES} for one in all_counts(conn)}
    none = dict.fromkeys(STATES, 0)
    return sorted(name for name in found | pools if {**none, **found.get(name, {})} != pools.get(name, none))


def _read(row: Any) -> Item:
    return Item(row.id, row.pool, row.slot, row.content, row.digest, row.state, row.borrow_id, row.since, row.note)


# -- changing


def lock(unit: Unit, pool: str) -> Counts:
    """The pool, locked until the commit; it is created if it does not exist."""
    empty = {"name": pool, **dict.fromkeys(("total", *STATES), 0)}
    unit.conn.execute(upsert(P).values(empty).on_conflict_do_nothing())
    r = unit.conn.execute(sa.select(P).where(P.c.name == pool).with_for_update()).one()
    return Counts(r.name, r.total, r.free, r.borrowed, r.in_return, r.quarantined)


def locked_item(unit: Unit, item_id: UUID) -> Item:
    """The item, with its pool locked."""
    seen = find(unit.conn, item_id)
    if seen is None:
        raise NotFound(f"there is no sandbox {item_id}")
    lock(unit, seen.pool)
    row = unit.conn.execute(sa.select(I).where(I.c.id == item_id).with_for_update()).first()
    if row is None:
        raise NotFound(f"there is no sandbox {item_id}")
    return _read(row)


def add(unit: Unit, pool: str, content: str, slot: int | None = None) -> Item:
    """Add a free item, in this slot or the next."""
    lock(unit, pool)
    if slot is None:
        slot = 1 + (unit.conn.execute(sa.select(sa.func.max(I.c.slot)).where(I.c.pool == pool)).scalar() or 0)
    made = Item(uuid7(), pool, slot, content, digest(content), FREE, None, unit.now, None)
    unit.conn.execute(
        sa.insert(I).values(
            id=made.id,
            pool=pool,
            slot=slot,
            content=content,
            digest=made.digest,
            state=FREE,
            since=unit.now,
        )
    )
    unit.conn.execute(sa.update(P).where(P.c.name == pool).values(total=P.c.total + 1, free=P.c.free + 1))
    hint(unit, FREED)
    return made


def put(unit: Unit, item: Item, state: str, *, borrow_id: UUID | None = None, note: str | None = None) -> None:
    """Move an item, whose pool is locked, to another state, and the counts with it."""
    unit.conn.execute(
        sa.update(I)
        .where(I.c.id == item.id)
        .values(state=state, borrow_id=borrow_id, since=unit.now, note=note[:2000] if note else None)
    )
    if state != item.state:
        moved = {item.state: P.c[item.state] - 1, state: P.c[state] + 1}
        unit.conn.execute(sa.update(P).where(P.c.name == item.pool).values(moved))
    if state == FREE:
        hint(unit, FREED)


def replace(unit: Unit, item: Item, content: str) -> None:
    """Give a free item, whose pool is locked, another content."""
    unit.conn.execute(sa.update(I).where(I.c.id == item.id).values(content=content, digest=digest(content)))


def remove(unit: Unit, item: Item) -> None:
    """Take an item, whose pool is locked, out of its pool for good."""
    unit.conn.execute(sa.delete(I).where(I.c.id == item.id))
    fewer = {"total": P.c.total - 1, item.state: P.c[item.state] - 1}
    unit.conn.execute(sa.update(P).where(P.c.name == item.pool).values(fewer))
