"""Who may answer a review, on every way to the transition that its decision means.

A decision fires an event. Whoever fires that event in another way (over HTTP, in bulk, on a page) takes the same
decision, so the review's role and its claim hold there, too: they are checked where an event is fired, and nowhere
else. Workers, timers and the engine itself are no deciders: what they may do is said by the transition alone.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from uuid import UUID

import sqlalchemy as sa

from interlock.engine.errors import Forbidden, ReviewClaimed
from interlock.engine.instance import Instance
from interlock.engine.unit import Unit
from interlock.machine import Actor, By, Machine
from interlock.machine.transitions import OUTSIDE, PEOPLE, ROLES
from interlock.store import Micros, moment
from interlock.store.prepared import Prepared
from interlock.store.tables import review as R

_OPEN = Prepared(
    sa.select(R.c.id, R.c.state, R.c.role, R.c.decisions, R.c.claimed_by, R.c.claimed_until)
    .where(R.c.instance_id == sa.bindparam("instance_id", type_=sa.Uuid), R.c.status == sa.literal_column("'open'"))
    .order_by(R.c.id)
)


@dataclass(frozen=True, slots=True)
class ReviewAccess:
    """What of an open review says who may answer it."""

    id: UUID
    role: str
    claimed_by: str | None
    claimed_until: Micros | None


def may_fire(unit: Unit, instance: Instance, machine: Machine, event: str, by: frozenset[By], actor: Actor) -> None:
    """Forbidden or ReviewClaimed where the event answers a review that is not this actor's to answer.

    Where several open reviews lead to the event, one of them that this actor may answer is enough.
    """
    if actor.kind not in OUTSIDE or not by & PEOPLE:
        return
    problem: Forbidden | ReviewClaimed | None = None
    for found in _asked(unit, instance, event):
        try:
            check(found, actor, unit.now)
        except (Forbidden, ReviewClaimed) as error:
            problem = problem or error
        else:
            return
    if problem is not None:
        raise problem
    if not may_answer(machine, instance.state, event, actor):
        declared = machine.states[instance.state].review
        assert declared is not None
        raise Forbidden(f"{event!r} in {instance.state!r} of {machine.name} is for the role {declared.role}")


def may_answer(machine: Machine, state: str, event: str, actor: Actor | None) -> bool:
    """Whether the state's own review, as it is declared, leaves the event to this actor; None is anybody."""
    declared = machine.states[state].review
    if actor is None or declared is None or event not in declared.decisions.values() or actor.kind not in PEOPLE:
        return True
    return has_role(actor, declared.role)


def _asked(unit: Unit, instance: Instance, event: str) -> list[ReviewAccess]:
    """The open reviews with a decision that fires this event where the instance is."""
    return [
        ReviewAccess(id_, role, claimed_by, claimed_until)
        for id_, state, role, decisions, claimed_by, claimed_until in _OPEN.rows(unit.conn, instance_id=instance.id)
        if state in {None, instance.state} and event in json.loads(decisions).values()
    ]


def check(found: ReviewAccess, actor: Actor, now: Micros) -> None:
    """Raise unless this actor is a person with the review's role, and nobody else is at it."""
    require_person(actor)
    if not has_role(actor, found.role):
        raise Forbidden(f"review {found.id} is for the role {found.role}, which {actor.name} does not have")
    require_unclaimed(found, actor, now)


def require_person(actor: Actor) -> None:
    """Raise Forbidden for anybody else, without saying what was decided."""
    if actor.kind not in PEOPLE:
        raise Forbidden(f"a review is decided by a person, not by {actor.kind.value}")


def has_role(actor: Actor, role: str) -> bool:
    """Whether the actor may do what this role may; one whose roles nobody knows is trusted by whoever made it."""
    wanted = role if role in ROLES else ROLES[-1]  # of a declaration older than the check on roles
    return actor.roles is None or wanted in actor.roles


def require_unclaimed(found: ReviewAccess, actor: Actor, now: Micros) -> None:
    """ReviewClaimed while somebody else has claimed it."""
    if found.claimed_by is None or found.claimed_until is None or found.claimed_until <= now:
        return
    holder = Actor.parse(found.claimed_by)
    # Whoever became an owner meanwhile is still the same person.
    if holder.name != actor.name or not {holder.kind, actor.kind} <= PEOPLE:
        raise ReviewClaimed(
            f"review {found.id} is being worked on by {found.claimed_by} until {moment(found.claimed_until):%H:%M} UTC"
        )
