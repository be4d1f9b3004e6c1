"""Effects: whatever is sent to the outside is recorded before it is sent, and its answer is always kept.

intended → sent → confirmed | failed | unknown. A handler that comes to the same effect again gets the stored answer if
it was confirmed, and may send it again if it failed or was never sent. If it was sent and never answered, the handler
gets EffectUnknown: it must be verified, or a person decides; it is never repeated automatically. An effect is the same
if it has the same key, which the handler chooses or which comes from the visit of the step (`visits`). An instance that
continues another one inherits its effects.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

import sqlalchemy as sa
from uuid_utils.compat import uuid7

from interlock.engine import limits, moves, unknown_effects, values, visits
from interlock.engine.claiming import Claim, claimed
from interlock.engine.effect_answers import storable
from interlock.engine.errors import InvalidData, NotFound
from interlock.engine.finishing import require_claim
from interlock.engine.instance import Instance
from interlock.engine.text import canonical, erased_key, shortened
from interlock.engine.unit import Unit
from interlock.engine.visits import Visit
from interlock.machine import WORKER, Actor, Ask, EffectKeyReused, EffectUnknown, Review
from interlock.store import Micros, moment
from interlock.store.tables import effect as E
from interlock.store.tables import instance as I

ENDS = {"confirmed", "failed", "unknown"}
LATE = Review(
    "An answer came after the instance had moved on. Is there anything to put right?",
    decisions={"noted": ""},
)


@dataclass(frozen=True, slots=True)
class Effect:
    """One thing that is sent to the outside."""

    id: UUID
    instance_id: UUID
    kind: str
    key: str
    request_hash: str
    status: str
    step: str
    fence: int
    sends: int
    stored_answer: str | None
    error: str | None
    intended_at: Micros
    sent_at: Micros | None
    settled_at: Micros | None
    sender: UUID | None
    """The instance under whose fence it is sent, if that continues the instance it belongs to."""
    asks: int
    """Whether a person is asked when its outcome is unknown."""
    asked_at: Micros | None
    inherited_from: UUID | None = None
    """The instance that sent it, if the reader continues that instance."""

    @property
    def sending_instance(self) -> UUID:
        """The instance under whose fence it is sent."""
        return self.sender or self.instance_id

    @property
    def answer(self) -> Any:
        return values.anything(self.stored_answer) if self.stored_answer is not None else None

    @property
    def done(self) -> bool:
        return self.status == "confirmed"


def step_of(claim: Claim, instance: Instance) -> str:
    """The step that the instance is in now. After a crash, the next handler begins there."""
    return claim.machine.step_of(instance.state, instance.stage_data(claim.machine))


def request_hash(request: Any) -> str:
    return hashlib.sha256(canonical(request, "request").encode()).hexdigest()


def intend(
    unit: Unit,
    claim: Claim,
    kind: str,
    request: Any,
    *,
    key: str | None = None,
    takes: tuple[str, ...] = (),
    asks: bool = True,
) -> Effect:
    """Record what is about to be sent, and count its limits, under the fence.

    Without `asks`, nobody is asked for the outcome if the worker is lost: it counts as failed.
    """
    instance = require_claim(unit, claim)
    values.indexed(kind, "the effect's kind", values.NAME)
    wanted = request_hash(request)
    named, found = _find(unit.conn, instance, step_of(claim, instance), kind, key, lock=True)
    if found is None:
        limits.use_all(unit, instance, claim.machine, takes)
        made = Effect(
            uuid7(),
            instance.id,
            kind,
            named,
            wanted,
            "intended",
            step_of(claim, instance),
            claim.fence,
            0,
            None,
            None,
            unit.now,
            None,
            None,
            None,
            int(asks),
            None,
        )
        unit.conn.execute(sa.insert(E).values(_values(made)))
        unit.vouch_for(E, _values(made))
        _note(unit, instance, made, "intended", claim)
        return made
    if found.status == "confirmed":
        if (found.kind, found.request_hash) != (kind, wanted):
            raise EffectKeyReused(_other_request(found, kind, wanted, given=key is not None))
        if found.instance_id != instance.id:
            _note(unit, instance, found, "inherited", claim)
        return _seen_by(found, instance.id)
    if found.status in {"sent", "unknown"}:
        raise EffectUnknown(
            f"{kind} {found.key!r} was sent at an earlier attempt and its answer never came; "
            "verify it before sending again"
        )
    # It was never sent, or has failed: it may be sent, and the request may have changed.
    if found.status == "failed":
        limits.use_all(unit, instance, claim.machine, takes)
    sender = instance.id if found.instance_id != instance.id else None
    unit.conn.execute(
        sa.update(E)
        .where(E.c.id == found.id)
        .values(
            status="intended",
            fence=claim.fence,
            sender=sender,
            request_hash=wanted,
            error=None,
            settled_at=None,
            asked_at=None,
        )
    )
    _note(unit, instance, found, "intended again", claim)
    unit.vouch_for_stored(E, E.c.id == found.id)
    return _seen_by(get(unit.conn, found.id), instance.id)


def unanswered(conn: sa.Connection, claim: Claim, instance: Instance, kind: str, key: str | None) -> Effect:
    """The effect that blocks the step: its outcome must be found out first."""
    _, found = _find(conn, instance, step_of(claim, instance), kind, key)
    if found is None:
        raise NotFound(f"{kind} was not sent before by {instance.machine} {instance.id}")
    return _seen_by(found, instance.id)


def _find(
    conn: sa.Connection, instance: Instance, step: str, kind: str, key: str | None, *, lock: bool = False
) -> tuple[str, Effect | None]:
    """The key of an effect, and the effect that has it or that must be settled first."""
    if key is not None:
        values.indexed(key, "the effect's key")
        found = _by_key(conn, key, lock=lock)
        if found is not None and found.instance_id != instance.id and not _same_line(conn, instance, found):
            raise EffectKeyReused(
                f"the effect {key!r} belongs to another instance, {found.instance_id}; give this one a key of its own"
            )
        return key, found
    visit = visits.of(conn, instance.id, instance.parent, step)
    named = visit.effect_key(kind)
    found = _by_key(conn, named, lock=lock)
    if found is None and visit.number > 1:
        found = _of_this_visit(conn, instance, visit, kind, lock=lock) or _left_before(conn, instance, step, kind)
    return named, found


def _by_key(conn: sa.Connection, key: str, *, lock: bool = False) -> Effect | None:
    query = sa.select(E).where(E.c.key.in_((key, erased_key(key))))
    row = conn.execute(query.with_for_update() if lock else query).first()
    return Effect(*row) if row is not None else None


def _same_line(conn: sa.Connection, instance: Instance, found: Effect) -> bool:
    """Whether one instance continues the other, or both continue the same one: then they share effects."""
    if found.instance_id in (line := visits.line(conn, instance.id, instance.parent)):
        return True
    return visits.first(conn, found.instance_id) == line[-1]


def _of_this_visit(conn: sa.Connection, instance: Instance, visit: Visit, kind: str, *, lock: bool) -> Effect | None:
    """An effect from before visits were counted, whose key has no number, if it was intended in this visit."""
    found = _by_key(conn, Visit(visit.owner, visit.step, 1).effect_key(kind), lock=lock)
    if found is None or found.instance_id != instance.id:
        return None
    return found if visits.intended_since(conn, visit, found.id) else None


def _left_before(conn: sa.Connection, instance: Instance, step: str, kind: str) -> Effect | None:
    """The same effect, sent at an earlier visit and never answered. It must be settled first."""
    query = sa.select(E).where(
        unknown_effects.of_instance(conn, instance),
        E.c.step == step,
        E.c.kind == kind,
        E.c.status.in_(("sent", "unknown")),
    )
    line = visits.line(conn, instance.id, instance.parent)
    usual = tuple(f"{one}{mark}" for one in line for mark in ":#")
    found = (Effect(*row) for row in conn.execute(query.order_by(E.c.sent_at)))
    return next((effect for effect in found if effect.key.startswith(usual)), None)


def _other_request(found: Effect, kind: str, wanted: str, *, given: bool) -> str:
    what = f"as {found.kind}" if found.kind != kind else f"with the request {found.request_hash[:12]}"
    now = f"as {kind}" if found.kind != kind else f"with {wanted[:12]}"
    remedy = (
        "give each thing a key of its own"
        if given
        else "give it a key that differs between the two, or, to send it as a new visit of the step, move the instance "
        "out of the step and in again"
    )
    return (
        f"the key {found.key!r} was used {what}, was delivered at {moment(found.settled_at or found.intended_at):%F %T}"
        f" UTC, and comes again {now} (hashes of what is sent); {remedy}"
    )


def sent(unit: Unit, claim: Claim, effect_id: UUID) -> None:
    """Record that it is sent now, under the fence, so that only the current worker sends it."""
    require_claim(unit, claim)
    done = unit.conn.execute(
        sa.update(E)
        .where(
            E.c.id == effect_id,
            unknown_effects.sender() == claim.id,
            E.c.fence == claim.fence,
            E.c.status == "intended",
        )
        .values(status="sent", sent_at=unit.now, sends=E.c.sends + 1)
    )
    if done.rowcount != 1:
        raise EffectUnknown(f"effect {effect_id} is not waiting to be sent by this worker")


def settle(
    unit: Unit,
    effect_id: UUID,
    status: str,
    *,
    answer: Any = None,
    error: str | None = None,
    actor: Actor,
    claim: Claim | None = None,
) -> Effect:
    """Record the outcome by the id of the effect, whatever the fence. A confirmed effect stays confirmed."""
    if status not in ENDS:
        raise InvalidData(f"an effect ends as confirmed, failed or unknown, not as {status!r}")
    found = get(unit.conn, effect_id)
    unit.lock_many({found.sending_instance} | ({claim.id} if claim is not None else set()))
    found = get(unit.conn, effect_id, lock=True)
    instance = unit.lock(found.sending_instance)
    if found.status == "confirmed" or (found.status == "failed" and status != "confirmed"):
        return found
    if claim is not None and status != "confirmed" and _went_since(found, instance, claim):
        return found  # the failure of an earlier sending says nothing about a later one
    kept = canonical(storable(answer), "answer") if answer is not None else None
    unit.conn.execute(
        sa.update(E)
        .where(E.c.id == effect_id)
        .values(status=status, answer=kept, error=shortened(error) if error else None, settled_at=unit.now)
    )
    payload = {"effect": str(effect_id), "kind": found.kind, "status": status, "error": shortened(error or "")}
    unit.record(instance, "effect", actor, payload=payload)
    if found.asked_at is not None and status != "unknown":
        unknown_effects.close_reviews(unit, instance.id, effect_id)
    # The claim is no longer valid, so nobody else would learn of this answer: a review shows it to the people who moved
    # the instance. `unknown` is no answer: the step asks when it runs again, or the sweep does.
    if claim is not None and status != "unknown" and claimed(unit, claim) is None:
        evidence = {"effect": str(effect_id), "kind": found.kind, "status": status, "state": instance.state}
        moves.ask(unit, instance, (Ask("late_answer", LATE, evidence),))
    unit.vouch_for_stored(E, E.c.id == effect_id)
    return get(unit.conn, effect_id)


def _went_since(found: Effect, instance: Instance, claim: Claim) -> bool:
    if found.sending_instance == claim.id:
        return claim.fence < found.fence
    return (instance.fence, instance.wake) == (found.fence, "lease")  # another instance of its line is sending it now


def get(conn: sa.Connection, effect_id: UUID, *, lock: bool = False) -> Effect:
    query = sa.select(E).where(E.c.id == effect_id)
    row = conn.execute(query.with_for_update() if lock else query).first()
    if row is None:
        raise NotFound(f"there is no effect {effect_id}")
    return Effect(*row)


def of(conn: sa.Connection, instance_id: UUID) -> list[Effect]:
    """The effects of the instance, in order, with those that it inherits."""
    parent = conn.execute(sa.select(I.c.parent).where(I.c.id == instance_id)).scalar()
    line = visits.line(conn, instance_id, parent)
    rows = conn.execute(sa.select(E).where(E.c.instance_id.in_(line)).order_by(E.c.intended_at, E.c.id))
    return [_seen_by(Effect(*row), instance_id) for row in rows]


def _seen_by(effect: Effect, instance_id: UUID) -> Effect:
    return effect if effect.instance_id == instance_id else replace(effect, inherited_from=effect.instance_id)


def _note(unit: Unit, instance: Instance, effect: Effect, status: str, claim: Claim) -> None:
    unit.record(
        instance,
        "effect",
        Actor(WORKER, str(claim.worker)),
        payload={"effect": str(effect.id), "kind": effect.kind, "key": effect.key, "status": status},
    )


def _values(effect: Effect) -> dict[str, Any]:
    names = [column.name for column in E.c]
    fields = list(Effect.__dataclass_fields__)[: len(names)]
    return {name: getattr(effect, field) for name, field in zip(names, fields, strict=True)}
