"""Rows of worker processes: their heartbeats, and how others find out that one is lost."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

import sqlalchemy as sa

from interlock.engine import claim_batches, picking
from interlock.engine.errors import Fenced
from interlock.engine.values import anything
from interlock.store import Micros, span
from interlock.store.tables import claim_batch
from interlock.store.tables import worker as W

WORKER_LEASE = timedelta(seconds=20)
"""How long a heartbeat is valid. A worker sends one every quarter of this time."""


@dataclass(frozen=True, slots=True)
class WorkerRow:
    """A worker process, alive or not."""

    id: UUID
    host: str
    pid: int
    queues: tuple[str, ...]
    lock_file: str | None
    status: str
    beats: int
    clock_offset: Micros
    started_at: Micros
    beat_at: Micros
    until: Micros
    in_place: int


def _read(row: sa.Row[Any]) -> WorkerRow:
    values = dict(row._mapping)
    queues = anything(values["queues"])
    values["queues"] = tuple(map(str, queues)) if isinstance(queues, list) else ()
    return WorkerRow(**values)


def start(
    conn: sa.Connection,
    now: Micros,
    worker: UUID,
    *,
    host: str,
    pid: int,
    queues: Sequence[str],
    lock_file: str | None,
    lease: timedelta = WORKER_LEASE,
) -> None:
    conn.execute(
        sa.insert(W).values(
            id=worker,
            host=host,
            pid=pid,
            queues=json.dumps(list(queues)),
            lock_file=lock_file,
            status="alive",
            started_at=now,
            beat_at=now,
            until=now + span(lease),
            in_place=1,
        )
    )


def all_know_claims_in_place(conn: sa.Connection) -> bool:
    """Whether no process of an older version is working. It would take claims in place for ready work."""
    older = sa.select(W.c.id).where(sa.text("status IN ('alive', 'draining')"), W.c.in_place == 0)
    return conn.execute(older.limit(1)).first() is None


def beat(
    conn: sa.Connection, now: Micros, worker: UUID, *, offset: Micros = 0, lease: timedelta = WORKER_LEASE
) -> Micros:
    """Record a heartbeat. Returns until when it is valid. Raises Fenced if the worker is counted as lost."""
    until = now + span(lease)
    done = conn.execute(
        sa.update(W)
        .where(W.c.id == worker, W.c.status.in_(("alive", "draining")))
        .values(beat_at=now, until=until, beats=W.c.beats + 1, clock_offset=offset)
    )
    if done.rowcount != 1:
        raise Fenced(f"worker {worker} is counted as lost; other workers take over what it had claimed")
    return until


def mark(conn: sa.Connection, worker: UUID, status: str) -> None:
    conn.execute(sa.update(W).where(W.c.id == worker, W.c.status != "lost").values(status=status))


def alive(conn: sa.Connection) -> list[WorkerRow]:
    rows = conn.execute(sa.select(W).where(sa.text("status IN ('alive', 'draining')")).order_by(W.c.started_at))
    return [_read(row) for row in rows]


def every(conn: sa.Connection, limit: int = 100) -> list[WorkerRow]:
    return [_read(row) for row in conn.execute(sa.select(W).order_by(W.c.started_at.desc()).limit(limit))]


def gone_with_claims(conn: sa.Connection) -> list[UUID]:
    """Lost or stopped workers that still have claims: one was under way when they went."""
    from interlock.store.tables import instance

    claimed = sa.select(instance.c.holder).where(picking.wake_is("lease"))
    claims = sa.or_(W.c.id.in_(claimed), W.c.id.in_(sa.select(claim_batch.c.worker)))
    return list(conn.execute(sa.select(W.c.id).where(claims, W.c.status.in_(("lost", "stopped")))).scalars())


def claim_counts(conn: sa.Connection) -> dict[UUID, int]:
    """How many instances each worker has claimed."""
    from interlock.store.tables import instance

    rows = conn.execute(
        sa.select(instance.c.holder, sa.func.count()).where(picking.wake_is("lease")).group_by(instance.c.holder)
    )
    return dict(claim_batches.counts(conn) + Counter({row[0]: row[1] for row in rows}))


def claimed_by(conn: sa.Connection, worker: UUID, upto: Micros | None = None) -> dict[UUID, int]:
    """The instances that the worker has claimed, with their fences. With `upto`, without later claims in place."""
    from interlock.store.tables import instance

    rows = conn.execute(
        sa.select(instance.c.id, instance.c.fence).where(picking.wake_is("lease"), instance.c.holder == worker)
    )
    return {row.id: row.fence for row in rows} | claim_batches.of_worker(conn, worker, upto)
