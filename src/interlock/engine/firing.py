"""Fires events: people, agents, the system and timers move an instance along its declared transitions."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Any
from uuid import UUID

from interlock.engine import error_details, failing, moves, review_access, values
from interlock.engine.errors import Allowed, Forbidden, GuardFailed, InvalidData, OutOfDate, Refused, is_item_error
from interlock.engine.instance import Instance
from interlock.engine.unit import Unit
from interlock.machine import SYSTEM, Actor, Arm, By, Edge, Facts, Guard, Kind, Machine
from interlock.machine.transitions import PEOPLE
from interlock.store import Micros, span


def facts(instance: Instance, actor: Actor) -> Facts:
    return Facts(instance.state, instance.previous, instance.failed_step, instance.data, actor)


def passes(guard: Guard | None, about: Facts) -> bool | str:
    return True if guard is None else guard(about)


def would_pass(guard: Guard | None, about: Facts) -> bool:
    """Whether the guard passes. One that raises an error does not."""
    try:
        return passes(guard, about) is True
    except BaseException as error:
        if not is_item_error(error):
            raise
        return False


def is_final(instance: Instance, machine: Machine) -> bool:
    state = machine.states.get(instance.state)  # a stored row may name a state that the machine does not have
    return state is not None and state.kind is Kind.FINAL


def allowed_kinds(edge: Edge, *, final: bool) -> frozenset[By]:
    """Who may take the transition. Only people may lead an instance out of a final state (law 7)."""
    return edge.by & PEOPLE if final else edge.by


def allowed(instance: Instance, machine: Machine, actor: Actor | None = None) -> list[Allowed]:
    """The events that could be fired now, by this actor or by anybody."""
    final = is_final(instance, machine)
    found: dict[tuple[str, str | None], Allowed] = {}
    for edge in machine.edges_from(instance.state):
        if not review_access.may_answer(machine, instance.state, edge.on, actor):
            continue
        if by := _open_to(edge.guard, allowed_kinds(edge, final=final), instance, actor):
            found[edge.on, edge.to] = Allowed(edge.on, edge.to, by)
    for arm in () if under_way(instance) else machine.arms:
        if arm.state != instance.state or not review_access.may_answer(machine, arm.state, arm.on, actor):
            continue
        if by := _open_to(arm.guard, arm.by, instance, actor):
            found[arm.on, None] = Allowed(arm.on, None, by)
    return list(found.values())


def _open_to(guard: Guard | None, by: frozenset[By], instance: Instance, actor: Actor | None) -> tuple[str, ...]:
    """The kinds of actors that the guard lets pass now. A guard may depend on the actor."""
    if actor is not None:
        by = by if actor.may(by) and would_pass(guard, facts(instance, actor)) else frozenset()
    elif guard is not None:
        by = frozenset(kind for kind in by if would_pass(guard, facts(instance, Actor(kind))))
    return tuple(sorted(kind.value for kind in by))


def under_way(instance: Instance) -> bool:
    """Whether its work is running, or ready to run."""
    return instance.wake in {"work", "lease", "blocked"} or instance.paused_wake == "work"


def check_seq(instance: Instance, seq: int | None) -> None:
    """Raise OutOfDate if the instance has changed since the caller read this seq."""
    if seq is not None and instance.seq != seq:
        raise OutOfDate(instance.id, seq, instance.seq)


def fire(
    unit: Unit,
    instance_id: UUID,
    events: str | tuple[str, ...],
    actor: Actor,
    *,
    reason: str = "",
    data: Mapping[str, Any] | None = None,
    expected_seq: int | None = None,
    resume_at: Micros | None = None,
    resume_event: str = "resume",
    payload: Mapping[str, Any] | None = None,
    decided: bool = False,
) -> Instance:
    """Fire an event, or a chain of events in one transaction. Data goes with the last of them.

    `decided` means that the event follows from the decision of a review, whose rights were checked already.
    """
    values.text(reason, "the reason")
    instance = unit.lock(instance_id)
    machine = unit.machine(instance)
    check_seq(instance, expected_seq)
    chain = (events,) if isinstance(events, str) else events
    for number, event in enumerate(chain):
        values.indexed(event, "the event", values.NAME)
        last = number == len(chain) - 1
        _fire_one(
            unit,
            instance,
            machine,
            event,
            actor,
            mid_chain=number > 0,
            last=last,
            patch=data if last else None,
            payload={**(payload or {}), "reason": reason},
            due=(resume_at, resume_event) if last and resume_at is not None else None,
            decided=decided,
        )
    return instance


def _fire_one(
    unit: Unit,
    instance: Instance,
    machine: Machine,
    event: str,
    actor: Actor,
    *,
    mid_chain: bool,
    last: bool,
    patch: Mapping[str, Any] | None,
    payload: Mapping[str, Any],
    due: tuple[Micros, str] | None,
    decided: bool,
) -> None:
    arm = machine.arm(instance.state, event)
    if arm is not None:
        _arm(unit, instance, machine, arm, actor, patch, payload, decided)
        return
    edge = choose(instance, machine, event, actor, mid_chain=mid_chain)
    if not decided:
        review_access.may_fire(unit, instance, machine, event, edge.by, actor)
    _accept(edge.accepts, patch, f"event {event!r} in state {instance.state!r} of {machine.name}")
    if due is not None and not any(SYSTEM in e.by for e in machine.edges_on(edge.to, due[1])):
        raise Refused(f"{machine.name} in {edge.to!r} cannot be resumed by the system with {due[1]!r}")
    if edge.to == machine.failures.state and edge.source != edge.to:
        instance.failed_step = machine.step_of(edge.source, instance.stage_data(machine))
        due = _retry_due(unit, machine) if due is None and last else due
    gave_up = machine.states[edge.source].kind is Kind.FAILED and instance.finished_at is not None
    moves.move(unit, instance, machine, edge, actor, patch=patch, payload=payload, last=last, due=due)
    if gave_up and actor.kind in PEOPLE:  # at the end, because an attempt does not undo this write
        failing.close_dead_letters(unit, instance, actor, "retried" if event == machine.failures.retry else "resolved")


def _retry_due(unit: Unit, machine: Machine) -> tuple[Micros, str] | None:
    """When to retry an instance that was moved to the state for failures by hand: as after a first failure."""
    failures = machine.failures
    if not any(SYSTEM in edge.by for edge in machine.edges_on(failures.state or "", failures.retry)):
        return None
    return unit.now + span(failures.otherwise.backoff.delay(1)), failures.retry


def choose(instance: Instance, machine: Machine, event: str, actor: Actor, *, mid_chain: bool = False) -> Edge:
    """The transition that the event takes now. Raises Refused or Forbidden, with the events that are allowed."""
    edges = machine.edges_on(instance.state, event)
    if not edges:
        raise Refused(f"{_where(instance)}, where {event!r} is not declared", allowed(instance, machine))
    final = is_final(instance, machine) and not mid_chain
    mine = [e for e in edges if actor.may(allowed_kinds(e, final=final))]
    if not mine:
        if final and not any(allowed_kinds(e, final=True) for e in edges):
            raise Refused(f"{_where(instance)}, which is final", allowed(instance, machine))
        who = ", ".join(sorted({b.value for e in edges for b in allowed_kinds(e, final=final)}))
        raise Forbidden(
            f"{_where(instance)}, where {event!r} is for {who}, not for {actor.kind.value}", allowed(instance, machine)
        )
    whys = []
    for edge in mine:
        verdict = _verdict(edge.guard, instance, machine, event, actor) if edge.guard is not None else True
        if verdict is True:
            return edge
        whys.append(verdict if isinstance(verdict, str) else getattr(edge.guard, "__name__", "its guard"))
    raise Refused(f"{_where(instance)}, where {event!r} does not pass: {'; '.join(whys)}", allowed(instance, machine))


def _verdict(guard: Guard, instance: Instance, machine: Machine, event: str, actor: Actor) -> bool | str:
    try:
        return guard(facts(instance, actor))
    except BaseException as error:
        if not is_item_error(error):
            raise
        raise GuardFailed(
            f"{_where(instance)}, where the guard {getattr(guard, '__name__', guard)!r} of {event!r} raised "
            f"{type(error).__name__}: {error_details.message_of(error)}",
            allowed(instance, machine),
        ) from error


def _where(instance: Instance) -> str:
    return f"{instance.machine} {instance.id} is in {instance.state!r}"


def _accept(accepts: tuple[str, ...], patch: Mapping[str, Any] | None, place: str) -> None:
    extra = sorted(set(patch or ()) - set(accepts))
    if extra:
        takes = f"it takes {', '.join(accepts)}" if accepts else "it takes none"
        raise InvalidData(f"{place} does not take the field {', '.join(map(repr, extra))}; {takes}")


def _arm(
    unit: Unit,
    instance: Instance,
    machine: Machine,
    arm: Arm,
    actor: Actor,
    patch: Mapping[str, Any] | None,
    payload: Mapping[str, Any],
    decided: bool,
) -> None:
    where = _where(instance)
    if not actor.may(arm.by):
        who = ", ".join(sorted(by.value for by in arm.by))
        raise Forbidden(
            f"{where}, where {arm.on!r} is for {who}, not for {actor.kind.value}", allowed(instance, machine)
        )
    # Work that is running or ready is not started twice.
    if under_way(instance):
        raise Refused(f"{where} and its work was started already", allowed(instance, machine))
    verdict = _verdict(arm.guard, instance, machine, arm.on, actor) if arm.guard is not None else True
    if verdict is not True:
        why = verdict if isinstance(verdict, str) else getattr(arm.guard, "__name__", "its guard")
        raise Refused(f"{where}, where {arm.on!r} does not pass: {why}", allowed(instance, machine))
    if not decided:
        review_access.may_fire(unit, instance, machine, arm.on, arm.by, actor)
    _accept(arm.accepts, patch, f"event {arm.on!r} in state {instance.state!r} of {machine.name}")
    change = moves.change_data(machine, instance, patch)
    if machine.states[instance.state].review is not None:
        unit.closed_reviews.append(instance.id)
    unit.record(instance, "armed", actor, event=arm.on, payload={**payload, **change})
    if instance.paused_at is not None:
        instance.paused_wake, instance.paused_due = "work", unit.now
    else:
        instance.wake, instance.due_at, instance.due_event = "work", unit.now, None


def force(unit: Unit, instance_id: UUID, to: str, actor: Actor, reason: str) -> Instance:
    """Put the instance into any state, as an owner, outside of the declared transitions."""
    instance = unit.lock(instance_id)
    machine = unit.machine(instance)
    if actor.kind is not By.OWNER:
        raise Forbidden(f"only an owner may force an instance, not {actor.kind.value}", allowed(instance, machine))
    if not values.text(reason, "the reason").strip():
        raise InvalidData("forcing an instance needs a reason; give one")
    values.indexed(to, "the state", values.NAME)
    if to not in machine.states:
        raise InvalidData(f"{machine.name} has no state {to!r}; it has {', '.join(machine.states)}")
    edge = Edge(instance.state, to, "force", frozenset({By.OWNER}), None)
    moves.move(unit, instance, machine, edge, actor, payload={"reason": reason}, kind="forced")
    return instance


def cancel(unit: Unit, instance_id: UUID, actor: Actor, *, reason: str = "") -> Instance:
    """Take the shortest path, open to this actor, to the machine's state for cancelled work."""
    instance = unit.lock(instance_id)
    machine = unit.machine(instance)
    if machine.cancel is None:
        raise Refused(f"{machine.name} declares no state for cancelled work", allowed(instance, machine))
    events = _events_to(instance, machine, machine.cancel, actor)
    if not events:
        raise Refused(
            f"{machine.name} {instance.id} is in {instance.state!r}, from where {actor.kind.value} "
            f"has no path to {machine.cancel!r}",
            allowed(instance, machine),
        )
    return fire(unit, instance_id, events, actor, reason=reason)


def can_cancel(instance: Instance, machine: Machine, actor: Actor) -> bool:
    """Whether `cancel` would find a path that is open to this actor."""
    return machine.cancel is not None and bool(_events_to(instance, machine, machine.cancel, actor))


def _events_to(instance: Instance, machine: Machine, goal: str, actor: Actor) -> tuple[str, ...]:
    if instance.state == goal:
        return ()
    todo: deque[tuple[str, tuple[str, ...]]] = deque([(instance.state, ())])
    seen = {instance.state}
    while todo:
        here, events = todo.popleft()
        for edge in machine.edges_from(here):
            final = not events and is_final(instance, machine)
            if edge.to in seen or edge.guard is not None or not actor.may(allowed_kinds(edge, final=final)):
                continue
            if edge.to == goal:
                return (*events, edge.on)
            # A path through another final state would end the instance twice.
            if machine.states[edge.to].kind is not Kind.FINAL:
                seen.add(edge.to)
                todo.append((edge.to, (*events, edge.on)))
    return ()
