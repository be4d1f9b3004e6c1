"""Applies the outcome of a handler, under its fence. An outcome that comes too late changes nothing."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from typing import NamedTuple
from uuid import UUID

import sqlalchemy as sa

from interlock.engine import error_details, failing, fast_finish, limits, lineage, moves, unknown_effects, values
from interlock.engine.claiming import DATA, Claim, claimed, worker_actor
from interlock.engine.errors import Fenced, InvalidData, is_item_error
from interlock.engine.firing import facts, passes
from interlock.engine.instance import Instance
from interlock.engine.text import shortened
from interlock.engine.unit import Unit
from interlock.machine import (
    SYSTEM,
    WORKER,
    Actor,
    Again,
    Edge,
    Fail,
    Go,
    HandlerTimeout,
    InvalidOutcome,
    Kind,
    LimitReached,
    Machine,
    Message,
    Outcome,
    Patch,
    Spawn,
    Stay,
)
from interlock.store import Micros, micros, span
from interlock.store import tables as t


class Result(NamedTuple):
    """A claim with the outcome of its handler."""

    claim: Claim
    outcome: Outcome
    as_claimed: bool = True
    """Assume that the instance is unchanged since the claim, and do not read it again: the update proves it. False
    after a handler that has written something."""


def finish(unit: Unit, results: Sequence[Result]) -> list[bool]:
    """Apply each outcome. Returns False for each that came too late.

    Raises RowChanged if an instance has changed since its claim. Then nothing is written: try `read_first`.
    """
    others = fast_finish.finish(unit, results)
    done = [True] * len(results)
    if any(machine.has_slots for machine in {result.claim.machine for result in results}):
        slow = set(others)
        plain = [result.claim for number, result in enumerate(results) if number not in slow]
        unit.freed_slots += [claim.id for claim in plain if claim.machine.has_slots]
    if others:
        unit.needed_whole += len(others)
        if len(others) < len(results):
            unit.flush()  # the others may touch the same instances
        for number, good in zip(others, _one_by_one(unit, [results[n] for n in others]), strict=True):
            done[number] = good
    return done


def _one_by_one(unit: Unit, results: Sequence[Result]) -> list[bool]:
    to_read, to_lock = [], []
    for result in results:
        claim, stored = result.claim, result.claim.stored
        without_data = claim.row[DATA] is None and claim.large_data_text is None
        if not result.as_claimed or stored is None or without_data:
            to_read.append(claim.id)
            continue
        # The row is not read again, which saves 25 µs; the update proves it. So followers lock other rows before it: if
        # somebody changes it at that moment, two transactions may wait for each other, as any two moves with followers.
        if claim.id not in unit.known:
            unit.assume(stored, claim.large_data_text)
        if claim.machine.has_windows:
            to_lock.append(claim.id)
    if to_lock:  # instances are locked before keys of limits
        unit.lock_rows([*to_lock, *to_read])
    unit.lock_many(to_read)
    limits.lock_windows(unit, filter(None, map(partial(_takes, unit), results)))
    return [_apply(unit, result) for result in results]


def read_first(results: Sequence[Result]) -> list[Result]:
    """The same results, to be applied after reading the instances."""
    return [Result(result.claim, result.outcome, as_claimed=False) for result in results]


def _takes(unit: Unit, result: Result) -> tuple[Instance, Machine, list[str]] | None:
    """The limits that an outcome will use."""
    machine, instance = result.claim.machine, unit.known.get(result.claim.id)
    if not machine.limits or instance is None or not isinstance(result.outcome, Go):
        return None
    names: list[str] = []
    here = instance.state
    with suppress(TypeError):  # what is no name of a state is refused when it is applied
        for to in result.outcome.path:
            for edge in machine.automatic_edges(here, to, WORKER):  # whichever will be taken
                names += edge.takes
            here = to
    return instance, machine, names


def _apply(unit: Unit, result: Result) -> bool:
    instance = claimed(unit, result.claim)
    if instance is None:
        return False
    machine, actor = result.claim.machine, worker_actor(result.claim.worker)
    took = unit.now - (instance.claimed_at or unit.now)
    instance.waited = result.claim.waited
    try:
        with unit.attempt(instance):
            # The handler may have moved the instance with `move_and_keep`.
            step = machine.step_of(instance.state, instance.stage_data(machine))
            _outcome(unit, instance, machine, result.outcome, actor, step, took)
    except BaseException as problem:
        # Outcomes, guards and models are application code: whatever they raise must not stop the other results.
        if not is_item_error(problem):
            raise
        error = error_details.as_work_error(problem, f"the outcome does not fit {machine.name} in {instance.state!r}")
        failing.fail(unit, instance, machine, error, actor, took=took)
    return True


def _outcome(
    unit: Unit, instance: Instance, machine: Machine, outcome: Outcome, actor: Actor, step: str, took: Micros
) -> None:
    if isinstance(outcome, Go | Stay | Again):
        values.text(outcome.reason, "the reason")
    match outcome:
        case Go():
            failing.reset_failures(instance, step)
            _go(unit, instance, machine, outcome, actor, {"reason": outcome.reason, "step": step, "took": took})
        case Stay():
            failing.reset_failures(instance, step)
            if machine.states[instance.state].kind is Kind.WORK:
                raise InvalidOutcome(f"a handler of a work state cannot return Stay; {machine.name} needs Go or Again")
            change = moves.change_data(machine, instance, outcome.data)
            unit.record(
                instance, "worked", actor, payload={"reason": outcome.reason, "step": step, "took": took, **change}
            )
            moves.drop_lease(unit, instance, machine)
            instance.wake = instance.due_at = None
            moves.reopen_review(unit, instance, machine)
            if machine.reviews:
                moves.close_questions(unit, instance, "the step is done")
            _attachments(unit, instance, outcome, actor)
        case Again():
            if not outcome.keep_failures:
                failing.reset_failures(instance, step)  # it is no failure
            change = moves.change_data(machine, instance, outcome.data)
            at = unit.now + max(0, span(outcome.after))
            unit.record(
                instance,
                "again",
                actor,
                payload={"reason": outcome.reason, "step": step, "at": at, "took": took, **change},
            )
            moves.drop_lease(unit, instance, machine)
            instance.wake, instance.due_at = "work", at
        case Fail():
            if not isinstance(outcome.error, BaseException):
                raise InvalidOutcome(f"Fail needs an error, not {type(outcome.error).__name__}")
            failing.fail(unit, instance, machine, outcome.error, actor, took=took)
        case _:
            raise InvalidOutcome(
                f"the handler of {instance.state!r} returned {type(outcome).__name__}; "
                "it must return Go, Stay, Again or Fail, or raise"
            )


def _attachments(unit: Unit, instance: Instance, outcome: Go | Stay, actor: Actor) -> None:
    for wanted in outcome.spawn:
        lineage.spawn(unit, instance, wanted, actor)
    moves.send(unit, instance, outcome.messages)
    moves.ask(unit, instance, outcome.asks)


def _go(
    unit: Unit,
    instance: Instance,
    machine: Machine,
    outcome: Go,
    actor: Actor,
    payload: dict[str, object],
    *,
    keep_lease: bool = False,
) -> None:
    if not outcome.path:
        raise InvalidData("Go names no state")
    end = len(outcome.path) - 1
    for number, to in enumerate(outcome.path):
        edge = _edge(instance, machine, to, actor)
        last = number == end
        if last and outcome.unstarted:
            moves.check_unstarted(machine, edge.to)
        moves.move(
            unit,
            instance,
            machine,
            edge,
            actor,
            patch=outcome.data if last else None,
            payload=payload if number == 0 else None,
            last=last,
            keep_lease=keep_lease,
            unstarted=last and outcome.unstarted,
            at=micros(outcome.at) if last and outcome.at is not None else None,
        )
    _attachments(unit, instance, outcome, actor)


def _edge(instance: Instance, machine: Machine, to: str, actor: Actor) -> Edge:
    """The first transition to this state that a worker may take and whose guard passes."""
    if not machine.edges_between(instance.state, to):
        ways = ", ".join(dict.fromkeys(e.to for e in machine.edges_from(instance.state))) or "none"
        raise InvalidData(f"there is no transition {instance.state!r} → {to!r}; from here lead: {ways}")
    if to == machine.failures.state:
        raise InvalidData(f"{to!r} is the state for failures; raise the error, so that its rule is applied and counted")
    edges = machine.automatic_edges(instance.state, to, actor.kind)
    if not edges:
        raise InvalidData(f"the transition {instance.state!r} → {to!r} is not for workers")
    whys = []
    for edge in edges:
        verdict = passes(edge.guard, facts(instance, actor)) if edge.guard is not None else True
        if verdict is True:
            return edge
        whys.append(verdict if isinstance(verdict, str) and verdict else "its guard")
    raise InvalidData(f"the transition {instance.state!r} → {to!r} does not pass: {'; '.join(whys)}")


def require_claim(unit: Unit, claim: Claim) -> Instance:
    """The claimed instance. Raises Fenced if the claim is no longer valid: then the handler may write nothing."""
    instance = claimed(unit, claim)
    if instance is None:
        raise Fenced(
            f"{claim.machine.name} {claim.id} was taken away from this worker (fence {claim.fence}): "
            "it was paused, moved or given to another"
        )
    return instance


def move_and_keep(unit: Unit, claim: Claim, to: str, *, data: Patch = None, reason: str = "") -> Instance:
    """Move the instance from inside a handler, and keep the lease."""
    instance = require_claim(unit, claim)
    machine, actor = claim.machine, worker_actor(claim.worker)
    if to in machine.states and not (machine.starts_work(to) or machine.runs_when_armed(to)):
        raise InvalidData(f"{to!r} has no work, so no lease is kept there; return Go({to!r}) instead")
    outcome = Go(to, data=data, reason=reason)
    step = machine.step_of(instance.state, instance.stage_data(machine))
    failing.reset_failures(instance, step)
    _go(unit, instance, machine, outcome, actor, {"reason": reason, "step": step}, keep_lease=True)
    full = limits.take_slots(unit, instance, machine, to) if machine.concurrent(to) else None
    if full is not None:
        raise LimitReached(f"all slots of {full!r} are taken, so {machine.name} {instance.id} cannot go on in {to!r}")
    return instance


def save(unit: Unit, claim: Claim, data: Patch, *, reason: str = "") -> Instance:
    """Save data from inside a handler, with a history row and without a move."""
    instance = require_claim(unit, claim)
    change = moves.change_data(claim.machine, instance, data)
    if change:
        unit.record(
            instance,
            "saved",
            worker_actor(claim.worker),
            payload={"reason": reason, "step": claim.step, **change},
        )
    return instance


def extend(unit: Unit, claim: Claim) -> Micros:
    """Start the handler's time limit again, from now."""
    instance = require_claim(unit, claim)
    instance.due_at = unit.now + span(claim.work.timeout)
    unit.touch(instance)
    return instance.due_at


