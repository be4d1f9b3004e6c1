"""Reviews: questions to people, with a typed form. The first decision counts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any
from uuid import UUID

import pydantic
import sqlalchemy as sa

from interlock.engine import deadletters, effects, firing, review_access, unknown_effects
from interlock.engine.errors import AlreadyDecided, InvalidData, NotFound, OutOfDate, Refused
from interlock.engine.instance import Instance
from interlock.engine.text import canonical, fitting
from interlock.engine.unit import SYSTEM_ACTOR, Unit
from interlock.engine.values import alike, excerpt, filters, readable, text
from interlock.machine import Actor, Machine, Review
from interlock.machine.transitions import PEOPLE
from interlock.store import Micros, moment, span
from interlock.store.tables import effect as E
from interlock.store.tables import review as R

if TYPE_CHECKING:
    from interlock.engine.engine import Engine

CLAIM_FOR = timedelta(minutes=30)


@dataclass(frozen=True, slots=True)
class OpenReview:
    """A review as it stands in the database."""

    id: UUID
    instance_id: UUID
    workspace: str
    machine: str
    name: str
    title: str
    state: str | None
    role: str
    form: dict[str, Any] | None
    decisions: dict[str, str]
    settles: dict[str, str]
    evidence: dict[str, Any]
    status: str
    opened_at: Micros
    due_at: Micros | None
    claimed_by: str | None
    claimed_until: Micros | None
    decision: str | None
    answer: dict[str, Any] | None
    decided_by: str | None
    decided_at: Micros | None
    visit: str | None
    """The visit of the step whose handler asks and waits; None for every other review."""
    fallback: dict[str, Any] | None
    """The default that is taken at `due_at`: `decision` and `answer`."""
    closed_reason: str | None
    assigned_to: str | None = None
    """The name of the person who is to decide it. Others with its role may decide it as well."""
    snoozed_by: str | None = None
    snoozed_until: Micros | None = None
    """Until then it stands at the end of the inbox. Its deadline does not move."""

    @property
    def default(self) -> str | None:
        """The decision that is taken at `due_at`, if there is one and its row can be read."""
        found = self.fallback.get("decision") if self.fallback else None
        return found if isinstance(found, str) else None

    @property
    def access(self) -> review_access.ReviewAccess:
        """Who may decide it."""
        return review_access.ReviewAccess(self.id, self.role, self.claimed_by, self.claimed_until)


def _read(row: sa.Row[Any]) -> OpenReview:
    values = dict(row._mapping)
    for name in ("form", "answer", "fallback"):
        values[name] = readable(values[name]) if values[name] else None
    values["decisions"] = readable(values["decisions"])
    values["settles"] = readable(values["settles"]) if values["settles"] else {}
    values["evidence"] = readable(values["evidence"]) if values["evidence"] else {}
    return OpenReview(**values)


def get(conn: sa.Connection, review_id: UUID, *, lock: bool = False) -> OpenReview:
    query = sa.select(R).where(R.c.id == review_id)
    row = conn.execute(query.with_for_update() if lock else query).first()
    if row is None:
        raise NotFound(f"there is no review {review_id}")
    return _read(row)


WITHOUT_END = 2**62


@dataclass(frozen=True, slots=True)
class ReviewFilter:
    """A filter for reviews. Fields that are None do not count."""

    workspaces: frozenset[str] | None = None
    workspace: str | None = None
    machine: str | None = None
    instance_id: UUID | None = None
    name: str | None = None
    machines: frozenset[str] | None = None
    decision: str | None = None
    not_of: sa.Select[tuple[UUID]] | None = None
    """A query for instances whose reviews are excluded."""
    opened_before: Micros | None = None
    of_person: str | None = None
    """The name of a person: assigned to them, or claimed by them."""
    unassigned: bool = False
    awake_at: Micros | None = None
    """Only those that are not snoozed at this time."""
    snoozed_at: Micros | None = None
    """Only those that are snoozed at this time."""

    def __post_init__(self) -> None:
        filters(self, self.__slots__)

    def conditions(self) -> list[sa.ColumnElement[bool]]:
        found = [
            R.c[name] == value
            for name in ("workspace", "machine", "instance_id", "name", "decision")
            if (value := getattr(self, name)) is not None
        ]
        if self.workspaces is not None:
            found.append(R.c.workspace.in_(sorted(self.workspaces)))
        if self.machines is not None:
            found.append(R.c.machine.in_(sorted(self.machines)))
        if self.not_of is not None:
            ids = self.not_of.subquery()
            found.append(~sa.exists(sa.select(sa.literal(1)).where(ids.c[0] == R.c.instance_id)))
        if self.opened_before is not None:
            found.append(R.c.opened_at < self.opened_before)
        if self.of_person is not None:
            claims = [f"{kind.value}:{self.of_person}" for kind in sorted(PEOPLE)]
            found.append(sa.or_(R.c.assigned_to == self.of_person, R.c.claimed_by.in_(claims)))
        if self.unassigned:
            found.append(R.c.assigned_to.is_(None))
        if self.awake_at is not None:
            found.append(sa.or_(R.c.snoozed_until.is_(None), R.c.snoozed_until <= self.awake_at))
        if self.snoozed_at is not None:
            found.append(R.c.snoozed_until > self.snoozed_at)
        return found


def waiting(
    conn: sa.Connection,
    wanted: ReviewFilter | None = None,
    *,
    after: tuple[Micros, UUID] | None = None,
    limit: int = 100,
) -> list[OpenReview]:
    """Open reviews, the most urgent first. Those without a due time come last. `after` is the `cursor` of the last."""
    urgency = sa.func.coalesce(R.c.due_at, sa.literal(WITHOUT_END))
    query = sa.select(R).where(sa.text("status = 'open'"), *(wanted or ReviewFilter()).conditions())
    if after is not None:
        due, last = after
        query = query.where(sa.or_(urgency > due, sa.and_(urgency == due, R.c.id > last)))
    return [_read(row) for row in conn.execute(query.order_by(urgency, R.c.id).limit(limit))]


def cursor(review: OpenReview) -> tuple[Micros, UUID]:
    """The position of a review in `waiting`."""
    return (WITHOUT_END if review.due_at is None else review.due_at), review.id


def decided(
    conn: sa.Connection, wanted: ReviewFilter | None = None, *, after: UUID | None = None, limit: int = 100
) -> list[OpenReview]:
    """Reviews that were decided or closed, the newest first."""
    query = sa.select(R).where(R.c.status != "open", *(wanted or ReviewFilter()).conditions())
    if after is not None:
        query = query.where(R.c.id < after)
    return [_read(row) for row in conn.execute(query.order_by(R.c.id.desc()).limit(limit))]


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
