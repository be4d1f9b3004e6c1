"""The feed: everything that happened, in an order in which nothing can appear behind a reader's back.

PostgreSQL gives out positions before it commits, so a row may become visible after one with a higher position. The
feed is therefore ordered by transaction first, and ends before the oldest transaction that is still under way:
whatever that one writes comes later in this order. SQLite has one writer, so there the position alone will do.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, NamedTuple
from uuid import UUID

import sqlalchemy as sa

from interlock.engine.errors import InvalidData
from interlock.store import Micros, Store
from interlock.store import tables as t

H, I = t.history, t.instance  # noqa: E741
LAST = 2**62
SETTLED = "(pg_snapshot_xmin(pg_current_snapshot()))::text::bigint"


class Position(NamedTuple):
    """A place in the feed: everything up to it was read."""

    xact: int
    pos: int

    def __str__(self) -> str:
        return f"{self.xact}-{self.pos}"

    @classmethod
    def parse(cls, text: str) -> Position:
        xact, dash, pos = text.partition("-")
        if not (dash and xact.isdecimal() and pos.isdecimal() and len(text) < 40):
            raise InvalidData(f"{text[:40]!r} is no position in the feed; use the id of an event, such as 0-42")
        return cls(min(int(xact), LAST), min(int(pos), LAST))


START = Position(0, 0)


@dataclass(frozen=True, slots=True)
class Happening:
    """One row of the history with whose it is, without its payload."""

    position: Position
    instance_id: UUID
    workspace: str
    machine: str
    seq: int
    kind: str
    from_state: str | None
    to_state: str | None
    event: str | None
    actor: str
    at: Micros


def settled(dialect: str, after: Position) -> list[sa.ColumnElement[bool]]:
    """The conditions that a row lies behind the position, and no other can come before it any more."""
    if dialect == "sqlite":
        return [H.c.pos > after.pos]
    return [
        sa.tuple_(H.c.xact, H.c.pos) > sa.tuple_(sa.literal(after.xact), sa.literal(after.pos)),
        H.c.xact < sa.literal_column(SETTLED),
    ]


def order(dialect: str) -> list[sa.ColumnElement[Any]]:
    return [H.c.pos] if dialect == "sqlite" else [H.c.xact, H.c.pos]


def read(
    conn: sa.Connection, after: Position, *, limit: int = 1000, workspaces: Collection[str] | None = None
) -> list[Happening]:
    """What happened after the position, in order; only of these workspaces, if they are named."""
    dialect = conn.dialect.name
    query = (
        sa.select(
            H.c.xact,
            H.c.pos,
            H.c.instance_id,
            I.c.workspace,
            I.c.machine,
            H.c.seq,
            H.c.kind,
            H.c.from_state,
            H.c.to_state,
            H.c.event,
            H.c.actor,
            H.c.at,
        )
        .join(I, I.c.id == H.c.instance_id)
        .where(*settled(dialect, after))
        .order_by(*order(dialect))
        .limit(limit)
    )
    if workspaces is not None:
        query = query.where(I.c.workspace.in_(workspaces))
    return [Happening(Position(row[0], row[1]), *tuple(row)[2:]) for row in conn.execute(query)]


def now(conn: sa.Connection) -> Position:
    """The end of the feed: what comes after it has not happened yet, or is not settled."""
    if conn.dialect.name == "sqlite":
        return Position(0, conn.execute(sa.select(sa.func.max(H.c.pos))).scalar() or 0)
    return Position(conn.exec_driver_sql(f"SELECT {SETTLED} - 1").scalar_one(), LAST)


def latest(conn: sa.Connection) -> Micros:
    """The latest moment on record: of the last history row, and of the workers' heartbeats."""
    last = [H.c.pos.desc()] if conn.dialect.name == "sqlite" else [H.c.xact.desc(), H.c.pos.desc()]
    happened: Micros | None = conn.execute(sa.select(H.c.at).order_by(*last).limit(1)).scalar()
    beaten: Micros | None = conn.execute(sa.select(sa.func.max(t.worker.c.beat_at))).scalar()
    return max(happened or 0, beaten or 0)


def mend(store: Store) -> int:
    """A database that was restored from a dump counts its transactions anew: rows from its past life go first.

    Their number is taken out of them, with the trigger off, so that the feed does not wait until the new count has
    caught up. How many rows that were; nearly always none, and finding that out costs one look into an index.
    """
    if store.dialect == "sqlite":
        return 0

    def ahead(conn: sa.Connection) -> bool:
        newest = conn.execute(sa.select(sa.func.max(H.c.xact))).scalar() or 0
        present: int = conn.exec_driver_sql(
            "SELECT (pg_snapshot_xmax(pg_current_snapshot()))::text::bigint"
        ).scalar_one()
        return newest >= present

    def run(conn: sa.Connection) -> int:
        if not ahead(conn):
            return 0
        conn.exec_driver_sql("ALTER TABLE history DISABLE TRIGGER history_keep")
        done = conn.execute(sa.update(H).where(H.c.xact > 0).values(xact=0))
        conn.exec_driver_sql("ALTER TABLE history ENABLE TRIGGER history_keep")
        conn.exec_driver_sql("UPDATE cursor SET xact = 0")
        # In the new order some that are signed would come after some that are not: all is signed once more.
        conn.exec_driver_sql("UPDATE cursor SET pos = 0 WHERE name = 'audit'")
        return done.rowcount

    return store.schema(run) if store.read(ahead) else 0
