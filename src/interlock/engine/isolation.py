"""Isolation: one bad item of a batch must not stop the others.

A batch runs in one transaction. If one item raises an error, its changes alone are undone (`Unit.attempt`), and it
fails by the rules of its machine. An error that breaks the whole transaction, such as a value that the database
refuses, is handled here: each item gets a transaction of its own, and one that fails again goes to the dead letters. So
a bad item costs the others one slow round, and then nothing.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING
from uuid import UUID

import sqlalchemy as sa

from interlock.engine import (
    claim_batches,
    claiming,
    due,
    error_details,
    last_resort,
    limits,
    questions,
    unknown_effects,
    workers,
)
from interlock.engine.claiming import Claim
from interlock.engine.unit import Unit
from interlock.store import StoreClosed, StoreError, span
from interlock.store import tables as t

if TYPE_CHECKING:
    from interlock.engine.engine import Engine

log = logging.getLogger("interlock.engine")
POSTPONED = timedelta(hours=1)
"""When an item that cannot even be put to the dead letters is tried again."""


def must_raise(error: BaseException) -> bool:
    """Whether an error is not that of one item: the same write may succeed later, or the process is stopping."""
    if isinstance(error, StoreError):
        return error.retryable or isinstance(error, StoreClosed)
    return isinstance(error, KeyboardInterrupt)


def tick(engine: Engine) -> int:
    """Do what is due, together, and one by one if that fails."""
    try:
        done = engine.write(due.tick, name="tick")
    except BaseException as error:
        if must_raise(error):
            raise
        log.warning("due work failed as a batch (%s); trying one by one", error_summary(error))
        engine.write(claim_batches.settle, name="tick")
        done = sum(_one_by_one(engine, kind) for kind in due.DUE_KINDS)
        done += engine.write(limits.free_blocked, name="tick")
    # In a transaction of its own: it waits for locks of instances, and must not keep others locked meanwhile.
    if engine.read(lambda conn: unknown_effects.anything_due(conn, engine.clock.now())):
        done += engine.write(unknown_effects.sweep, name="tick")
    if engine.read(lambda conn: questions.anything_due(conn, engine.clock.now())):
        done += engine.write(questions.sweep, name="tick")
    return done


def take_back(engine: Engine, dead: Sequence[UUID], beats: Mapping[UUID, int] | None) -> int:
    """Take back the claims of lost workers, together, and one by one if that fails."""
    try:
        return engine.write(lambda unit: due.lost_workers(unit, dead, beats), name="take_back")
    except BaseException as error:
        if must_raise(error):
            raise
        log.warning(
            "taking back the claims of lost workers failed as a batch (%s); trying one by one", error_summary(error)
        )
    if beats is not None:  # a worker that has sent a heartbeat since is not lost
        now = {worker.id: worker.beats for worker in engine.read(workers.alive)}
        dead = [one for one in dead if now.get(one) == beats.get(one)]
    engine.write(lambda unit: claim_batches.settle(unit, dead), name="take_back")
    done = _one_by_one(engine, due.claimed_by(dead))
    return done + engine.write(lambda unit: due.lost_workers(unit, dead, beats), name="take_back")


def claim(engine: Engine, worker: UUID, queues: Sequence[str], count: int, turn: int = 0) -> list[Claim]:
    """Claim, together, and one by one if that fails."""
    try:
        return engine.write(lambda unit: claiming.claim(unit, worker, queues, count, turn), name="claim")
    except BaseException as error:
        if must_raise(error):
            raise
        log.warning("claiming %d failed as a batch (%s); trying one by one", count, error_summary(error))
    return claim_one_by_one(engine, worker, queues, count, turn)


def claim_one_by_one(engine: Engine, worker: UUID, queues: Sequence[str], count: int, turn: int) -> list[Claim]:
    """Claim with a transaction for each. One that fails goes to the dead letters."""
    claims: list[Claim] = []
    for _ in range(count):
        picked: list[tuple[UUID, int]] = []

        def job(unit: Unit, picked: list[tuple[UUID, int]] = picked) -> list[Claim]:
            picked.clear()  # the job may run twice
            return claiming.claim(unit, worker, queues, 1, turn, picked)

        try:
            claims += engine.write(job, name="claim")
        except BaseException as error:
            if must_raise(error) or not picked:
                raise
            instance, seq = picked[0]
            set_aside(engine, instance, error, "claim", seq=seq)
        if not picked:
            break
    return claims


def _one_by_one(engine: Engine, kind: due.DueKind) -> int:
    def seen(conn: sa.Connection) -> list[tuple[UUID, int]]:
        unit = Unit(engine.core, conn, engine.clock.now())
        return [(row.id, row.seq) for row in conn.execute(kind.query(unit).limit(due.BATCH))]

    found = engine.read(seen)
    for one, seq in found:
        try:
            engine.write(lambda unit, one=one: due.run_due(unit, kind, only=one), name="tick")  # type: ignore[misc]
        except BaseException as error:
            if must_raise(error):
                raise
            set_aside(engine, one, error, kind.name, seq=seq)
    return len(found)


def set_aside(
    engine: Engine,
    instance_id: UUID,
    error: BaseException,
    why: str,
    *,
    seq: int | None = None,
    fence: int | None = None,
) -> None:
    """Put the instance to the dead letters, if it is unchanged: it has this seq, or is claimed with this fence.

    If even that cannot be written, its next try is postponed.
    """

    def job(unit: Unit) -> bool:
        instance = unit.lock(instance_id)
        claimed = (instance.fence, instance.wake) == (fence, "lease")
        if seq not in (None, instance.seq) or (fence is not None and not claimed):
            return False
        last_resort.set_aside(unit, instance, error, why)
        return True

    try:
        if engine.write(job, name="tick"):
            log.error("instance %s goes to the dead letters: %s", instance_id, error_summary(error))
    except BaseException as problem:
        if must_raise(problem):
            raise
        log.error("instance %s cannot be put to the dead letters: %s; postponed", instance_id, error_summary(problem))
        engine.store.write(lambda conn: _postpone(conn, instance_id, engine.clock.now() + span(POSTPONED)))


def _postpone(conn: sa.Connection, instance_id: UUID, until: int) -> None:
    row = t.instance
    later = {name: sa.case((row.c[name] < until, until), else_=row.c[name]) for name in ("due_at", "timer_at")}
    conn.execute(sa.update(row).where(row.c.id == instance_id).values(later))


def error_summary(error: BaseException) -> str:
    """The type and the message of an error, for a log."""
    return f"{type(error).__name__}: {error_details.message_of(error)}"
