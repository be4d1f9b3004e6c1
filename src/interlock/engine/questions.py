"""Questions: a running handler asks a person, waits, and is given the answer.

A question is a review that belongs to one visit of one step. Its name distinguishes it from others of the same visit,
so a handler that runs again after a crash finds the question that it asked before, and its answer if there is one. At
the deadline the system takes the default that the handler gave. A move that does not belong to a retry closes open
questions.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import pydantic
import sqlalchemy as sa

from interlock.engine import effects, error_details, moves, reviews, values, visits
from interlock.engine.claiming import Claim, worker_actor
from interlock.engine.errors import InvalidData, NotFound, is_item_error
from interlock.engine.finishing import require_claim
from interlock.engine.instance import Instance
from interlock.engine.text import shortened
from interlock.engine.unit import SYSTEM_ACTOR, Unit
from interlock.machine import Machine, Review, WorkError
from interlock.store import Micros, moment, span
from interlock.store.tables import instance as I
from interlock.store.tables import review as R

log = logging.getLogger("interlock.engine")
BATCH = 200
LONGEST = timedelta(days=36_500)
"""The longest deadline: 100 years."""
_WAITING = sa.text("review.status = 'open' AND review.fallback IS NOT NULL")


class QuestionClosed(WorkError):
    """A question was closed without an answer while its handler still waits."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to a question."""

    decision: str
    form: dict[str, Any]
    """The fields of the review's form; empty if it has none."""
    by: str
    """Who decided: `user:ann`, or `system` for the default."""
    at: datetime

    @property
    def by_default(self) -> bool:
        """Whether nobody answered by the deadline."""
        return self.by == str(SYSTEM_ACTOR)


@dataclass(frozen=True, slots=True)
class Question:
    """The state of a question."""

    id: UUID
    until: Micros
    """The deadline."""
    answer: Answer | None = None
    closed: str | None = None
    """Why it was closed without an answer."""

    @property
    def is_open(self) -> bool:
        return self.answer is None and self.closed is None


def ask(
    unit: Unit,
    claim: Claim,
    name: str,
    review: Review,
    *,
    deadline: timedelta,
    default: str,
    default_form: Mapping[str, Any] | None = None,
    evidence: Mapping[str, Any] | None = None,
    title: str = "",
) -> Question:
    """Open the question, or find the one that this visit of the step has asked already.

    The lease is extended to the deadline plus a whole time limit: waiting for a person does not count.
    """
    instance = require_claim(unit, claim)
    fallback = {"decision": default, "answer": _checked(claim.machine, name, review, deadline, default, default_form)}
    step = effects.step_of(claim, instance)
    visit = visits.of(unit.conn, instance.id, instance.parent, step).key
    found = _asked(unit, instance, name, visit, review)
    if found is None:
        asked = replace(review, title=title or review.title, due=deadline)
        made = moves.open_review(unit, instance, name, asked, evidence=evidence, visit=visit, fallback=fallback)
        found = Question(made, unit.now + span(deadline))
        payload = {"review": str(made), "name": name, "step": step, "default": default, "until": found.until}
        unit.record(instance, "asked", worker_actor(claim.worker), payload=payload)
    if found.is_open:
        instance.due_at = max(found.until, unit.now) + span(claim.work.timeout)
        unit.touch(instance)
    return found


def _checked(
    machine: Machine, name: str, review: Review, deadline: timedelta, default: str, form: Mapping[str, Any] | None
) -> dict[str, Any]:
    """The form of the default, as its model dumps it. Raises InvalidData for a question that could not be answered."""
    place = f"the question {name!r} of {machine.name}"
    if review not in machine.reviews:
        raise InvalidData(f"{place} asks with a review that is not declared; add it to the machine's reviews=")
    if any(review.decisions.values()):
        raise InvalidData(f"{place} fires an event, but its answer is for the handler: map its decisions to ''")
    if default not in review.decisions:
        raise InvalidData(
            f"{place} has no decision {default!r} for its default; it takes {', '.join(review.decisions)}"
        )
    if not timedelta(0) < deadline <= LONGEST:
        raise InvalidData(f"{place} needs a deadline after now, and within {LONGEST.days} days, not {deadline}")
    if review.form is None:
        return {}
    try:
        return review.form.model_validate(dict(form or {})).model_dump(mode="json")
    except pydantic.ValidationError as error:
        places = "; ".join(f"{'.'.join(map(str, e['loc'])) or 'form'}: {e['msg']}" for e in error.errors())
        raise InvalidData(f"default_form of {place} does not fit its form: {places}") from error


