"""Signs all history rows and actions since the last checkpoint, in one short transaction each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any
from uuid import UUID

import sqlalchemy as sa

from interlock.engine.audit import purges
from interlock.engine.audit.checkpoints import (
    CURSOR,
    FIRST,
    LEAF,
    WHAT,
    Checkpoint,
    action_half,
    actions_of,
    digest,
    half,
    leaves,
    moved,
    newest,
    place,
    raw,
    require_kept,
    require_trusted,
    signed_text,
)
from interlock.engine.audit.signing import Keys
from interlock.store import SECOND, Micros, Store, positions
from interlock.store.positions import Position
from interlock.store.retention_tables import checkpoint as C
from interlock.store.service_tables import action, cursor
from interlock.store.sql import upsert
from interlock.store.tables import history as H

MOST = 20_000
"""History rows per checkpoint, so that its transaction is short."""
WINDOW = 86_400 * SECOND
"""How far back unsigned actions are searched: a clock may have stepped."""


@dataclass(frozen=True, slots=True)
class _New:
    """What is new since the last checkpoint."""

    before: Any | None
    after: Position
    upto: Position
    rows: int
    leaves: bytes
    actions: bytes
    purges: purges.Link

    @property
    def anything(self) -> bool:
        known = self.before.purges if self.before is not None else 0
        return bool(self.rows or self.actions or self.purges.no > known)

    @property
    def full(self) -> bool:
        """Whether there may be more for another checkpoint."""
        return self.rows >= MOST or len(self.actions) >= MOST * LEAF.size


@dataclass(frozen=True, slots=True)
class _Made:
    no: int
    at: Micros
    rows: int
    leaves: bytes
    actions: bytes
    purges: int
    purge_hash: bytes
    xact: int
    pos: int
    vouched: int
    former: str | None
    key_id: str
    before: bytes


def write(
    store: Store,
    keys: Keys,
    now: Micros,
    *,
    new_key: bool = False,
    kept: Checkpoint | None = None,
    sweep: bool = True,
) -> Iterator[Checkpoint]:
    """Sign all that is new since the last checkpoint: several checkpoints if it is much, none if it is nothing.

    `new_key` allows another key than that of the last checkpoint, which is lost. `kept` is the last checkpoint that was
    stored elsewhere: a database without it is not signed. With `sweep`, all actions are searched for unsigned ones,
    otherwise those of the last day. Raises Forged if the last checkpoint, or `kept`, differs from the database.
    """
    while True:
        new = store.read(lambda conn: _look(conn, now, sweep))
        if not new.anything:
            return
        made = store.write(lambda conn, new=new: _write(conn, new, keys, now, new_key, kept), name="checkpoint")  # type: ignore[misc]
        if made is None:
            return  # another process was faster
        yield made
        if not new.full:
            return


def _look(conn: sa.Connection, now: Micros, sweep: bool = True) -> _New:
    named, before = moved(conn), newest(conn)
    after, order = place(before, named), positions.order(conn)
    columns = (H.c.instance_id, H.c.seq, H.c.hash, H.c.xact, H.c.pos)
    query = sa.select(*columns).where(*order.settled(after)).order_by(*order.columns).limit(MOST)
    rows = conn.execute(query).all()
    heads: dict[UUID, Any] = {}
    for row in rows:
        # The highest seq, not the last in the feed, which is ordered by the beginning of transactions.
        if row.instance_id not in heads or row.seq > heads[row.instance_id].seq:
            heads[row.instance_id] = row
    leaves = b"".join(LEAF.pack(row.instance_id.bytes, row.seq, half(row.hash)) for row in heads.values())
    upto = Position(rows[-1].xact, rows[-1].pos) if rows else after
    since = None if sweep or before is None else min(before.at, now) - WINDOW
    action_leaves = b"".join(
        LEAF.pack(row.id.bytes, _second(row.at), action_half(row)) for row in _new_actions(conn, since)
    )
    return _New(before, after, upto, len(rows), leaves, action_leaves, purges.last(conn))


def _second(at: Any) -> int:
    return min(max(at // SECOND, 0), 2**32 - 1) if isinstance(at, int) else 0


def _new_actions(conn: sa.Connection, since: Micros | None) -> Iterator[Any]:
    """Actions that no checkpoint has signed. Their order does not matter: their times come from many clocks."""
    query = sa.select(action.c.id).order_by(action.c.at, action.c.id)
    if since is not None:
        query = query.where(action.c.at >= since)
    wanted = dict.fromkeys(found.bytes for found in conn.execute(query).scalars())
    if wanted:
        for blob in conn.execute(sa.select(C.c.actions).where(C.c.actions != b"")).scalars():
            for one, _, _ in leaves(blob):
                wanted.pop(one.bytes, None)
    rest = [UUID(bytes=one) for one in islice(wanted, MOST)]
    for start in range(0, len(rest), 500):
        yield from actions_of(conn, rest[start : start + 500])


def _write(
    conn: sa.Connection, new: _New, keys: Keys, now: Micros, new_key: bool = False, kept: Checkpoint | None = None
) -> Checkpoint | None:
    begun = new.after  # otherwise a restored database would start at its beginning
    conn.execute(upsert(cursor).on_conflict_do_nothing(), [{"name": CURSOR, "xact": begun.xact, "pos": begun.pos}])
    conn.execute(sa.select(cursor).where(cursor.c.name == CURSOR).with_for_update()).one()
    before = newest(conn)
    if place(before, moved(conn)) != new.after or (before.no if before is not None else 0) != (
        new.before.no if new.before is not None else 0
    ):
        return None
    if before is not None:
        require_trusted(before, keys, new_key)
    if kept is not None:
        require_kept(conn, kept)
    end, vouched, former = new.purges, before.vouched if before is not None else 0, None
    if before is None or before.key_id != keys.id:
        # Purges up to here are accepted as they are; nobody may remove anything unsealed meanwhile.
        purges.lock(conn)
        end = purges.last(conn)
        vouched, former = end.no, before.key_id if before is not None else None
    said = _Made(
        before.no + 1 if before is not None else 1,
        now,
        (before.rows if before is not None else 0) + new.rows,
        new.leaves,
        new.actions,
        end.no,
        end.hash,
        new.upto.xact,
        new.upto.pos,
        vouched,
        former,
        keys.id,
        raw(before.hash) if before is not None else FIRST,
    )
    hashed = digest(said)
    signed = keys.sign(WHAT, signed_text(said.no, now, hashed))
    values = {name: getattr(said, name) for name in _Made.__slots__}
    conn.execute(sa.insert(C).values(**values, hash=hashed, mac=signed.mac))
    conn.execute(sa.update(cursor).where(cursor.c.name == CURSOR).values(xact=new.upto.xact, pos=new.upto.pos))
    return Checkpoint(said.no, now, hashed, signed.key_id, signed.mac)
