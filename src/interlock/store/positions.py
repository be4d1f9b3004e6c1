"""Positions in the history: the order in which rows become visible, so that a reader misses none.

PostgreSQL gives out positions before it commits, so a row may become visible after one with a higher position. There
the order is by transaction first, and ends before the oldest transaction that is still under way: whatever that one
writes comes later in this order. SQLite has one writer, so there the position alone will do.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import sqlalchemy as sa

from interlock.store.tables import history as H

LAST = 2**62
SETTLED = "(pg_snapshot_xmin(pg_current_snapshot()))::text::bigint"
Condition = sa.ColumnElement[bool]


class Position(NamedTuple):
    """A place in the history: everything up to it was read."""

    xact: int
    pos: int

    def __str__(self) -> str:
        return f"{self.xact}-{self.pos}"


START = Position(0, 0)


class Order(ABC):
    """How one of the two databases orders its history. The places may be bound parameters."""

    columns: tuple[sa.ColumnElement[Any], ...]

    @property
    def backwards(self) -> list[sa.ColumnElement[Any]]:
        return [column.desc() for column in self.columns]

    @abstractmethod
    def after(self, place: Position) -> Condition:
        """The row lies behind the place."""

    @abstractmethod
    def upto(self, place: Position) -> Condition:
        """The row lies before the place, or at it."""

    @abstractmethod
    def settled(self, after: Position) -> list[Condition]:
        """The row lies behind the place, and no other can come before it any more."""

    @abstractmethod
    def now(self, conn: sa.Connection) -> Position:
        """The end: what comes after it has not happened yet, or is not settled."""


class ByPosition(Order):
    columns = (H.c.pos,)

    def after(self, place: Position) -> Condition:
        return H.c.pos > place.pos

    def upto(self, place: Position) -> Condition:
        return H.c.pos <= place.pos

    def settled(self, after: Position) -> list[Condition]:
        return [self.after(after)]

    def now(self, conn: sa.Connection) -> Position:
        return Position(0, conn.execute(sa.select(sa.func.max(H.c.pos))).scalar() or 0)


class ByTransaction(Order):
    columns = (H.c.xact, H.c.pos)

    def after(self, place: Position) -> Condition:
        return sa.tuple_(*self.columns) > _bound(place)

    def upto(self, place: Position) -> Condition:
        return sa.tuple_(*self.columns) <= _bound(place)

    def settled(self, after: Position) -> list[Condition]:
        return [self.after(after), H.c.xact < sa.literal_column(SETTLED)]

    def now(self, conn: sa.Connection) -> Position:
        return Position(conn.exec_driver_sql(f"SELECT {SETTLED} - 1").scalar_one(), LAST)


def _bound(place: Position) -> sa.Tuple:
    return sa.tuple_(*(value if isinstance(value, sa.BindParameter) else sa.literal(value) for value in place))


BY_POSITION, BY_TRANSACTION = ByPosition(), ByTransaction()


def order(conn: sa.Connection) -> Order:
    """The order of the history in this database."""
    return BY_POSITION if conn.dialect.name == "sqlite" else BY_TRANSACTION


def restart(conn: sa.Connection) -> int:
    """A database that was restored from a dump counts its transactions anew: rows from its past life go first.

    Their number is taken out of them, with the trigger off, so that no reader waits until the new count has caught
    up. How many rows that were.
    """
    if not ahead(conn):
        return 0
    conn.exec_driver_sql("ALTER TABLE history DISABLE TRIGGER history_keep")
    done = conn.execute(sa.update(H).where(H.c.xact > 0).values(xact=0))
    conn.exec_driver_sql("ALTER TABLE history ENABLE TRIGGER history_keep")
    conn.exec_driver_sql("UPDATE cursor SET xact = 0")
    # In the new order some that are signed would come after some that are not: all is signed once more.
    conn.exec_driver_sql("UPDATE cursor SET pos = 0 WHERE name = 'audit'")
    return done.rowcount


def ahead(conn: sa.Connection) -> bool:
    """Whether the history has transactions that this database has not had yet; one look into an index."""
    if conn.dialect.name == "sqlite":
        return False
    newest = conn.execute(sa.select(sa.func.max(H.c.xact))).scalar() or 0
    present: int = conn.exec_driver_sql("SELECT (pg_snapshot_xmax(pg_current_snapshot()))::text::bigint").scalar_one()
    return newest >= present