def give_back(unit: Unit, claims: Sequence[Claim]) -> int:
    """Return the claims of a worker that stops. It costs neither an attempt nor a crash."""
    unit.lock_many([claim.id for claim in claims])
    done = 0
    for claim in claims:
        instance = claimed(unit, claim)
        if instance is None:
            continue
        done += 1
        unit.record(instance, "given_back", worker_actor(claim.worker), payload={"step": claim.step})
        moves.drop_lease(unit, instance, claim.machine)
        instance.wake, instance.due_at = "work", unit.now
    return done


def give_back_orphans(unit: Unit, worker: UUID, fences: dict[UUID, int]) -> int:
    """Give back claims that were committed although the worker never got the answer."""
    unit.lock_many(fences)
    done = 0
    for instance_id, fence in fences.items():
        instance = unit.known.get(instance_id)
        if instance is None or (instance.holder, instance.fence, instance.wake) != (worker, fence, "lease"):
            continue
        done += 1
        unit.record(instance, "given_back", worker_actor(worker), payload={"why": "the claim's answer was lost"})
        moves.drop_lease(unit, instance, unit.machine(instance))
        instance.wake, instance.due_at = "work", unit.now
    return done


def progress(unit: Unit, claim: Claim, fraction: float, message: str) -> None:
    """Record the progress of a handler. It replaces the progress before."""
    instance = require_claim(unit, claim)
    unit.conn.execute(sa.delete(t.progress).where(t.progress.c.instance_id == instance.id))
    unit.insert(
        t.progress,
        instance_id=instance.id,
        permille=round(min(max(fraction, 0.0), 1.0) * 1000),
        message=shortened(message, 200),
        at=unit.now,
    )


