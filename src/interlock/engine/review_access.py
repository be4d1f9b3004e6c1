"""Who may decide a review, also when the event of the decision is fired directly.

A decision fires an event. Firing that event in another way (over HTTP, in bulk, on a page) is the same decision, so the
review's role and claim are checked whenever an event is fired. Workers, timers and the engine do not decide reviews:
the transition alone says what they may do.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import sqlalchemy as sa

from interlock.engine.errors import Forbidden, ReviewClaimed
from interlock.engine.instance import Instance
from interlock.engine.unit import Unit
from interlock.machine import Actor, By, Machine
from interlock.machine.transitions import OUTSIDE, PEOPLE, ROLES
from interlock.store import Micros, moment
from interlock.store.prepared import Prepared
from interlock.store.sql import OPEN_REVIEWS, one_of
from interlock.store.tables import review as R

_OPEN = Prepared(
    sa.select(R.c.id, R.c.state, R.c.role, R.c.decisions, R.c.claimed_by, R.c.claimed_until)
    .where(R.c.instance_id == sa.bindparam("instance_id", type_=sa.Uuid), R.c.status == sa.literal_column("'open'"))
    .order_by(R.c.id)
)


@dataclass(frozen=True, slots=True)
class ReviewAccess:
    """The fields of an open review that say who may decide it."""

    id: UUID
    role: str
    claimed_by: str | None
    claimed_until: Micros | None


def may_fire(unit: Unit, instance: Instance, machine: Machine, event: str, by: frozenset[By], actor: Actor) -> None:
    """Raise Forbidden or ReviewClaimed if the event decides a review that this actor may not decide.

    If several open reviews lead to the event, one that this actor may decide is enough.
    """
    if actor.kind not in OUTSIDE or not by & PEOPLE:
        return
    problem: Forbidden | ReviewClaimed | None = None
    for found in _open_reviews(unit, instance, event):
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
    """Whether the declared review of the state lets this actor fire the event; None is anybody."""
    declared = machine.states[state].review
    if actor is None or declared is None or event not in declared.decisions.values() or actor.kind not in PEOPLE:
        return True
    return has_role(actor, declared.role)


def read_together(unit: Unit, ids: Iterable[UUID]) -> None:
    """Read the open reviews of instances that are locked, for one event each."""
    found: dict[UUID, list[tuple[Any, ...]]] = {one: [] for one in ids}
    if found:
        given = one_of(unit.conn, [one.hex for one in found])
        for instance_id, *row in OPEN_REVIEWS.rows(unit.conn, ids=given):
            found[instance_id].append(tuple(row))
    unit.open_reviews = found


def _open_reviews(unit: Unit, instance: Instance, event: str) -> list[ReviewAccess]:
    """The open reviews with a decision that fires this event in the current state."""
    rows = unit.open_reviews.pop(instance.id, None)
    if rows is None:
        rows = _OPEN.rows(unit.conn, instance_id=instance.id)
    return [
        ReviewAccess(id_, role, claimed_by, claimed_until)
        for id_, state, role, decisions, claimed_by, claimed_until in rows
        if state in {None, instance.state} and event in json.loads(decisions).values()
    ]


def check(found: ReviewAccess, actor: Actor, now: Micros) -> None:
    """Raise an error unless this actor is a person with the review's role, and nobody else has claimed it."""
    require_person(actor)
    if not has_role(actor, found.role):
        raise Forbidden(f"review {found.id} is for the role {found.role}, which {actor.name} does not have")
    require_unclaimed(found, actor, now)


def require_person(actor: Actor) -> None:
    """Raise Forbidden for anybody else, without saying what was decided."""
    if actor.kind not in PEOPLE:
        raise Forbidden(f"a review is decided by a person, not by {actor.kind.value}")


def has_role(actor: Actor, role: str) -> bool:
    """Whether the actor has this role. If its roles are None, the caller has checked them."""
    wanted = role if role in ROLES else ROLES[-1]  # declarations from before roles were checked may have others
    return actor.roles is None or wanted in actor.roles


def require_unclaimed(found: ReviewAccess, actor: Actor, now: Micros) -> None:
    """Raise ReviewClaimed while somebody else has claimed it."""
    if found.claimed_by is None or found.claimed_until is None or found.claimed_until <= now:
        return
    holder = Actor.parse(found.claimed_by)
    # A person who became an owner meanwhile is still the same person.
    if holder.name != actor.name or not {holder.kind, actor.kind} <= PEOPLE:
        raise ReviewClaimed(
            f"review {found.id} is being worked on by {found.claimed_by} until {moment(found.claimed_until):%H:%M} UTC"
        )
