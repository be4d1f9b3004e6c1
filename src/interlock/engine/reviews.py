"""Reviews: questions to people, with a typed form. The first decision counts."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Any
from uuid import UUID

import pydantic
import sqlalchemy as sa

from interlock.engine import deadletters, effects, firing, review_access, unknown_effects
from interlock.engine.errors import AlreadyDecided, InvalidData, OutOfDate, Refused
from interlock.engine.instance import Instance
from interlock.engine.review_rows import WITHOUT_END, OpenReview, ReviewFilter, cursor, decided, get, waiting
from interlock.engine.text import canonical, fitting
from interlock.engine.unit import SYSTEM_ACTOR, Unit
from interlock.engine.values import alike, excerpt, readable, text
from interlock.machine import Actor, Machine, Review
from interlock.store import Micros, moment, span
from interlock.store.tables import effect as E
from interlock.store.tables import review as R

if TYPE_CHECKING:
    from interlock.engine.engine import Engine

__all__ = [
    "WITHOUT_END",
    "OpenReview",
    "ReviewFilter",
    "Reviews",
    "claim",
    "cursor",
    "decide",
    "decide_by_default",
    "decided",
    "get",
    "release",
    "require_open",
    "waiting",
]
CLAIM_FOR = timedelta(minutes=30)


def claim(unit: Unit, review_id: UUID, actor: Actor, *, length: timedelta = CLAIM_FOR) -> OpenReview:
    """Claim the review for this person. The claim expires after a while."""
    review_access.require_person(actor)
    found = get(unit.conn, review_id, lock=True)
    require_open(found)
    review_access.check(found.access, actor, unit.now)
    unit.conn.execute(
        sa.update(R).where(R.c.id == review_id).values(claimed_by=str(actor), claimed_until=unit.now + span(length))
    )
    return get(unit.conn, review_id)


def release(unit: Unit, review_id: UUID, actor: Actor) -> OpenReview:
    """Give the claim up. Only its owner can."""
    review_access.require_person(actor)
    found = get(unit.conn, review_id, lock=True)
    require_open(found)
    review_access.check(found.access, actor, unit.now)
    unit.conn.execute(sa.update(R).where(R.c.id == review_id).values(claimed_by=None, claimed_until=None))
    return get(unit.conn, review_id)


def decide(
    unit: Unit,
    review_id: UUID,
    decision: str,
    actor: Actor,
    *,
    answer: Mapping[str, Any] | None = None,
    reason: str = "",
    expected_seq: int | None = None,
) -> OpenReview:
    """Decide, and fire the event of the decision, in one transaction. Repeating the same decision changes nothing."""
    review_access.require_person(actor)
    text(reason, "the reason")
    instance = unit.lock(get(unit.conn, review_id).instance_id)
    found = get(unit.conn, review_id, lock=True)
    kept = dict(answer or {})
    machine = unit.machine(instance)
    if (found.status, found.decision, found.decided_by) == ("decided", decision, str(actor)) and _same_answer(
        machine, found, kept
    ):
        return found
    require_open(found)
    if found.fallback is not None and found.due_at is not None and found.due_at <= unit.now:
        raise AlreadyDecided(
            f"review {found.id} had to be decided by {moment(found.due_at):%Y-%m-%d %H:%M} UTC; "
            f"its default, {found.default}, is the answer"
        )
    review_access.check(found.access, actor, unit.now)
    if expected_seq is not None and instance.seq != expected_seq:
        raise OutOfDate(instance.id, expected_seq, instance.seq)
    if decision not in found.decisions:
        raise InvalidData(
            f"{excerpt(decision)} is not a decision of this review; it takes {', '.join(found.decisions)}"
        )
    return _decided(unit, instance, machine, found, decision, _checked(machine, found, kept), actor, reason)


def decide_by_default(unit: Unit, review_id: UUID) -> None:
    """Take the default as the system, if the deadline has passed and nobody has decided."""
    instance = unit.lock(get(unit.conn, review_id).instance_id)
    found = get(unit.conn, review_id, lock=True)
    if found.status != "open" or found.fallback is None or found.due_at is None or found.due_at > unit.now:
        return
    if found.default is None:
        raise InvalidData(f"the default of review {review_id} cannot be read; decide it yourself")
    decision, answer = found.default, found.fallback.get("answer") or {}
    reason = "nobody answered by the deadline"
    _decided(unit, instance, unit.machine(instance), found, decision, answer, SYSTEM_ACTOR, reason)


def _decided(
    unit: Unit,
    instance: Instance,
    machine: Machine,
    found: OpenReview,
    decision: str,
    kept: dict[str, Any],
    actor: Actor,
    reason: str,
) -> OpenReview:
    unit.conn.execute(
        sa.update(R)
        .where(R.c.id == found.id)
        .values(
            status="decided",
            decision=decision,
            answer=fitting(canonical(kept, "answer"), "the answer"),
            decided_by=str(actor),
            decided_at=unit.now,
        )
    )
    unit.vouch_for_stored(R, R.c.id == found.id)
    _apply(unit, instance, machine, found, decision, kept, actor, reason)
    done = get(unit.conn, found.id)
    if found.state is None:
        for follower in machine.decision_followers.get(found.name, ()):
            follower(unit, instance, done, actor)
    return done


def _apply(
    unit: Unit,
    instance: Instance,
    machine: Machine,
    found: OpenReview,
    decision: str,
    answer: dict[str, Any],
    actor: Actor,
    reason: str,
) -> None:
    _settle_unknown(unit, instance, found, found.settles.get(decision), actor)
    payload = {"review": str(found.id), "decision": decision, "answer": answer}
    event = found.decisions[decision]
    if event and _fired(unit, instance, machine, found, event, answer, actor, reason, payload):
        return
    unit.record(instance, "reviewed", actor, payload={**payload, "name": found.name, "reason": reason})
    letter = found.evidence.get("dead_letter")
    if letter and decision in found.settles:
        _go_on(unit, instance, UUID(letter), actor)


def _go_on(unit: Unit, instance: Instance, letter_id: UUID, actor: Actor) -> None:
    """Retry the step, now that the outcome is known, unless somebody acted meanwhile."""
    letter = deadletters.get(unit.conn, letter_id)
    planned = instance.wake if instance.paused_at is None else instance.paused_wake
    if letter.status == "open" and (instance.state, planned) == (letter.state, None):
        deadletters.retry(unit, letter_id, actor, reason="the effect was verified")


def _fired(
    unit: Unit,
    instance: Instance,
    machine: Machine,
    found: OpenReview,
    event: str,
    answer: dict[str, Any],
    actor: Actor,
    reason: str,
    payload: dict[str, Any],
) -> bool:
    takes = {
        name
        for accepts in (
            *(e.accepts for e in machine.edges_on(instance.state, event)),
            *(a.accepts for a in machine.arms if (a.state, a.on) == (instance.state, event)),
        )
        for name in accepts
    }
    data = {name: value for name, value in answer.items() if name in takes}
    try:
        firing.fire(unit, instance.id, event, actor, data=data or None, reason=reason, payload=payload, decided=True)
    except Refused:
        if found.state is not None:
            raise
        return False  # no state owns the review: the decision is recorded although the instance has moved on
    return True


def _settle_unknown(unit: Unit, instance: Instance, found: OpenReview, status: str | None, actor: Actor) -> None:
    """Settle the unknown effects of the step in question, except those that a worker is sending now."""
    if status is None:
        return
    asked = [
        unknown_effects.of_instance(unit.conn, instance),
        E.c.status.in_(("sent", "unknown")),
        E.c.asks == sa.literal(1),
    ]
    if one := found.evidence.get("effect"):
        asked.append(E.c.id == UUID(one))
    if letter := found.evidence.get("dead_letter"):
        asked.append(E.c.step == deadletters.get(unit.conn, UUID(letter)).step)
    asked.append(sa.not_(unknown_effects.is_being_sent()))
    unknown = unit.conn.execute(sa.select(E.c.id).where(*asked)).scalars()
    for effect_id in list(unknown):
        answer = {"verified_by": str(actor)} if status == "confirmed" else None
        error = None if status == "confirmed" else f"verified by {actor}: it did not arrive"
        effects.settle(unit, effect_id, status, answer=answer, error=error, actor=actor)


def require_open(found: OpenReview) -> None:
    """Raise AlreadyDecided, with the decision and its author, if it is not open."""
    if found.status == "decided":
        assert found.decided_at is not None
        raise AlreadyDecided(
            f"review {found.id} was decided: {found.decision} by {found.decided_by} "
            f"at {moment(found.decided_at):%Y-%m-%d %H:%M} UTC"
        )
    if found.status != "open":
        why = found.closed_reason or "the instance moved on without a decision"
        raise AlreadyDecided(f"review {found.id} is closed: {why}")


def _checked(machine: Machine, found: OpenReview, answer: dict[str, Any]) -> dict[str, Any]:
    """The answer as the form's model dumps it. If the code no longer has the model, the answer is taken as it is."""
    form = _form(machine, found)
    if form is None:
        return answer
    try:
        return form.model_validate(answer).model_dump(mode="json")
    except pydantic.ValidationError as error:
        places = "; ".join(f"{'.'.join(map(str, e['loc'])) or 'form'}: {e['msg']}" for e in error.errors())
        raise InvalidData(f"the form of review {found.id} does not fit: {places}") from error


