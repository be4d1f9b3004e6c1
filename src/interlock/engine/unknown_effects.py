"""Effects with an unknown outcome: who settles them, and how forgotten ones are found.

An effect that was sent belongs to the worker that has claimed the instance. If that claim ends (the worker is lost, or
a person, a timer or a time limit moved the instance), the outcome is unknown. If the step runs again, it finds the
effect and verifies it or asks. If it does not, because the instance has ended or moved on, the sweep asks a person (law
5).
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import UUID

import sqlalchemy as sa

from interlock.engine import error_details, last_resort, moves, visits
from interlock.engine.errors import is_item_error
from interlock.engine.instance import Instance
from interlock.engine.unit import SYSTEM_ACTOR, Unit
from interlock.machine import Ask, Review
from interlock.store import Micros, moment, span
from interlock.store import tables as t
from interlock.store.sql import is_claimed

E, I = t.effect, t.instance  # noqa: E741
BATCH = 200
GRACE = timedelta(minutes=1)
"""How long after the sending a person is asked: a worker that lost its claim may still report the answer."""
REVIEW = "verify_effect"
VERIFY = Review(
    "Did it arrive? Something was sent and nobody knows how it ended.",
    decisions={"arrived": "", "did_not_arrive": ""},
    settles={"arrived": "confirmed", "did_not_arrive": "failed"},
)
LOST = "the handler was lost before the answer came"
_OPEN = sa.text("effect.status IN ('sent', 'unknown') AND effect.asked_at IS NULL")
_CLAIMED = sa.and_(is_claimed(), I.c.fence == E.c.fence)
_IN_ITS_STEP = sa.or_(E.c.step == I.c.state, E.c.step.like(I.c.state.concat(":%")))
_FAILED_THERE = sa.or_(I.c.failed_step == E.c.step, I.c.failures.like(sa.literal('%"').concat(E.c.step).concat("|%")))
_COMES_BACK = sa.and_(
    I.c.finished_at.is_(None),
    sa.or_(_IN_ITS_STEP, sa.and_(sa.or_(I.c.wake.is_not(None), I.c.paused_wake.is_not(None)), _FAILED_THERE)),
)
"""The condition that its step runs again and will find it."""
_LOST = sa.and_(E.c.status == "sent", sa.not_(_CLAIMED))
_FORGOTTEN = sa.and_(E.c.status == "unknown", sa.not_(sa.func.coalesce(_COMES_BACK, sa.false())))


def sender() -> sa.ColumnElement[UUID]:
    """The instance under whose fence it is sent."""
    return sa.func.coalesce(E.c.sender, E.c.instance_id)


def of_instance(conn: sa.Connection, instance: Instance) -> sa.ColumnElement[bool]:
    """The condition for effects of the instance and of those that it continues."""
    return E.c.instance_id.in_(visits.line(conn, instance.id, instance.parent))


def is_being_sent() -> sa.ColumnElement[bool]:
    """The condition that a worker has claimed the instance with the fence of the effect."""
    return sa.exists(sa.select(sa.literal(1)).select_from(I).where(sender() == I.c.id, _CLAIMED))


def mark_lost(unit: Unit, instance: Instance) -> None:
    """Mark what the lost handler had sent as unknown, until its answer comes or somebody verifies it."""
    unit.conn.execute(
        sa.update(E)
        .where(
            of_instance(unit.conn, instance), sender() == instance.id, E.c.status == "sent", E.c.fence == instance.fence
        )
        .values(status="unknown", error=LOST)
    )


def has_unanswered(unit: Unit, instance: Instance, step: str) -> bool:
    """Whether this step sent something that has no answer yet and about which a person is asked."""
    return unit.conn.execute(sa.select(E.c.id).where(_of_step(unit, instance, step)).limit(1)).first() is not None


def mark_asked(unit: Unit, instance: Instance, step: str) -> None:
    """Record that somebody is asked about what this step sent, or that a rule of the machine handles it."""
    unit.conn.execute(sa.update(E).where(_of_step(unit, instance, step)).values(asked_at=unit.now))


def _of_step(unit: Unit, instance: Instance, step: str) -> sa.ColumnElement[bool]:
    return sa.and_(
        of_instance(unit.conn, instance),
        E.c.step == step,
        E.c.status.in_(("sent", "unknown")),
        E.c.asks == sa.literal(1),
    )


def close_reviews(unit: Unit, instance_id: UUID, effect_id: UUID) -> None:
    """Close the reviews that ask for the outcome: it is known."""
    R = t.review
    unit.conn.execute(
        sa.update(R)
        .where(
            R.c.instance_id == instance_id,
            R.c.name == REVIEW,
            R.c.status == "open",
            R.c.evidence.like(f'%"effect":"{effect_id}"%'),
        )
        .values(status="closed", decided_at=unit.now)
    )


# -- the sweep


def _found(which: sa.ColumnElement[bool]) -> sa.Select[Any]:
    return sa.select(E, sender().label("whose")).join(I, sender() == I.c.id).where(_OPEN, which)


def _due(which: sa.ColumnElement[bool], now: Micros) -> sa.Select[Any]:
    return _found(which).where(E.c.sent_at <= now - span(GRACE)).order_by(E.c.sent_at, E.c.id)


def anything_due(conn: sa.Connection, now: Micros) -> bool:
    """Whether a sweep would find something; needs no lock."""
    query = _due(sa.or_(_LOST, _FORGOTTEN), now).with_only_columns(sa.literal(1)).order_by(None)
    return conn.execute(query.order_by(E.c.sent_at).limit(sa.literal_column("1"))).first() is not None


def next_due(conn: sa.Connection) -> Micros | None:
    """When the next sweep finds something."""
    query = _found(sa.or_(_LOST, _FORGOTTEN)).with_only_columns(sa.func.min(E.c.sent_at))
    first = conn.execute(query).scalar()
    return first + span(GRACE) if first is not None else None


def sweep(unit: Unit, limit: int = BATCH) -> int:
    """Mark effects without a valid claim as unknown, and ask a person about those to which no step will return."""
    done = 0
    for which, settle in ((_LOST, _unknown), (_FORGOTTEN, _forgotten)):
        for row, instance in _locked(unit, which, limit):
            _try_one(unit, instance, row, settle)
            done += 1
    return done


def _try_one(unit: Unit, instance: Instance, row: Any, settle: Callable[[Unit, Instance, Any], None]) -> None:
    """Settle one effect. If that fails, its instance goes to the dead letters, and the others go on."""

    try:
        with unit.attempt(instance):
            settle(unit, instance, row)
    except BaseException as error:
        if not is_item_error(error):
            raise
        details = error_details.describe(error)
        unit.conn.execute(sa.update(E).where(E.c.id == row.id).values(asked_at=unit.now))
        unit.record(instance, "effect", SYSTEM_ACTOR, payload={"effect": str(row.id), "status": "unknown", **details})
        last_resort.add_dead_letter(unit, instance, instance.state, instance.state, details, "{}")


def _unknown(unit: Unit, instance: Instance, row: Any) -> None:
    unit.conn.execute(sa.update(E).where(E.c.id == row.id).values(status="unknown", error=LOST))
    _note(unit, instance, row, "unknown", LOST)


def _forgotten(unit: Unit, instance: Instance, row: Any) -> None:
    if row.asks:
        _ask(unit, instance, row)
        return
    end = {"status": "failed", "error": LOST, "settled_at": unit.now}
    unit.conn.execute(sa.update(E).where(E.c.id == row.id).values(end))
    _note(unit, instance, row, "failed", LOST)
    unit.vouch_for_stored(E, E.c.id == row.id)


def _locked(unit: Unit, which: sa.ColumnElement[bool], limit: int) -> list[tuple[Any, Instance]]:
    """The due effects, each with its instance, both locked."""
    seen = unit.conn.execute(_due(which, unit.now).limit(limit)).all()
    if not seen:
        return []
    known = unit.lock_many({row.whose for row in seen})
    again = (
        _found(which).where(E.c.id.in_([row.id for row in seen])).order_by(E.c.sent_at, E.c.id).with_for_update(of=E)
    )
    return [(row, known[row.whose]) for row in unit.conn.execute(again) if row.whose in known]


def _ask(unit: Unit, instance: Instance, row: Any) -> None:
    evidence = {
        "effect": str(row.id),
        "kind": row.kind,
        "key": row.key,
        "step": row.step,
        "error": row.error,
        "state": instance.state,
        "sent_at": moment(row.sent_at).isoformat(),
    }
    moves.ask(unit, instance, (Ask(REVIEW, VERIFY, evidence),))
    unit.conn.execute(sa.update(E).where(E.c.id == row.id).values(asked_at=unit.now))
    _note(unit, instance, row, "asked", "nobody knows whether it arrived, and no step comes back to it")


def _note(unit: Unit, instance: Instance, row: Any, status: str, error: str) -> None:
    payload = {"effect": str(row.id), "kind": row.kind, "status": status, "error": error}
    unit.record(instance, "effect", SYSTEM_ACTOR, payload=payload)
