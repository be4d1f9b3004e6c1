"""Applies failure rules: an error becomes a retry, a pause, a move or a dead letter."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import sqlalchemy as sa

from interlock.engine import moves, unknown_effects
from interlock.engine.attempt import try_item
from interlock.engine.error_details import describe
from interlock.engine.instance import Instance
from interlock.engine.last_resort import add_dead_letter, count_failure, kept_data, set_aside, set_last_error
from interlock.engine.unit import SYSTEM_ACTOR, Unit
from interlock.machine import (
    Actor,
    Ask,
    Edge,
    EffectKeyReused,
    EffectUnknown,
    Facts,
    Machine,
    Rule,
    WorkerLost,
)
from interlock.machine.checks import CRASH
from interlock.store import SECOND, Micros, micros, moment, span
from interlock.store import tables as t

SHORTEST_PAUSE = 60 * SECOND


def fail(
    unit: Unit,
    instance: Instance,
    machine: Machine,
    error: BaseException,
    actor: Actor,
    *,
    why: str = "error",
    took: Micros | None = None,
) -> None:
    """Apply the machine's failure rules to the step that the instance is in."""
    problem = try_item(unit, instance, lambda *_: _by_rule(unit, instance, machine, error, actor, why, took))
    if problem is not None:
        # The rule itself fails and always will: the instance stays where it is, for a person.
        set_aside(unit, instance, error, why, problem=problem, actor=actor)


def _by_rule(
    unit: Unit,
    instance: Instance,
    machine: Machine,
    error: BaseException,
    actor: Actor,
    why: str,
    took: Micros | None,
) -> None:
    step = machine.step_of(instance.state, instance.stage_data(machine))
    rule = machine.failures.rule_for(error, instance.state)
    details = describe(error)
    name = rule.name if rule else EffectUnknown.__name__
    count = count_failure(instance, f"{step}|{name}")
    payload: dict[str, Any] = {"error": details, "why": why, "step": step, "rule": name, "failure": count, "took": took}
    set_last_error(unit, instance, step, details)
    if rule is None:
        _unknown(unit, instance, machine, step, details, actor, payload)
    elif isinstance(error, EffectKeyReused):  # neither a retry nor a pause can help
        _exhausted(unit, instance, machine, rule, step, details, actor, payload)
    elif rule.pause is not None and (rule.retries is None or count <= _retries(unit, rule)):
        until = _pause_until(unit, rule, error)
        due = (until, rule.pause.resume)
        if not _go(unit, instance, machine, rule.pause.state, actor, payload, due=due):
            _retry_in_place(unit, instance, machine, actor, payload, until)
    elif rule.pause is None and count <= _retries(unit, rule):
        wait = rule.backoff.delay(count, retry_after=_retry_after(error), chance=unit.core.random.random())
        _retry(unit, instance, machine, actor, payload, unit.now + span(wait))
    else:
        _exhausted(unit, instance, machine, rule, step, details, actor, payload)


def _retries(unit: Unit, rule: Rule) -> int:
    """How often the rule retries: as it declares, or as the setting says that it names."""
    application, _, key = rule.retries_setting.partition(".")
    said = getattr(unit.setting(application), key, None) if key else None
    return said if isinstance(said, int) else rule.retries or 0


def crash(unit: Unit, instance: Instance, machine: Machine, worker: UUID) -> None:
    """Count a crash, not an attempt, because the worker is lost. Too many crashes are poison."""
    step = machine.step_of(instance.state, instance.stage_data(machine))
    count = count_failure(instance, f"{step}|{CRASH}")
    actor = SYSTEM_ACTOR
    payload: dict[str, Any] = {"why": "worker_lost", "worker": str(worker), "step": step, "crash": count}
    if count >= machine.failures.crashes:
        lost = WorkerLost(f"{count} workers were lost while they worked on this step")
        details = describe(lost)
        payload["error"] = details
        set_last_error(unit, instance, step, details)
        rule = machine.failures.rule_for(lost, instance.state)
        assert rule is not None
        _exhausted(unit, instance, machine, rule, step, details, actor, payload)
        return
    back = machine.states[instance.state].lost
    edge = _edge_between(instance, machine, instance.state, back, actor) if back else None
    if edge is not None:
        moves.move(unit, instance, machine, edge, actor, payload=payload)
        return
    unit.record(instance, "lost", actor, payload=payload)
    moves.drop_lease(unit, instance, machine)
    instance.wake, instance.due_at = "work", unit.now


