"""Claiming: a worker takes ready instances under a lease with a new fence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from uuid import UUID

from interlock.engine import failing, limits, moves, picking
from interlock.engine.instance import Instance
from interlock.engine.unit import Unit
from interlock.machine import WORKER, Actor, Machine, Work, WorkError
from interlock.store import Micros, span


@dataclass(frozen=True, slots=True)
class Claim:
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
    actor = acting(worker)
    claims = []
    picked = []
    for instance in unit.adopt(picking.pick(unit.core, unit.conn, unit.now, queues, count, turn)):
        machine = unit.machine(instance)
        edge = machine.pick_up(instance.state)
        picked.append((instance, machine, edge, edge.to if edge else instance.state))
    limits.lock_windows(unit, ((i, m, edge.takes) for i, m, edge, _ in picked if edge is not None))
    limits.lock_slots(unit, ((i, m, state) for i, m, _, state in picked if m.has_slots))
    for instance, machine, edge, state in picked:
        work = machine.handler_for(state, instance.staged(machine))
        if work is None:
            # Served by another process; a second look in a minute, if that one is gone.
            instance.due_at = unit.now + 60_000_000
            unit.touch(instance)
            continue
        instance.waited = max(unit.now - (instance.due_at or unit.now), 0)
        if edge is not None or machine.concurrent(state):
            mark = unit.mark(instance)
            try:
                full = limits.take_slots(unit, instance, machine, state) if machine.concurrent(state) else None
                if full is not None:
                    instance.wake, instance.blocked_on = "blocked", full
                    unit.touch(instance)
                    continue
                if edge is not None:
                    moves.move(unit, instance, machine, edge, actor)
            except WorkError as error:  # a limit of the pick-up is used up, or cannot be worked out
                unit.revert(instance, mark)
                failing.fail(unit, instance, machine, error, actor)
                continue
        until = unit.now + span(work.timeout)
        unit.lease(instance, worker, until)
        step = machine.step_of(instance.state, instance.staged(machine))
        claims.append(Claim(instance, machine, work, step, worker, instance.fence, until, instance.waited))
    return claims


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
