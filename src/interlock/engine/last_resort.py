"""Makes dead letters, and sets aside instances to which no rule can be applied."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any
from uuid import UUID

from interlock.engine import moves
from interlock.engine.error_details import describe, fingerprint, message_of
from interlock.engine.errors import NotServed, is_item_error
from interlock.engine.instance import Instance
from interlock.engine.text import canonical, canonical_lossy, shortened
from interlock.engine.unit import SYSTEM_ACTOR, Unit
from interlock.machine import (
    Actor,
    Timer,
)
from interlock.store import tables as t


def deferred_crash(instance: Instance) -> UUID | None:
    """The lost worker of an instance whose crash is not counted yet."""
    event = instance.due_event
    return UUID(event.partition(" ")[2]) if event is not None and event.startswith(moves.LOST) else None


def count_failure(instance: Instance, name: str) -> int:
    counters = instance.failures
    counters[name] = counters.get(name, 0) + 1
    instance.set_failures(counters)
    return counters[name]


def set_last_error(unit: Unit, instance: Instance, step: str, details: Mapping[str, Any]) -> None:
    instance.failed_step = step
    instance.last_error = canonical({**details, "step": step, "at": unit.now})


def set_aside(
    unit: Unit,
    instance: Instance,
    error: BaseException,
    why: str,
    *,
    problem: BaseException | None = None,
    actor: Actor = SYSTEM_ACTOR,
) -> None:
    """Leave the instance where it is, with a dead letter for a person.

    `problem` is the error that its rules raised. An event that was due (`why` is "due" or "timer") is stored: a retry
    fires it.
    """
    step, data = _readable(unit, instance)
    event = _due_event(unit, instance, why)
    if why == "due" and instance.failed_step:
        step = instance.failed_step
    details = describe(error)
    if problem is not None:
        details["message"] = shortened(f"{details['message']} (and its rule cannot be applied: {message_of(problem)})")
    if event:
        details["event"] = event
    count_failure(instance, f"{step}|{type(problem or error).__name__}")
    set_last_error(unit, instance, step, details)
    unit.record(instance, "failed", actor, payload={"error": details, "why": why, "step": step, "exhausted": True})
    instance.holder = instance.claimed_at = instance.blocked_on = None
    instance.wake = instance.due_at = instance.due_event = None
    unit.freed_slots.append(instance.id)
    with suppress(NotServed, KeyError):
        moves.reopen_review(unit, instance, unit.machine(instance))
    add_dead_letter(unit, instance, instance.state, step, details, data)


def _due_event(unit: Unit, instance: Instance, why: str) -> str | None:
    """The event that was due, if it can be found out. The timer is set to the next one."""
    if why == "due" and instance.paused_at is None and deferred_crash(instance) is None:
        return instance.due_event
    if instance.timer_at is None or instance.timer_at > unit.now:
        return None
    try:
        machine = unit.machine(instance)
        number = moves.pending_timer(machine, instance)
        assert number is not None, "it is due"
        timer = machine.states[instance.state].ordered_timers[number]
        moves.set_timer(machine, instance, number + 1)
    except BaseException as error:
        if not is_item_error(error):
            raise
        instance.timer_at = None
        return None
    return timer.fire if why == "timer" and isinstance(timer, Timer) else None


def _readable(unit: Unit, instance: Instance) -> tuple[str, str]:
    """Its step and its data, as far as they can be read. Unreadable counters are dropped."""
    try:
        instance.failures_of("")
    except BaseException as error:
        if not is_item_error(error):
            raise
        instance.stored_failures = None
    try:
        machine = unit.machine(instance)
        return machine.step_of(instance.state, instance.stage_data(machine)), kept_data(instance)
    except BaseException as error:
        if not is_item_error(error):
            raise
        return instance.state, kept_data(instance)


def kept_data(instance: Instance) -> str:
    """The data for a dead letter, also if it could not be stored as data today."""
    return instance.stored_data if instance.stored_data is not None else canonical_lossy(instance.shown_data)


def add_dead_letter(
    unit: Unit, instance: Instance, state: str, step: str, details: Mapping[str, Any], data: str
) -> UUID:
    return unit.insert(
        t.dead_letter,
        instance_id=instance.id,
        workspace=instance.workspace,
        machine=instance.machine,
        state=state,
        step=step,
        error_type=details["type"],
        error=canonical(dict(details)),
        fingerprint=fingerprint(instance.machine, step, details),
        attempts=max(1, instance.failures_of(step)),
        data=data,
        status="open",
        at=unit.now,
        seq=instance.seq,
    )