def defer_crash(unit: Unit, instance: Instance, worker: UUID) -> None:
    """Release an instance whose worker is lost and whose machine this process does not serve.

    A process that serves it counts the crash later. Until then it is not ready: the machine may declare another state
    for lost workers.
    """
    unit.record(instance, "lost", SYSTEM_ACTOR, payload={"why": "worker_lost", "worker": str(worker)})
    instance.holder = instance.claimed_at = None
    instance.wake, instance.due_at, instance.due_event = "resume", unit.now, f"{moves.LOST} {worker}"


def reset_failures(instance: Instance, step: str) -> None:
    """Reset the counters of a step that is done. Those of other steps stay."""
    if instance.stored_failures:
        counters = instance.failures
        instance.set_failures({k: n for k, n in counters.items() if k.partition("|")[0] != step})


def forget_crashes(instance: Instance, step: str) -> int:
    """Reset the number of workers that were lost in a step; how many it were."""
    counters = instance.failures
    lost = counters.pop(f"{step}|{CRASH}", 0)
    if lost:
        instance.set_failures(counters)
    return lost


def _pause_until(unit: Unit, rule: Rule, error: BaseException) -> Micros:
    assert rule.pause is not None
    until = _until(error)
    if rule.pause.wait is not None:
        chosen = unit.now + span(rule.pause.wait)
    else:
        chosen = micros(until) if until is not None else unit.now + span(timedelta(hours=1))
    # A time in the past would pause and resume endlessly.
    return max(chosen, unit.now + SHORTEST_PAUSE)


def _retry_after(error: BaseException) -> timedelta | None:
    # Errors of other libraries have such an attribute too, with other types.
    found = getattr(error, "retry_after", None)
    return found if isinstance(found, timedelta) else None


def _until(error: BaseException) -> datetime | None:
    found = getattr(error, "until", None)
    return found if isinstance(found, datetime) and found.tzinfo is not None else None


def _edge_between(instance: Instance, machine: Machine, source: str, to: str, actor: Actor) -> Edge | None:
    """The first transition between the two states that needs no person and whose guard passes."""
    for edge in machine.automatic_edges(source, to, actor.kind):
        previous = instance.previous if source == instance.state else instance.state
        if edge.guard is None or (
            edge.guard(Facts(source, previous, instance.failed_step, instance.data, actor)) is True
        ):
            return edge
    return None


def _path(instance: Instance, machine: Machine, to: str | None, actor: Actor) -> list[Edge]:
    """The transitions to a state: through the state for failures if possible, otherwise directly."""
    source, resting = instance.state, machine.failures.state
    into = _edge_between(instance, machine, source, resting, actor) if resting and source != resting else None
    if to is None:
        return [into] if into else []
    if into is not None and resting is not None:
        onward = _edge_between(instance, machine, resting, to, SYSTEM_ACTOR)
        if onward is not None:
            return [into, onward]
    direct = _edge_between(instance, machine, source, to, actor)
    if direct is not None:
        return [direct]
    return [into] if into is not None and to == resting else []


def _go(
    unit: Unit,
    instance: Instance,
    machine: Machine,
    to: str | None,
    actor: Actor,
    payload: Mapping[str, Any],
    *,
    due: tuple[Micros, str] | None = None,
    sets: Mapping[str, Any] | None = None,
) -> bool:
    """Move to the state. False if no declared path leads there; then it stays where it is."""
    path = _path(instance, machine, to, actor)
    for number, edge in enumerate(path):
        last = number == len(path) - 1
        moves.move(
            unit,
            instance,
            machine,
            edge,
            actor if number == 0 else SYSTEM_ACTOR,
            payload=payload if number == 0 else {"why": payload.get("why")},
            patch=sets if last else None,
            last=last,
            due=due if last else None,
        )
    return bool(path)


