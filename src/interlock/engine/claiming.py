"""Claiming: a worker takes ready instances under a lease with a new fence."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple
from uuid import UUID

from interlock.engine import failing, limits, moves, picking
from interlock.engine.instance import Instance
from interlock.engine.unit import Unit
from interlock.machine import WORKER, Actor, Edge, Machine, Work, WorkError
from interlock.store import Micros, span


class Claim(NamedTuple):
    """Leave to do one step of one instance."""

    instance: Instance
    machine: Machine
    work: Work
    step: str
    worker: UUID
    fence: int
    until: Micros
    waited: Micros | None = None
    """How long the step was ready before, unless a pick-up has written it down already."""

    @property
    def id(self) -> UUID:
        return self.instance.id


def claim(unit: Unit, worker: UUID, queues: Sequence[str], count: int, turn: int = 0) -> list[Claim]:
    """Up to `count` claims; picks up, with a history row, what is declared to be picked up."""
    if count <= 0 or not queues:
        return []
    places: dict[tuple[str, int, str], Place] = {}
    picked: list[tuple[Instance, Place]] = []
    for instance in unit.adopt(picking.pick(unit.core, unit.conn, unit.now, queues, count, turn)):
        where = instance.machine, instance.version, instance.state
        if where not in places:
            places[where] = _place(unit.machine(instance), instance.state)
        picked.append((instance, places[where]))
    if not all(place.simple for place in places.values()):
        limits.lock_windows(unit, ((i, place.machine, place.edge.takes) for i, place in picked if place.edge))
        limits.lock_slots(unit, ((i, place.machine, place.state) for i, place in picked if place.machine.has_slots))
    claims = []
    for instance, place in picked:
        if place.simple is None:
            made = _claim(unit, instance, place, worker)
            if made is not None:
                claims.append(made)
            continue
        work, length = place.simple
        until, waited = unit.now + length, max(unit.now - (instance.due_at or unit.now), 0)
        unit.lease(instance, worker, until)
        claims.append(Claim(instance, place.machine, work, place.state, worker, instance.fence, until, waited))
    return claims


class Place(NamedTuple):
    """What is the same for all that are picked in one state of one machine."""

    machine: Machine
    edge: Edge | None
    """The transition that the claim itself takes."""
    state: str
    """Where the work is done."""
    simple: tuple[Work, Micros] | None
    """The work and how long it may take, where a lease is all that a claim needs."""


def _place(machine: Machine, state: str) -> Place:
    edge = machine.pick_up(state)
    at = edge.to if edge else state
    work = None if machine.stage or edge or machine.concurrent(at) else machine.handler_for(at, {})
    return Place(machine, edge, at, (work, span(work.timeout)) if work is not None else None)


def _claim(unit: Unit, instance: Instance, place: Place, worker: UUID) -> Claim | None:
    """Take what the machine has declared with it: slots, and the move into the state where the work is done."""
    machine, edge, state, _ = place
    work = machine.handler_for(state, instance.staged(machine))
    if work is None:
        # Served by another process; a second look in a minute, if that one is gone.
        instance.due_at = unit.now + 60_000_000
        unit.touch(instance)
        return None
    instance.waited = max(unit.now - (instance.due_at or unit.now), 0)
    if edge is not None or machine.concurrent(state):
        mark = unit.mark(instance)
        try:
            full = limits.take_slots(unit, instance, machine, state) if machine.concurrent(state) else None
            if full is not None:
                instance.wake, instance.blocked_on = "blocked", full
                unit.touch(instance)
                return None
            if edge is not None:
                moves.move(unit, instance, machine, edge, acting(worker))
        except WorkError as error:  # a limit of the pick-up is used up, or cannot be worked out
            unit.revert(instance, mark)
            failing.fail(unit, instance, machine, error, acting(worker))
            return None
    step = machine.step_of(instance.state, instance.staged(machine))
    until = unit.now + span(work.timeout)
    unit.lease(instance, worker, until)
    return Claim(instance, machine, work, step, worker, instance.fence, until, instance.waited)


@lru_cache(1000)
def acting(worker: UUID) -> Actor:
    """The worker, as history names it."""
    return Actor(WORKER, str(worker))


def held(unit: Unit, claim: Claim) -> Instance | None:
    """The claimed instance, if the claim still holds."""
    instance = unit.known.get(claim.id) or unit.lock_many([claim.id]).get(claim.id)
    if instance is None or (instance.holder, instance.fence, instance.wake) != (claim.worker, claim.fence, "lease"):
        return None
    return instance