def _form(machine: Machine, found: OpenReview) -> type[pydantic.BaseModel] | None:
    """The declared form with the review's title. A question with a title of its own is found by the form's schema."""
    forms = [(review.title, review.form) for review in _declared(machine) if review.form is not None]
    for title, form in forms:
        if title == found.title:
            return form
    if found.visit is None:
        return None
    return next((form for _, form in forms if alike(readable(canonical(form.model_json_schema())), found.form)), None)


def _same_answer(machine: Machine, found: OpenReview, answer: dict[str, Any]) -> bool:
    try:
        return alike(found.answer, _checked(machine, found, answer))
    except InvalidData:
        return False


def _declared(machine: Machine) -> list[Review]:
    return [s.review for s in machine.states.values() if s.review is not None] + list(machine.reviews)


class Reviews:
    """Reviews that wait for a decision."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def waiting(
        self, *, workspace: str | None = None, instance_id: UUID | None = None, limit: int = 100
    ) -> list[OpenReview]:
        """Open reviews, the most urgent first."""
        return self._engine.read(
            lambda conn: waiting(conn, ReviewFilter(workspace=workspace, instance_id=instance_id), limit=limit)
        )

    def get(self, review_id: UUID) -> OpenReview:
        return self._engine.read(lambda conn: get(conn, review_id))

    def claim(self, review_id: UUID, *, actor: Actor, length: timedelta = CLAIM_FOR) -> OpenReview:
        """Claim the review for this person. The claim expires after a while."""
        return self._engine.write(lambda unit: claim(unit, review_id, actor, length=length), name="review")

    def assign(self, review_id: UUID, to: str | None, *, actor: Actor) -> OpenReview:
        """Make a person responsible for it; None makes it nobody's. Others may still decide it."""
        from interlock.engine import review_queue

        return self._engine.write(lambda unit: review_queue.assign(unit, review_id, to, actor), name="review")

    def snooze(self, review_id: UUID, until: Micros, *, actor: Actor) -> OpenReview:
        """Put it to the end of the inbox until a time."""
        from interlock.engine import review_queue

        return self._engine.write(lambda unit: review_queue.snooze(unit, review_id, until, actor), name="review")

    def decide(
        self,
        review_id: UUID,
        decision: str,
        *,
        actor: Actor,
        answer: Mapping[str, Any] | None = None,
        reason: str = "",
        expected_seq: int | None = None,
    ) -> OpenReview:
        """Decide. Raises AlreadyDecided if somebody else was first."""
        return self._engine.write(
            lambda unit: decide(
                unit, review_id, decision, actor, answer=answer, reason=reason, expected_seq=expected_seq
            ),
            name="review",
        )