def _asked(unit: Unit, instance: Instance, name: str, visit: str, review: Review) -> Question | None:
    """The question with this name in this visit: open, or answered for the instance or one that it continues.

    Raises InvalidData if its answer could be one that the handler does not expect.
    """
    values.indexed(name, "the question's name", values.NAME)
    line = visits.line(unit.conn, instance.id, instance.parent)
    query = sa.select(R).where(
        R.c.instance_id.in_(line),
        R.c.name == name,
        R.c.visit == visit,
        sa.or_(  # a decided one without an answer was erased
            sa.and_(R.c.status == "decided", R.c.answer.is_not(None)),
            sa.and_(R.c.status == "open", R.c.instance_id == instance.id),
        ),
    )
    row = unit.conn.execute(query.order_by(R.c.id.desc()).limit(1)).first()
    if row is None:
        return None
    if not set(values.readable(row.decisions)) <= set(review.decisions) or bool(row.form) != bool(review.form):
        raise InvalidData(
            f"the question {name!r} of {instance.machine} was asked with another review in this visit of its step; "
            "give each question a name of its own"
        )
    return _read(row)


def _read(row: sa.Row[Any]) -> Question:
    answer = closed = None
    if row.status == "decided":
        form = values.readable(row.answer) if row.answer else {}
        answer = Answer(row.decision, dict(form), row.decided_by, moment(row.decided_at))
    elif row.status != "open":
        closed = row.closed_reason or "the instance moved on"
    return Question(row.id, row.due_at, answer, closed)


def look(conn: sa.Connection, review_id: UUID) -> Question:
    """The current state of a question."""
    row = conn.execute(sa.select(R).where(R.c.id == review_id)).first()
    if row is None:
        raise NotFound(f"there is no question {review_id}")
    return _read(row)


def open_for(conn: sa.Connection, instance_id: UUID) -> list[reviews.OpenReview]:
    """The open questions of the instance's handlers."""
    wanted = reviews.ReviewFilter(instance_id=instance_id)
    return [one for one in reviews.waiting(conn, wanted) if one.visit is not None]


# -- the deadline


def anything_due(conn: sa.Connection, now: Micros) -> bool:
    """Whether a deadline has passed; needs no lock."""
    query = sa.select(R.c.id).where(_WAITING, R.c.due_at <= now).order_by(R.c.due_at)
    return conn.execute(query.limit(sa.literal_column("1"))).first() is not None


def next_due(conn: sa.Connection) -> Micros | None:
    """The next deadline."""
    found: Micros | None = conn.execute(sa.select(sa.func.min(R.c.due_at)).where(_WAITING)).scalar()
    return found


def sweep(unit: Unit, limit: int = BATCH) -> int:
    """Take the default of each question whose deadline has passed."""
    served = sa.exists(
        sa.select(sa.literal(1)).select_from(I).where(I.c.id == R.c.instance_id, unit.core.served_condition)
    )
    due = sa.select(R.c.id).where(_WAITING, R.c.due_at <= unit.now, served)
    found = list(unit.conn.execute(due.order_by(R.c.due_at).limit(limit)).scalars())
    for review_id in found:
        decide(unit, review_id)
    return len(found)


def decide(unit: Unit, review_id: UUID) -> None:
    """Take the default. If a follower refuses it, the question is closed, and the step fails by its rules."""
    try:
        with unit.savepoint() as inner:
            reviews.decide_by_default(inner, review_id)
    except BaseException as error:
        if not is_item_error(error):
            raise
        log.warning("the default of question %s was refused: %s", review_id, error_details.message_of(error))
        with unit.savepoint() as inner:
            _close(inner, review_id, shortened(f"its default was refused: {error_details.message_of(error)}", 300))


def _close(unit: Unit, review_id: UUID, reason: str) -> None:
    found = reviews.get(unit.conn, review_id)
    instance = unit.lock(found.instance_id)
    closed = sa.update(R).where(R.c.id == review_id, R.c.status == "open")
    unit.conn.execute(closed.values(status="closed", closed_reason=reason, decided_at=unit.now))
    payload = {"review": str(review_id), "name": found.name, "why": "deadline", "reason": reason}
    unit.record(instance, "refused", SYSTEM_ACTOR, payload=payload)
