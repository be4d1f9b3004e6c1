"""The feed: all history rows, in an order in which no row can appear before one that was already read.

The order is that of `store.positions`.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from uuid import UUID

import sqlalchemy as sa

from interlock.engine.errors import InvalidData
from interlock.store import Micros, Store, positions
from interlock.store import tables as t
from interlock.store.positions import LAST, Position

H, I = t.history, t.instance  # noqa: E741


def parse(text: str) -> Position:
    """Parse a position that `str` has written."""
    xact, dash, pos = text.partition("-")
    if not (dash and xact.isdecimal() and pos.isdecimal() and len(text) < 40):
        raise InvalidData(f"{text[:40]!r} is not a position in the feed; use the id of an event, such as 0-42")
    return Position(min(int(xact), LAST), min(int(pos), LAST))


@dataclass(frozen=True, slots=True)
class FeedEntry:
    """One history row with its instance, without its payload."""

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


def read(
    conn: sa.Connection, after: Position, *, limit: int = 1000, workspaces: Collection[str] | None = None
) -> list[FeedEntry]:
    """The entries after a position, in order. `workspaces` restricts them to those."""
    order = positions.order(conn)
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
        .where(*order.settled(after))
        .order_by(*order.columns)
        .limit(limit)
    )
    if workspaces is not None:
        query = query.where(I.c.workspace.in_(workspaces))
    return [FeedEntry(Position(row[0], row[1]), *tuple(row)[2:]) for row in conn.execute(query)]


def now(conn: sa.Connection) -> Position:
    """The end of the feed. Later rows do not exist yet, or are not visible to all yet."""
    return positions.order(conn).now(conn)


def latest(conn: sa.Connection) -> Micros:
    """The latest recorded time: of the last history row, and of heartbeats."""
    last = sa.select(H.c.at).order_by(*positions.order(conn).backwards).limit(1)
    happened: Micros | None = conn.execute(last).scalar()
    beaten: Micros | None = conn.execute(sa.select(sa.func.max(t.worker.c.beat_at))).scalar()
    return max(happened or 0, beaten or 0)


def reorder_restored(store: Store) -> int:
    """Reorder a history that was restored from a dump (see `positions.restart`). Returns the number of rows."""
    return store.schema(positions.restart) if store.read(positions.ahead) else 0
