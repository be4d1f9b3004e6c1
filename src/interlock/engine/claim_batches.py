"""Claims in place: a batch of plain claims that touches no index, and the row that lists it.

A lease in `wake` and `due_at` writes a new version of the row and an entry into every index that covers it. A claim in
place changes only columns that no index has, so PostgreSQL updates the row where it is, and SQLite no index at all. The
row stays in the index of ready work, where other claims pass over it.

No index finds such a claim by its holder. So its transaction writes one row of `claim_batch`, with the worker and the
ids. It commits with the claims: a claim whose commit was not confirmed is found by it, and so is one that arrived after
its worker was declared lost. The row goes when all its claims are finished. Claims older than `YOUNG` are settled: they
get a lease that the index finds, whoever holds them. So what is claimed for long does not stay at the head of the ready
index. Whatever changes an instance writes its lease as well.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import timedelta
from itertools import chain
from typing import Any
from uuid import UUID

import sqlalchemy as sa

from interlock.engine.unit import Unit
from interlock.store import Micros, span
from interlock.store.prepared import Prepared
from interlock.store.sql import LEASES_IN_PLACE, REMOVE_BATCHES, SETTLE_LEASES, ids_of, one_of
from interlock.store.tables import claim_batch as B

YOUNG = timedelta(seconds=1)
"""How long claims may stay in place."""
AHEAD = timedelta(minutes=1)
"""A batch from later than this was written by a clock that was wrong. It is settled at once."""
SETTLED_TOGETHER = 50
SMALLEST = 16
"""From this number of plain claims on they are made in place. For fewer, the row that lists them costs more."""
_OF_WORKER = Prepared(
    sa.select(B.c.ids).where(B.c.worker == sa.bindparam("worker", type_=sa.Uuid), B.c.at <= sa.bindparam("upto"))
)
LAST = 2**62


def write(unit: Unit, batch: UUID, worker: UUID, ids: Iterable[UUID]) -> None:
    """List claims in place, in their transaction."""
    unit.insert(B, id=batch, worker=worker, at=unit.now, ids=b"".join(one.bytes for one in ids))


def remove(conn: sa.Connection, batches: Sequence[UUID]) -> None:
    """Remove batches whose claims are all finished."""
    if batches:
        REMOVE_BATCHES.run(conn, ids=ids_of(conn, batches))


def settle(unit: Unit, workers: Sequence[UUID] | None = None) -> int:
    """Settle old claims in place, or all those of some workers. Returns how many batches are left because others have
    locked rows of them.
    """
    conn, left = unit.conn, 0
    which = _is_old(unit.now) if workers is None else B.c.worker.in_(workers)
    tried: list[UUID] = []
    while True:
        fresh = B.c.id.not_in(tried) if tried else sa.true()
        query = sa.select(B.c.id, B.c.ids).where(which, fresh).order_by(B.c.at).limit(SETTLED_TOGETHER)
        found = conn.execute(query.with_for_update(skip_locked=True)).all()
        if not found:
            return left
        tried += [row.id for row in found]
        given = one_of(conn, [one.hex for one in sorted(chain.from_iterable(_ids(row.ids) for row in found))])
        SETTLE_LEASES.count(conn, ids=given)
        locked = {row[0] for row in LEASES_IN_PLACE.rows(conn, ids=given)}
        done = [row.id for row in found if locked.isdisjoint(_ids(row.ids))]
        left += len(found) - len(done)
        remove(conn, done)


def anything_old(conn: sa.Connection, now: Micros) -> bool:
    """Whether `settle` would find something. It takes no lock."""
    return conn.execute(sa.select(B.c.id).where(_is_old(now)).limit(1)).first() is not None


def next_due(conn: sa.Connection) -> Micros | None:
    """When the next claims in place are to be settled."""
    first: Micros | None = conn.execute(sa.select(sa.func.min(B.c.at))).scalar()
    return None if first is None else first + span(YOUNG)


def of_worker(conn: sa.Connection, worker: UUID, upto: Micros | None = None) -> dict[UUID, int]:
    """The instances that the worker has claimed in place, up to a moment, with their fences."""
    rows = _OF_WORKER.rows(conn, worker=worker, upto=LAST if upto is None else upto)
    ids = [one for (stored,) in rows for one in _ids(stored)]
    return {row[0]: row[2] for row in _in_place(conn, ids) if row[1] == worker}


def counts(conn: sa.Connection) -> Counter[UUID]:
    """How many instances each worker has claimed in place."""
    ids = [one for (stored,) in conn.execute(sa.select(B.c.ids)) for one in _ids(stored)]
    return Counter(row[1] for row in _in_place(conn, ids))


def _in_place(conn: sa.Connection, ids: list[UUID]) -> list[tuple[Any, ...]]:
    return LEASES_IN_PLACE.rows(conn, ids=one_of(conn, [one.hex for one in ids])) if ids else []


def _ids(stored: Any) -> list[UUID]:
    """The ids of a batch. A row that was written by hand may have anything else; that lists nothing."""
    whole = stored if isinstance(stored, bytes) else b""
    return [UUID(bytes=whole[start : start + 16]) for start in range(0, len(whole) - 15, 16)]


def _is_old(now: Micros) -> sa.ColumnElement[bool]:
    return sa.or_(B.c.at <= now - span(YOUNG), B.c.at > now + span(AHEAD))
