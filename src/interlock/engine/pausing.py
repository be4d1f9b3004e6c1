"""Pausing an instance. A paused instance is not worked on; its timers keep their times, and events still apply."""

from __future__ import annotations

from uuid import UUID

from interlock.engine import moves, values
from interlock.engine.errors import Refused
from interlock.engine.firing import allowed
from interlock.engine.instance import Instance
from interlock.engine.unit import Unit
from interlock.machine import Actor
from interlock.store import Micros


def pause(
    unit: Unit, instance_id: UUID, actor: Actor, *, reason: str = "", resume_at: Micros | None = None
) -> Instance:
    """Stop work on the instance now; a running handler is fenced off and cancelled. Pausing twice changes nothing."""
    values.text(reason, "the reason")
    instance = unit.lock(instance_id)
    machine = unit.machine(instance)
    if instance.finished_at is not None:
        raise Refused(
            f"{machine.name} {instance.id} has ended in {instance.state!r}, so there is nothing to pause",
            allowed(instance, machine),
        )
    if instance.paused_at is not None and resume_at is None:
        return instance
    unit.record(instance, "paused", actor, payload={"reason": reason, "resume_at": resume_at})
    if instance.paused_at is None:
        # Claimed work, and work that waits for a slot, is simply ready again after the pause.
        working = instance.wake in {"lease", "blocked"}
        instance.paused_wake = "work" if working else instance.wake
        instance.paused_due = unit.now if working else instance.due_at
        moves.drop_lease(unit, instance, machine)
        instance.blocked_on = None
    instance.paused_at = instance.updated_at
    instance.wake, instance.due_at = ("resume", resume_at) if resume_at is not None else (None, None)
    return instance


def resume(unit: Unit, instance_id: UUID, actor: Actor, *, reason: str = "") -> Instance:
    """End the pause: the instance goes on where it was."""
    values.text(reason, "the reason")
    instance = unit.lock(instance_id)
    if instance.paused_at is None:
        raise Refused(f"{instance.machine} {instance.id} is not paused", allowed(instance, unit.machine(instance)))
    unit.record(instance, "resumed", actor, payload={"reason": reason})
    instance.wake, instance.due_at = instance.paused_wake, instance.paused_due
    instance.paused_at = instance.paused_wake = instance.paused_due = None
    return instance
