"""Positions in the history: an order in which a reader misses no row.

PostgreSQL assigns positions before the commit, so a row may become visible after one with a higher position. There the
order is by transaction first, and ends before the oldest running transaction: its rows come later in this order. SQLite
has one writer, so there the order is by position alone.
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
    """A position in the history: everything up to it was read."""

    xact: int
    pos: int

    def __str__(self) -> str:
        return f"{self.xact}-{self.pos}"


START = Position(0, 0)


class Order(ABC):
    """The order of the history in one kind of database. Positions may be bound parameters."""

    columns: tuple[sa.ColumnElement[Any], ...]

    @property
    def backwards(self) -> list[sa.ColumnElement[Any]]:
        return [column.desc() for column in self.columns]

    @abstractmethod
    def after(self, place: Position) -> Condition:
        """The condition that a row is after the position."""

    @abstractmethod
    def upto(self, place: Position) -> Condition:
        """The condition that a row is at the position or before it."""

    @abstractmethod
    def settled(self, after: Position) -> list[Condition]:
        """The conditions that a row is after the position, and that no new row can come before it."""

    @abstractmethod
    def now(self, conn: sa.Connection) -> Position:
        """The end of the history. Later rows do not exist yet, or are not settled."""


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
    """Reorder a database that was restored from a dump, whose transaction numbers start again.

    The numbers of the old rows are removed, with the trigger off. Otherwise readers would wait until the new numbers
    have caught up. Returns the number of rows.
    """
    if not ahead(conn):
        return 0
    conn.exec_driver_sql("ALTER TABLE history DISABLE TRIGGER history_keep")
    done = conn.execute(sa.update(H).where(H.c.xact > 0).values(xact=0))
    conn.exec_driver_sql("ALTER TABLE history ENABLE TRIGGER history_keep")
    conn.exec_driver_sql("UPDATE cursor SET xact = 0")
    # In the new order, signed rows may come after unsigned ones: everything is signed again.
    conn.exec_driver_sql("UPDATE cursor SET pos = 0 WHERE name = 'audit'")
    return done.rowcount


def ahead(conn: sa.Connection) -> bool:
    """Whether the history has transaction numbers that this database has not reached. It reads one index."""
    if conn.dialect.name == "sqlite":
        return False
    newest = conn.execute(sa.select(sa.func.max(H.c.xact))).scalar() or 0
    present: int = conn.exec_driver_sql("SELECT (pg_snapshot_xmax(pg_current_snapshot()))::text::bigint").scalar_one()
    return newest >= present
