"""Claiming: a worker takes ready instances under a lease with a new fence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import chain
from operator import itemgetter
from typing import Any, NamedTuple
from uuid import UUID

from uuid_utils.compat import uuid7

from interlock.engine import claim_batches, error_details, failing, limits, moves, picking
from interlock.engine.errors import InvalidData, is_item_error
from interlock.engine.instance import POSITIONS, Instance, column_getter
from interlock.engine.unit import Unit
from interlock.machine import WORKER, Actor, Edge, Machine, Work
from interlock.store import Micros, ready, span
from interlock.store.ready import COLUMNS as READY
from interlock.store.ready import USUAL, WIDTH

WAKE, DUE, HOLDER, FENCE, SINCE, BY, UNTIL = map(
    POSITIONS.__getitem__, ("wake", "due_at", "holder", "fence", "claimed_at", "taken_by", "taken_until")
)
assert (DUE, FENCE, SINCE, UNTIL) == (WAKE + 1, HOLDER + 1, HOLDER + 2, BY + 1), "a claim changes runs of columns"
STATE, SEQ, DATA, QUEUE, READY_DUE, READY_FENCE, TRACE, IS_USUAL = map(
    ready.POSITIONS.__getitem__, ("state", "seq", "data", "queue", "due_at", "fence", "trace_id", "usual")
)
_state_of = itemgetter(*(ready.POSITIONS[name] for name in ("machine", "version", "state")))
_ready_part, _unusual, _usual = column_getter(*READY), column_getter(*USUAL), tuple(USUAL.values())


class Claim(NamedTuple):
    """Permission for a worker to run one step of one instance."""

    row: tuple[Any, ...]
    """The ready row (see `store.ready`), as it was before the claim or with its pick-up."""
    machine: Machine
    work: Work
    step: str
    worker: UUID
    fence: int
    at: Micros
    until: Micros
    waited: Micros | None = None
    """How long the step was ready before the claim, unless a pick-up has recorded it already."""
    large_data_text: str | None = None
    """The data, if it is too large for the row."""
    batch: UUID | None = None
    """The batch that lists it, if it is a claim in place."""
    stored: tuple[Any, ...] | None = None
    """All columns as they are in the database, if they were read."""

    @property
    def state(self) -> str:
        state: str = self.row[STATE]
        return state

    @property
    def queue(self) -> str:
        queue: str = self.row[QUEUE]
        return queue

    @property
    def trace_id(self) -> str:
        trace_id: str = self.row[TRACE]
        return trace_id

    @property
    def instance(self) -> Instance:
        """The instance as it was claimed, if all columns were read."""
        assert self.stored is not None, "all columns are needed: claim with `whole`"
        made = Instance.read(self.stored)
        made.large_data_text, made.data_is_large = self.large_data_text, self.large_data_text is not None
        return made

    @property
    def id(self) -> UUID:
        instance: UUID = self.row[0]
        return instance


def claim(
    unit: Unit,
    worker: UUID,
    queues: Sequence[str],
    count: int,
    turn: int = 0,
    picked: list[tuple[UUID, int]] | None = None,
    *,
    whole: bool = True,
) -> list[Claim]:
    """Up to `count` claims. A transition declared with `pick_up` is taken, with its history row.

    An instance that cannot be claimed fails its step; the others are claimed. `picked` collects (id, seq) of all rows
    that were tried. Without `whole` only ready rows are read. Rows of which a claim or its result needs more are read
    again, and `unit.needed_whole` counts them.
    """
    if count <= 0 or not queues:
        return []
    rows = picking.pick(unit.core, unit.conn, unit.now, queues, count, turn, whole=whole)
    if picked is not None:
        picked += [(row[0], row[SEQ]) for row in rows]
    plans: dict[tuple[str, int, str], ClaimPlan] = {}
    for which in set(map(_state_of, rows)):
        machine, version, state = which
        plans[which] = _plan_for(unit.core.machine(machine, version), state)
    claims: list[Claim | None] = [None] * len(rows)
    others: list[int] = []
    taken: dict[Micros, list[UUID]] = {}
    now = unit.now
    in_place = unit.core.claims_in_place and len(rows) >= claim_batches.SMALLEST
    batch = uuid7() if in_place else None
    stored = None
    for number, row in enumerate(rows):
        machine, _, state, lease_only = plans[_state_of(row)]
        if lease_only is None or row[DATA] is None or not row[IS_USUAL]:
            others.append(number)
            continue
        work, length = lease_only
        until, fence, since = now + length, row[READY_FENCE] + 1, row[READY_DUE]
        if until not in taken:
            taken[until] = []
        taken[until].append(row[0])
        if whole:
            row, stored = row[:WIDTH], _leased(row[WIDTH:], worker, fence, now, until, in_place)
        waited = now - since if since < now else 0
        claims[number] = Claim(row, machine, work, state, worker, fence, now, until, waited, None, batch, stored)
    for until, ids in taken.items():  # now, so that the rest reads what is true
        unit.lease_rows(ids, worker, until, in_place=in_place)
    if batch is not None and taken:
        claim_batches.write(unit, batch, worker, chain.from_iterable(taken.values()))
    if others:
        unit.needed_whole += len(others)
        longer = _claim_with_rules(unit, [rows[n] for n in others], plans, worker, whole=whole)
        unit.flush()  # a claim carries the row as it is in the database
        for number, began in zip(others, longer, strict=True):
            claims[number] = began and began.written()
    return [made for made in claims if made is not None]


def _leased(
    row: tuple[Any, ...], worker: UUID, fence: int, now: Micros, until: Micros, in_place: bool
) -> tuple[Any, ...]:
    """All columns of a row, as its lease leaves them."""
    if in_place:
        return (*row[:FENCE], fence, now, *row[SINCE + 1 : BY], worker, until, *row[UNTIL + 1 :])
    return (*row[:WAKE], "lease", until, *row[DUE + 1 : HOLDER], worker, fence, now, *row[SINCE + 1 :])


def _claim_with_rules(
    unit: Unit,
    rows: Sequence[tuple[Any, ...]],
    plans: Mapping[tuple[str, int, str], ClaimPlan],
    worker: UUID,
    *,
    whole: bool,
) -> list[PendingClaim | None]:
    """Claims that need more than a lease, or whose data is not in the row."""
    if whole:
        instances = unit.adopt([row[WIDTH:] for row in rows])
    else:
        found = unit.lock_many([row[0] for row in rows])
        instances = [found[row[0]] for row in rows]
    picked = [(instance, plans[_state_of(row)]) for instance, row in zip(instances, rows, strict=True)]
    limits.lock_windows(unit, ((i, plan.machine, plan.edge.takes) for i, plan in picked if plan.edge))
    limits.lock_slots(unit, ((i, plan.machine, plan.state) for i, plan in picked if plan.machine.has_slots))
    return [_claim(unit, instance, plan, worker) for instance, plan in picked]


class ClaimPlan(NamedTuple):
    """What all rows in one state of one machine have in common for a claim."""

    machine: Machine
    edge: Edge | None
    """The pick-up transition, if there is one."""
    state: str
    """The state whose handler runs."""
    lease_only: tuple[Work, Micros] | None
    """The work and its time limit, if the claim needs nothing but a lease."""


def _plan_for(machine: Machine, state: str) -> ClaimPlan:
    if state not in machine.states:
        return ClaimPlan(machine, None, state, None)
    edge = machine.pick_up(state)
    at = edge.to if edge else state
    work = None if machine.stage or edge or machine.concurrent(at) else machine.handler_for(at, {})
    return ClaimPlan(machine, edge, at, (work, span(work.timeout)) if work is not None else None)


class PendingClaim(NamedTuple):
    """A claim whose row is not written yet."""

    instance: Instance
    claim: Claim

    def written(self) -> Claim:
        stored = self.instance.loaded
        assert stored is not None, "it was read"
        row = (*_ready_part(stored), _unusual(stored) == _usual)
        text = self.claim.large_data_text if row[DATA] is None else None
        return self.claim._replace(row=row, stored=stored, large_data_text=text)


def _claim(unit: Unit, instance: Instance, plan: ClaimPlan, worker: UUID) -> PendingClaim | None:
    """Claim one instance: take its slots, and the pick-up into the state whose handler runs."""
    try:
        with unit.attempt(instance):
            return _taken(unit, instance, plan, worker)
    except BaseException as error:
        # Keys, guards, followers and models are application code, and the data may be anything.
        if not is_item_error(error):
            raise
        machine = plan.machine
        trouble = error_details.as_work_error(error, f"{machine.name} in {instance.state!r} cannot be claimed")
        failing.fail(unit, instance, machine, trouble, worker_actor(worker))
        return None


def _taken(unit: Unit, instance: Instance, plan: ClaimPlan, worker: UUID) -> PendingClaim | None:
    machine, edge, state, _ = plan
    if state not in machine.states:
        raise InvalidData(f"{machine.name} has no state {state!r}; it has {', '.join(machine.states)}")
    work = machine.handler_for(state, instance.stage_data(machine))
    if work is None:
        # Another process serves it. Look again in a minute, in case that one is gone.
        instance.due_at = unit.now + 60_000_000
        unit.touch(instance)
        return None
    instance.waited = max(unit.now - (instance.due_at or unit.now), 0)
    full = limits.take_slots(unit, instance, machine, state) if machine.concurrent(state) else None
    if full is not None:
        instance.wake, instance.blocked_on = "blocked", full
        unit.touch(instance)
        return None
    if edge is not None:
        moves.move(unit, instance, machine, edge, worker_actor(worker))
    step = machine.step_of(instance.state, instance.stage_data(machine))
    instance.data  # noqa: B018 - unreadable data must fail here, not in the worker
    until = unit.now + span(work.timeout)
    unit.lease(instance, worker, until)
    fence, waited, text = instance.fence, instance.waited, instance.data_text
    made = Claim((), machine, work, step, worker, fence, unit.now, until, waited, large_data_text=text)
    return PendingClaim(instance, made)


@lru_cache(1000)
def worker_actor(worker: UUID) -> Actor:
    """The worker as an actor, as the history names it."""
    return Actor(WORKER, str(worker))


def claimed(unit: Unit, claim: Claim) -> Instance | None:
    """The claimed instance, or None if the claim is no longer valid."""
    instance = unit.known.get(claim.id) or unit.lock_many([claim.id]).get(claim.id)
    if instance is None or (instance.holder, instance.fence, instance.wake) != (claim.worker, claim.fence, "lease"):
        return None
    return instance
