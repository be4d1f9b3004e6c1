"""What is due: resumes, timers, reminders, time limits, lost workers. Any process may do it, in bounded batches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from uuid import UUID

import sqlalchemy as sa

from interlock.engine import failing, finishing, firing, limits, moves, pausing, picking
from interlock.engine.errors import NotServed, Refused
from interlock.engine.instance import Instance
from interlock.engine.text import canonical
from interlock.engine.unit import SYSTEM_ACTOR, Unit
from interlock.machine import Message, Reminder, WorkError
from interlock.store import Micros
from interlock.store import tables as t

I = t.instance  # noqa: E741
W = t.worker
BATCH = 200


def resumes(unit: Unit, limit: int = BATCH) -> int:
    """Retries and pauses whose time has come."""
    rows = unit.conn.execute(
        sa.select(I)
        .where(picking.waking("resume"), I.c.due_at <= unit.now, unit.core.mine)
        .order_by(I.c.due_at)
        .limit(limit)
        .with_for_update(skip_locked=True)
    ).all()
    for instance in unit.adopt(rows):
        if instance.paused_at is not None:
            pausing.resume(unit, instance.id, SYSTEM_ACTOR, reason="its time has come")
        elif (lost := failing.handed_over(instance)) is not None:
            instance.due_event = None
            failing.crash(unit, instance, unit.machine(instance), lost)
        else:
            _fire(unit, instance, instance.due_event or "", "due")
    return len(rows)


def timers(unit: Unit, limit: int = BATCH) -> int:
    """Timers fire their event; reminders leave a row and a message."""
    rows = unit.conn.execute(
        sa.select(I)
        .where(sa.text("timer_at IS NOT NULL AND paused_at IS NULL"), I.c.timer_at <= unit.now, unit.core.mine)
        .order_by(I.c.timer_at)
        .limit(limit)
        .with_for_update(skip_locked=True)
    ).all()
    for instance in unit.adopt(rows):
        machine = unit.machine(instance)
        unit.touch(instance)
        number = moves.pending_timer(machine, instance)
        if number is None:
            instance.timer_at = None
            continue
        moves.set_timer(machine, instance, number)
        if instance.timer_at is not None and instance.timer_at > unit.now:
            continue
        timer = machine.states[instance.state].ordered_timers[number]
        moves.set_timer(machine, instance, number + 1)
        if isinstance(timer, Reminder):
            unit.record(instance, "reminded", SYSTEM_ACTOR, payload={"message": timer.message})
            about = {"instance": str(instance.id), "machine": instance.machine, "state": instance.state}
            moves.send(unit, instance, (Message("reminder", instance.workspace, timer.message, about),))
        else:
            _fire(unit, instance, timer.fire, "timer")
    return len(rows)


def _fire(unit: Unit, instance: Instance, event: str, why: str) -> None:
    mark = unit.mark(instance)
    try:
        firing.fire(unit, instance.id, event, SYSTEM_ACTOR, payload={"why": why})
    except (Refused, WorkError) as refusal:
        # A guard or a limit says no: it is written down, and a person is told, instead of trying for ever.
        unit.revert(instance, mark)
        unit.record(instance, "refused", SYSTEM_ACTOR, event=event, payload={"why": why, "reason": str(refusal)})
        if why == "due":
            instance.wake = instance.due_at = instance.due_event = None
            step = instance.failed_step or unit.machine(instance).step_of(instance.state, instance.data)
            failing.bury(unit, instance, instance.state, step, failing.describe(refusal), canonical(instance.data))


def overdue(unit: Unit) -> int:
    """Handlers past their time limit."""
    return finishing.overdue(unit, BATCH)


def lost_workers(unit: Unit, dead: Sequence[UUID], beats: Mapping[UUID, int] | None = None) -> int:
    """Take back what lost workers held. A crash is counted; the fence is new at the next claim.

    `beats` says how often each had beaten when it was found dead: one that has beaten since is spared.
    """
    if beats is not None:
        found = unit.conn.execute(sa.select(W.c.id, W.c.beats).where(W.c.id.in_(dead)).with_for_update())
        dead = [row.id for row in found if row.beats == beats.get(row.id)]
    if not dead:
        return 0
    rows = unit.conn.execute(
        sa.select(I)
        .where(picking.waking("lease"), I.c.holder.in_(dead))
        .order_by(I.c.due_at)
        .limit(BATCH)
        .with_for_update(skip_locked=True)
    ).all()
    for instance in unit.adopt(rows):
        holder = instance.holder
        assert holder is not None
        finishing.effects_unknown(unit, instance)
        try:
            failing.crash(unit, instance, unit.machine(instance), holder)
        except NotServed:
            failing.hand_over(unit, instance, holder)
        unit.freed.append(instance.id)  # whatever limits the code here has: it may have taken a slot of another
    # Rows that somebody holds at this moment were passed over; the next round takes them.
    held = sa.select(sa.func.count()).select_from(I).where(picking.waking("lease"), I.c.holder.in_(dead))
    left = unit.conn.execute(held).scalar_one()
    if left <= len(rows):
        unit.conn.execute(sa.update(t.worker).where(t.worker.c.id.in_(dead)).values(status="lost"))
    return len(rows)


def next_due(conn: sa.Connection) -> Micros | None:
    """When something will be due by itself: what a virtual clock jumps to."""
    moments = [
        conn.execute(sa.select(sa.func.min(I.c.due_at)).where(sa.text("wake = 'work'"))).scalar(),
        conn.execute(sa.select(sa.func.min(I.c.due_at)).where(sa.text("wake IN ('lease', 'resume')"))).scalar(),
        conn.execute(
            sa.select(sa.func.min(I.c.timer_at)).where(sa.text("timer_at IS NOT NULL AND paused_at IS NULL"))
        ).scalar(),
    ]
    known = [m for m in moments if m is not None]
    return min(known) if known else None


def anything_due(conn: sa.Connection, now: Micros) -> bool:
    """Whether a round would find something; needs no lock."""
    # In order, and with the limit written out: else a generic plan hopes to meet one early in the whole table.
    one = sa.select(sa.literal(1)).select_from(I).limit(sa.literal_column("1"))
    looks = (
        one.where(picking.waking("resume"), I.c.due_at <= now).order_by(I.c.due_at),
        one.where(picking.waking("lease"), I.c.due_at <= now).order_by(I.c.due_at),
        one.where(sa.text("timer_at IS NOT NULL AND paused_at IS NULL"), I.c.timer_at <= now).order_by(I.c.timer_at),
        one.where(sa.text("wake = 'blocked'")).order_by(I.c.blocked_on),
    )
    return any(conn.execute(look).first() is not None for look in looks)


def tick(unit: Unit) -> int:
    """One round of everything that is due in the database itself."""
    done = 0
    for look in (resumes, timers, overdue, limits.free_blocked):
        done += look(unit)
        unit.flush()  # the next looks into the database, and one instance may be due in two ways
    return done
