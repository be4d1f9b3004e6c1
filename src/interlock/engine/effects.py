"""Effects: what leaves the house is written down before it goes, and what came of it is never thrown away.

intended → sent → confirmed | failed | unknown. A handler that meets its own effect again gets the kept answer if it
was confirmed, may send again what failed or was never sent, and gets EffectUnknown for what was sent and never
answered: that is verified, or a person decides; it is not repeated by itself.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import sqlalchemy as sa
from uuid_utils.compat import uuid7

from interlock.engine import limits, moves, values
from interlock.engine.claiming import Claim, held
from interlock.engine.errors import InvalidData, NotFound
from interlock.engine.finishing import must_hold
from interlock.engine.instance import Instance
from interlock.engine.text import canonical, fitting, hidden, shortened
from interlock.engine.unit import Unit
from interlock.machine import WORKER, Actor, Ask, EffectUnknown, Review
from interlock.store import Micros
from interlock.store.tables import effect as E

ENDS = {"confirmed", "failed", "unknown"}
LATE = Review(
    "An answer came after the instance had moved on. Is there anything to put right?",
    decisions={"noted": ""},
)


@dataclass(frozen=True, slots=True)
class Effect:
    """One thing that leaves the house."""

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

    @property
    def answer(self) -> Any:
        return values.anything(self.stored_answer) if self.stored_answer is not None else None

    @property
    def done(self) -> bool:
        return self.status == "confirmed"


def usual_key(claim: Claim, instance: Instance, kind: str) -> str:
    """The key of an effect that the handler gives none: one of each kind in a step."""
    return f"{claim.id}:{_step(claim, instance)}:{kind}"


def _step(claim: Claim, instance: Instance) -> str:
    """Where the instance is now: whoever comes after a crash begins there, not where the handler began."""
    return claim.machine.step_of(instance.state, instance.staged(claim.machine))


def request_hash(request: Any) -> str:
    return hashlib.sha256(canonical(request, "request").encode()).hexdigest()


def intend(
    unit: Unit, claim: Claim, kind: str, request: Any, *, key: str | None = None, takes: tuple[str, ...] = ()
) -> Effect:
    """Write down what is about to be sent, with the limits that it uses; under the fence."""
    instance = must_hold(unit, claim)
    key = key or usual_key(claim, instance, kind)
    values.indexed(kind, "the effect's kind", values.NAME)
    values.indexed(key, "the effect's key")
    wanted = request_hash(request)
    row = unit.conn.execute(sa.select(E).where(E.c.key.in_((key, hidden(key)))).with_for_update()).first()
    if row is None:
        limits.use_all(unit, instance, claim.machine, takes)
        made = Effect(
            uuid7(), instance.id, kind, key, wanted, "intended", _step(claim, instance), claim.fence, 0, None, None,
            unit.now, None, None,
        )  # fmt: skip
        unit.conn.execute(sa.insert(E).values(_values(made)))
        unit.cover(E, _values(made))
        _note(unit, instance, made, "intended", claim)
        return made
    found = Effect(*row)
    if found.instance_id != instance.id:
        raise InvalidData(f"the effect {key!r} belongs to another instance, {found.instance_id}")
    if found.status == "confirmed":
        return found
    if found.status in {"sent", "unknown"}:
        raise EffectUnknown(
            f"{kind} {key!r} was sent at an earlier attempt and its answer never came; verify it before sending again"
        )
    # It was never sent, or is known to have failed: it may go, and what is asked may have changed.
    if found.status == "failed":
        limits.use_all(unit, instance, claim.machine, takes)
    unit.conn.execute(
        sa.update(E)
        .where(E.c.id == found.id)
        .values(status="intended", fence=claim.fence, request_hash=wanted, error=None, settled_at=None)
    )
    _note(unit, instance, found, "intended again", claim)
    unit.cover_stored(E, E.c.id == found.id)
    return get(unit.conn, found.id)


def sent(unit: Unit, claim: Claim, effect_id: UUID) -> None:
    """It goes out now; under the fence, so that only the holder sends."""
    must_hold(unit, claim)
    done = unit.conn.execute(
        sa.update(E)
        .where(E.c.id == effect_id, E.c.fence == claim.fence, E.c.status == "intended")
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
    """Keep what was learnt, by the effect's id and not by the claim's fence. What is confirmed stays confirmed."""
    if status not in ENDS:
        raise InvalidData(f"an effect ends as confirmed, failed or unknown, not as {status!r}")
    found = get(unit.conn, effect_id)
    instance = unit.lock(found.instance_id)
    found = get(unit.conn, effect_id, lock=True)
    if found.status == "confirmed" or (found.status == "failed" and status != "confirmed"):
        return found
    if claim is not None and claim.fence < found.fence and status != "confirmed":
        return found  # bad news of an earlier sending says nothing about the one that went out since
    kept = fitting(canonical(answer, "answer"), f"the answer of {found.kind}") if answer is not None else None
    unit.conn.execute(
        sa.update(E)
        .where(E.c.id == effect_id)
        .values(status=status, answer=kept, error=shortened(error) if error else None, settled_at=unit.now)
    )
    told = {"effect": str(effect_id), "kind": found.kind, "status": status, "error": shortened(error or "")}
    unit.record(instance, "effect", actor, payload=told)
    # A worker that no longer holds the instance reports: nobody else will tell the people who moved it.
    if claim is not None and held(unit, claim) is None:
        evidence = {"effect": str(effect_id), "kind": found.kind, "status": status, "state": instance.state}
        moves.ask(unit, instance, (Ask("late_answer", LATE, evidence),))
    unit.cover_stored(E, E.c.id == effect_id)
    return get(unit.conn, effect_id)


def get(conn: sa.Connection, effect_id: UUID, *, lock: bool = False) -> Effect:
    query = sa.select(E).where(E.c.id == effect_id)
    row = conn.execute(query.with_for_update() if lock else query).first()
    if row is None:
        raise NotFound(f"there is no effect {effect_id}")
    return Effect(*row)


def of(conn: sa.Connection, instance_id: UUID) -> list[Effect]:
    rows = conn.execute(sa.select(E).where(E.c.instance_id == instance_id).order_by(E.c.intended_at, E.c.id))
    return [Effect(*row) for row in rows]


def _note(unit: Unit, instance: Instance, effect: Effect, status: str, claim: Claim) -> None:
    unit.record(
        instance, "effect", Actor(WORKER, str(claim.worker)),
        payload={"effect": str(effect.id), "kind": effect.kind, "key": effect.key, "status": status},
    )  # fmt: skip


def _values(effect: Effect) -> dict[str, Any]:
    names = [column.name for column in E.c]
    fields = Effect.__dataclass_fields__
    return {name: getattr(effect, field) for name, field in zip(names, fields, strict=True)}