def clear_crashes(unit: Unit, claim: Claim, reason: str) -> bool:
    """Forget the workers that were lost in the claimed step, with a history row. False if there were none.

    For a long step that keeps what it has done: workers that are lost while it gets further are no sign of poison. Call
    it only for what no earlier run of the step has reached, or a step that always loses its worker never ends.
    """
    instance = require_claim(unit, claim)
    step = claim.machine.step_of(instance.state, instance.stage_data(claim.machine))
    lost = failing.forget_crashes(instance, step)
    if lost:
        unit.record(
            instance, "advanced", worker_actor(claim.worker), payload={"step": step, "crashes": lost, "reason": reason}
        )
    return bool(lost)


def send(unit: Unit, claim: Claim, messages: tuple[Message, ...]) -> None:
    """Put messages into the outbox from inside a handler, under its fence."""
    instance = require_claim(unit, claim)
    moves.send(unit, instance, messages)
    sent = [f"{message.channel} to {message.to}" for message in messages]
    unit.record(instance, "sent", worker_actor(claim.worker), payload={"messages": sent, "step": claim.step})


def spawn(unit: Unit, claim: Claim, wanted: Spawn) -> UUID | None:
    """Create a child from inside a handler, under its fence. None if a check refused it; a history row says why."""
    return lineage.spawn(unit, require_claim(unit, claim), wanted, worker_actor(claim.worker))


def time_out(unit: Unit, instance: Instance) -> None:
    """Fence off a handler that exceeded its time limit, and fail its step."""
    took = unit.now - (instance.claimed_at or unit.now)
    error = HandlerTimeout(f"the handler of {instance.state!r} did not end within its time limit")
    unknown_effects.mark_lost(unit, instance)
    failing.fail(unit, instance, unit.machine(instance), error, Actor(SYSTEM), why="deadline", took=took)
