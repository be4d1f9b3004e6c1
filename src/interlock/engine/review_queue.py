"""The inbox of reviews: assign a review to a person, and snooze it until a time.

Neither decides anything. Whoever has the review's role may still decide it, and its deadline stays. To keep others
from deciding it for a while, claim it (`reviews.claim`).
"""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

import sqlalchemy as sa

from interlock.engine import actions, review_access, reviews, values
from interlock.engine.errors import InvalidData
from interlock.engine.unit import Unit
from interlock.machine import Actor
from interlock.store import Micros, moment, span
from interlock.store.tables import review as R

LONGEST_SNOOZE = timedelta(days=365)


def assign(unit: Unit, review_id: UUID, to: str | None, actor: Actor) -> reviews.OpenReview:
    """Make a person responsible for the review, by name; None makes it nobody's. The caller checks that they exist."""
    found = _open(unit, review_id, actor)
    if to is not None:
        values.indexed(to, "the person", values.NAME)
    if found.assigned_to == to:
        return found
    unit.conn.execute(sa.update(R).where(R.c.id == review_id).values(assigned_to=to))
    details = {"to": to or "nobody", "before": found.assigned_to}
    actions.record(unit, actor, "review.assigned", str(review_id), workspace=found.workspace, details=details)
    return reviews.get(unit.conn, review_id)


def snooze(unit: Unit, review_id: UUID, until: Micros, actor: Actor) -> reviews.OpenReview:
    """Put the review to the end of the inbox until a time. Gives up the actor's claim."""
    found = _open(unit, review_id, actor)
    if until <= unit.now:
        raise InvalidData(f"a review is snoozed until a time in the future; {moment(until):%Y-%m-%d %H:%M} UTC is past")
    if until > unit.now + span(LONGEST_SNOOZE):
        raise InvalidData(f"a review is snoozed for at most {LONGEST_SNOOZE.days} days")
    if found.due_at is not None and until > found.due_at:
        raise InvalidData(
            f"the review is due at {moment(found.due_at):%Y-%m-%d %H:%M} UTC; snooze it until an earlier time"
        )
    kept = {"snoozed_until": until, "snoozed_by": str(actor), "claimed_by": None, "claimed_until": None}
    unit.conn.execute(sa.update(R).where(R.c.id == review_id).values(**kept))
    return reviews.get(unit.conn, review_id)


def wake(unit: Unit, review_id: UUID, actor: Actor) -> reviews.OpenReview:
    """End the snooze."""
    _open(unit, review_id, actor)
    unit.conn.execute(sa.update(R).where(R.c.id == review_id).values(snoozed_until=None, snoozed_by=None))
    return reviews.get(unit.conn, review_id)


def _open(unit: Unit, review_id: UUID, actor: Actor) -> reviews.OpenReview:
    review_access.require_person(actor)
    found = reviews.get(unit.conn, review_id, lock=True)
    reviews.require_open(found)
    review_access.check(found.access, actor, unit.now)
    return found
