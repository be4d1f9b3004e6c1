"""Checkpointing: sign all that happened since the last checkpoint, in one short transaction each."""

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
    agree,
    digest,
    half,
    leaves,
    moved,
    newest,
    place,
    raw,
    signed_text,
    trusted,
)
from interlock.engine.audit.signing import Keys
from interlock.store import SECOND, Micros, Store, positions
from interlock.store.positions import Position
from interlock.store.retention_tables import checkpoint as C
from interlock.store.service_tables import action, cursor
from interlock.store.sql import upsert
from interlock.store.tables import history as H

MOST = 20_000
"""History rows that one checkpoint covers: it is written in one short transaction."""
WINDOW = 86_400 * SECOND
"""How far back a checkpoint looks for actions that none has signed: a clock may have stepped."""


@dataclass(frozen=True, slots=True)
class _New:
    """What has happened since the last checkpoint."""

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
        """Whether there may be more for another one."""
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
    """Sign all that happened since the last checkpoint; several where it is much, none where it is nothing.

    With `new_key` the key may be another than that of the last one, which is lost: it is vouched for from here on.
    `kept` is the last one that was kept elsewhere: a database that does not have it is not signed. With `sweep` all
    actions are looked through for those that none has signed, else those of the last day. Forged if the last one, or
    the one that was kept, is not what the database has.
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
        # The highest seq, not the last in the feed: that is ordered by when transactions began, not by who came first.
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
    """Actions that no checkpoint has signed. No place in their order counts: their moments come from many clocks."""
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
    begun = new.after  # else a database that was restored would begin at its start
    conn.execute(upsert(cursor).on_conflict_do_nothing(), [{"name": CURSOR, "xact": begun.xact, "pos": begun.pos}])
    conn.execute(sa.select(cursor).where(cursor.c.name == CURSOR).with_for_update()).one()
    before = newest(conn)
    if place(before, moved(conn)) != new.after or (before.no if before is not None else 0) != (
        new.before.no if new.before is not None else 0
    ):
        return None
    if before is not None:
        trusted(before, keys, new_key)
    if kept is not None:
        agree(conn, kept)
    end, vouched, former = new.purges, before.vouched if before is not None else 0, None
    if before is None or before.key_id != keys.id:
        # What was removed up to here is vouched for as it is; nobody may remove something in between unsealed.
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
