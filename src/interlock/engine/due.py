"""Due work: resumes, timers, reminders, time limits, lost workers. Any process may do it, in bounded batches."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple
from uuid import UUID

import sqlalchemy as sa

from interlock.engine import (
    claim_batches,
    error_details,
    failing,
    finishing,
    firing,
    last_resort,
    limits,
    moves,
    pausing,
    picking,
    questions,
    unknown_effects,
)
from interlock.engine.attempt import try_item
from interlock.engine.errors import GuardFailed, NotServed, Refused, is_item_error
from interlock.engine.instance import POSITIONS, Instance
from interlock.engine.text import shortened
from interlock.engine.unit import SYSTEM_ACTOR, Unit
from interlock.engine.workers import WORKER_LEASE
from interlock.machine import Message, Reminder, WorkError
from interlock.store import Micros, last_set
from interlock.store import tables as t

I = t.instance  # noqa: E741
W = t.worker
BATCH = 200


class DueKind(NamedTuple):
    """One kind of due work: the query for its rows, and the function that handles each of them."""

    name: str
    query: Callable[[Unit], sa.Select[Any]]
    handle: Callable[[Unit, Instance], None]


def _waking(wake: str) -> Callable[[Unit], sa.Select[Any]]:
    return lambda unit: (
        sa.select(I)
        .where(picking.wake_is(wake), I.c.due_at <= unit.now, unit.core.served_condition)
        .order_by(I.c.due_at)
    )


def _timers(unit: Unit) -> sa.Select[Any]:
    waiting = sa.text("timer_at IS NOT NULL AND paused_at IS NULL")
    return sa.select(I).where(waiting, I.c.timer_at <= unit.now, unit.core.served_condition).order_by(I.c.timer_at)


def _overdue(unit: Unit) -> sa.Select[Any]:
    """Instances past their time limit whose worker is not alive. A living worker ends its handlers itself.

    A clock that steps ahead must not end every handler. So after such a step, heartbeats are trusted until every living
    worker had the time to send another one.
    """
    alive = sa.select(W.c.id).where(sa.text("worker.status IN ('alive', 'draining')"), W.c.beats > 0)
    clock = unit.core.clock
    if clock.steady() - last_set(clock) > WORKER_LEASE.total_seconds():
        alive = alive.where(W.c.until >= unit.now)
    return _waking("lease")(unit).where(I.c.holder.not_in(alive))


def run_due(unit: Unit, kind: DueKind, limit: int = BATCH, *, only: UUID | None = None) -> int:
    """Handle due rows, each as an attempt of its own. One that fails goes to the dead letters."""
    query = kind.query(unit) if only is None else kind.query(unit).where(I.c.id == only)
    rows = unit.conn.execute(query.limit(limit).with_for_update(skip_locked=True)).all()
    for instance in unit.adopt(rows):
        # A follower of another instance may have moved it: then it is no longer due, or is found the next time.
        moved = instance.loaded is not None and instance.seq != instance.loaded[POSITIONS["seq"]]
        if not moved and (error := try_item(unit, instance, kind.handle)):
            last_resort.set_aside(unit, instance, error, kind.name)
    return len(rows)


def _resume(unit: Unit, instance: Instance) -> None:
    """Resume an instance whose retry or pause is due."""
    if instance.paused_at is not None:
        pausing.resume(unit, instance.id, SYSTEM_ACTOR, reason="its time has come")
    elif (lost := last_resort.deferred_crash(instance)) is not None:
        instance.due_event = None
        failing.crash(unit, instance, unit.machine(instance), lost)
    else:
        _fire(unit, instance, instance.due_event or "", "due")


def _timer(unit: Unit, instance: Instance) -> None:
    """Fire the event of a timer, or record and send a reminder."""
    machine = unit.machine(instance)
    unit.touch(instance)
    number = moves.pending_timer(machine, instance)
    if number is None:
        instance.timer_at = None
        return
    moves.set_timer(machine, instance, number)
    if instance.timer_at is not None and instance.timer_at > unit.now:
        return
    timer = machine.states[instance.state].ordered_timers[number]
    moves.set_timer(machine, instance, number + 1)
    if isinstance(timer, Reminder):
        unit.record(instance, "reminded", SYSTEM_ACTOR, payload={"message": timer.message})
        about = {"instance": str(instance.id), "machine": instance.machine, "state": instance.state}
        moves.send(unit, instance, (Message("reminder", instance.workspace, timer.message, about),))
    else:
        _fire(unit, instance, timer.fire, "timer")


def _fire(unit: Unit, instance: Instance, event: str, why: str) -> None:
    try:
        with unit.attempt(instance):
            firing.fire(unit, instance.id, event, SYSTEM_ACTOR, payload={"why": why})
    except BaseException as refusal:
        if not is_item_error(refusal):
            raise
        # Refused, or an error was raised: it is recorded instead of being tried again and again.
        unit.record(
            instance,
            "refused",
            SYSTEM_ACTOR,
            event=event,
            payload={"why": why, "reason": shortened(error_details.message_of(refusal))},
        )
        if why == "due":
            instance.wake = instance.due_at = instance.due_event = None
        elif isinstance(refusal, Refused | WorkError) and not isinstance(refusal, GuardFailed):
            return  # a plain refusal: the instance waits for a person or its next timer
        step = instance.failed_step if why == "due" else None
        details = {**error_details.describe(refusal), "event": event}
        step = step or unit.machine(instance).step_of(instance.state, instance.data)
        last_resort.add_dead_letter(unit, instance, instance.state, step, details, last_resort.kept_data(instance))


RESUMES, TIMERS = DueKind("due", _waking("resume"), _resume), DueKind("timer", _timers, _timer)
OVERDUE = DueKind("deadline", _overdue, finishing.time_out)
DUE_KINDS = (RESUMES, TIMERS, OVERDUE)


def lost_workers(unit: Unit, dead: Sequence[UUID], beats: Mapping[UUID, int] | None = None) -> int:
    """Take back the claims of lost workers, and count a crash for each.

    `beats` is the number of heartbeats of each when it was found dead. A worker that has sent another one is skipped.
    """
    if beats is not None:
        found = unit.conn.execute(sa.select(W.c.id, W.c.beats).where(W.c.id.in_(dead)).with_for_update())
        dead = [row.id for row in found if row.beats == beats.get(row.id)]
    if not dead:
        return 0
    kind = claimed_by(dead)
    unsettled = claim_batches.settle(unit, dead)
    taken = run_due(unit, kind)
    # Locked rows were skipped; the next round takes them.
    claimed = sa.select(sa.func.count()).select_from(I).where(picking.wake_is("lease"), I.c.holder.in_(dead))
    left = unit.conn.execute(claimed).scalar_one()
    if left <= taken and not unsettled:
        unit.conn.execute(sa.update(t.worker).where(t.worker.c.id.in_(dead)).values(status="lost"))
    return taken


def claimed_by(dead: Sequence[UUID]) -> DueKind:
    """The instances that these workers have claimed."""

    def query(_: Unit) -> sa.Select[Any]:
        return sa.select(I).where(picking.wake_is("lease"), I.c.holder.in_(dead)).order_by(I.c.due_at)

    return DueKind("worker_lost", query, _take_back)


def _take_back(unit: Unit, instance: Instance) -> None:
    holder = instance.holder
    assert holder is not None, "it was found by its holder"
    unknown_effects.mark_lost(unit, instance)
    try:
        machine = unit.machine(instance)
    except NotServed:
        failing.defer_crash(unit, instance, holder)
    else:
        failing.crash(unit, instance, machine, holder)
    unit.freed_slots.append(instance.id)  # also without limits here: code with another limit may have taken a slot


def next_due(conn: sa.Connection) -> Micros | None:
    """When something will be due next. A virtual clock jumps there."""
    moments = [
        conn.execute(sa.select(sa.func.min(I.c.due_at)).where(sa.text("wake = 'work' AND taken_by IS NULL"))).scalar(),
        conn.execute(sa.select(sa.func.min(I.c.due_at)).where(sa.text("wake IN ('lease', 'resume')"))).scalar(),
        conn.execute(
            sa.select(sa.func.min(I.c.timer_at)).where(sa.text("timer_at IS NOT NULL AND paused_at IS NULL"))
        ).scalar(),
        claim_batches.next_due(conn),
        unknown_effects.next_due(conn),
        questions.next_due(conn),
    ]
    known = [m for m in moments if m is not None]
    return min(known) if known else None


def anything_due(conn: sa.Connection, now: Micros) -> bool:
    """Whether a round would find something. It takes no lock."""
    # Ordered, and with a literal limit: otherwise a generic plan of PostgreSQL scans the table.
    one = sa.select(sa.literal(1)).select_from(I).limit(sa.literal_column("1"))
    looks = (
        one.where(picking.wake_is("resume"), I.c.due_at <= now).order_by(I.c.due_at),
        one.where(picking.wake_is("lease"), I.c.due_at <= now).order_by(I.c.due_at),
        one.where(sa.text("timer_at IS NOT NULL AND paused_at IS NULL"), I.c.timer_at <= now).order_by(I.c.timer_at),
        one.where(sa.text("wake = 'blocked'")).order_by(I.c.blocked_on),
    )
    if any(conn.execute(kind).first() is not None for kind in looks) or claim_batches.anything_old(conn, now):
        return True
    return unknown_effects.anything_due(conn, now) or questions.anything_due(conn, now)


def tick(unit: Unit) -> int:
    """One round of all due work."""
    done = 0
    claim_batches.settle(unit)  # so that time limits find them
    for kind in DUE_KINDS:
        done += run_due(unit, kind)
        unit.flush()  # the next kind reads the database, and an instance may be due in two ways
    return done + limits.free_blocked(unit)