def _retry(
    unit: Unit, instance: Instance, machine: Machine, actor: Actor, payload: Mapping[str, Any], at: Micros
) -> None:
    payload = {**payload, "retry_at": at}
    resting = machine.failures.state
    if resting and _go(unit, instance, machine, resting, actor, payload, due=(at, machine.failures.retry)):
        return
    _retry_in_place(unit, instance, machine, actor, payload, at)


def _retry_in_place(
    unit: Unit, instance: Instance, machine: Machine, actor: Actor, payload: Mapping[str, Any], at: Micros
) -> None:
    """Wait for the retry in the same state, because no transition leads to the state for failures."""
    unit.record(instance, "failed", actor, payload=payload)
    moves.drop_lease(unit, instance, machine)
    instance.wake, instance.due_at = "work", at


def _exhausted(
    unit: Unit,
    instance: Instance,
    machine: Machine,
    rule: Rule,
    step: str,
    details: Mapping[str, Any],
    actor: Actor,
    payload: Mapping[str, Any],
) -> None:
    unknown = None
    if unknown_effects.has_unanswered(unit, instance, step):
        # Giving up would mean that it did not arrive, and nobody knows that (law 5).
        unknown = EffectUnknown(f"{details['message']}; and what this step sent was never answered")
        details, verify = describe(unknown), machine.failures.rule_for(unknown, instance.state)
        if verify is None:
            _unknown(unit, instance, machine, step, details, actor, payload)
            return
        rule = verify
    at_state, data = instance.state, kept_data(instance)
    payload = {**payload, "exhausted": True}
    gone = _go(unit, instance, machine, rule.then, actor, payload, sets=rule.sets)
    refused = not gone and rule.then not in (None, at_state)  # no guard passed
    if not gone and not (refused and _go(unit, instance, machine, None, actor, payload)):
        _stay_failed(unit, instance, machine, actor, payload, sets=rule.sets if rule.then == at_state else None)
    moves.ask(unit, instance, rule.asks)
    if rule.dead_letter or refused:
        add_dead_letter(unit, instance, at_state, step, details, data)
    if unknown is not None:
        unknown_effects.mark_asked(unit, instance, step)


def close_dead_letters(unit: Unit, instance: Instance, actor: Actor, status: str) -> None:
    """Close the dead letters of an instance that a person moves on, and reset the counters of its failed step."""
    if instance.failed_step is not None:
        reset_failures(instance, instance.failed_step)
    closed = unit.conn.execute(
        sa.update(t.dead_letter)
        .where(t.dead_letter.c.instance_id == instance.id, t.dead_letter.c.status == "open")
        .values(status=status, closed_at=unit.now, closed_by=str(actor))
    )
    if closed.rowcount:
        unit.vouch_for_stored(t.dead_letter, t.dead_letter.c.instance_id == instance.id)


def _stay_failed(
    unit: Unit,
    instance: Instance,
    machine: Machine,
    actor: Actor,
    payload: Mapping[str, Any],
    *,
    sets: Mapping[str, Any] | None = None,
) -> None:
    """Stay in the state until a person acts on the review or the dead letter."""
    change = moves.change_data(machine, instance, sets)
    unit.record(instance, "failed", actor, payload={**payload, **change})
    moves.reopen_review(unit, instance, machine)
    moves.drop_lease(unit, instance, machine)
    instance.wake = instance.due_at = instance.due_event = None


def _unknown(
    unit: Unit,
    instance: Instance,
    machine: Machine,
    step: str,
    details: Mapping[str, Any],
    actor: Actor,
    payload: Mapping[str, Any],
) -> None:
    """Ask a person whether the effect arrived. Then the step goes on."""
    state, data = instance.state, kept_data(instance)
    _stay_failed(unit, instance, machine, actor, payload)
    letter = add_dead_letter(unit, instance, state, step, details, data)
    evidence = {"dead_letter": str(letter), "error": details["message"], "since": moment(unit.now).isoformat()}
    moves.ask(unit, instance, (Ask(unknown_effects.REVIEW, unknown_effects.VERIFY, evidence),))
    unknown_effects.mark_asked(unit, instance, step)
