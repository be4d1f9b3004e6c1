"""Moves one instance to another version, with the history row `migrated`, and undoes that.

The row stores, under `was`, all that the move changes besides the state: data, due times, reviews. Errors are raised
before the first statement is sent, so that a unit can undo the move in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any
from uuid import UUID

import sqlalchemy as sa

from interlock.engine import failing, moves, visits
from interlock.engine.audit.replaying import Row
from interlock.engine.errors import KeyTaken
from interlock.engine.instance import Instance, difference
from interlock.engine.unit import Unit
from interlock.engine.versions.adapting import WORDING, Adapted, ReviewChange, Route, Unfit, review_changes
from interlock.machine import SYSTEM, Actor, Edge, Machine
from interlock.store import tables as t

E, L, R = t.effect, t.dead_letter, t.review
KIND = "migrated"
KEPT = (
    "wake",
    "due_at",
    "due_event",
    "timer_at",
    "timer_no",
    "blocked_on",
    "paused_wake",
    "paused_due",
    "entered_at",
    "finished_at",
    "unique_key",
    "previous",
    "failed_step",
    "stored_failures",
)


def move(
    unit: Unit,
    instance: Instance,
    way: Route,
    adapted: Adapted,
    reviews: Sequence[sa.Row[Any]],
    actor: Actor,
    reason: str,
) -> list[ReviewChange]:
    """Move the instance to the other version. Returns the changes of its reviews."""
    machine, came_from = way.machine, instance.state
    letters = _open_letters(unit, instance)
    was: dict[str, Any] = {"row": {name: value for name in KEPT if (value := getattr(instance, name)) is not None}}
    was["data"] = {name: instance.data[name] for name in (*adapted.sets, *adapted.gone) if name in instance.data}
    questions = [] if adapted.enters else review_changes(machine, instance, adapted, reviews, unit.now)
    was["asked"] = [str(review.id) for review in reviews if review.status == "open"]
    asks = adapted.enters and machine.states[adapted.state].review is not None
    was["asks"] = asks or any(one.what == "opened" for one in questions)
    was["reviews"] = [_before(one.review) for one in questions if one.what == "changed" and one.review is not None]
    was["letters"] = [[str(row.id), row.state, row.step] for row in letters]
    payload = {
        "from_version": instance.version,
        "to_version": way.to.number,
        "reason": reason,
        "set": dict(adapted.sets),
        "unset": list(adapted.gone),
        "was": was,
    }
    if way.renamed:
        payload[visits.RENAMED] = dict(way.renamed)
    moved = adapted.state != came_from or adapted.enters
    if adapted.sets or adapted.gone:
        before, given = instance.data, dict(adapted.data)
        instance.set_data(given)
        if instance.data is not given:  # a secret was hidden, perhaps in another field
            change = difference(before, instance.data)
            payload |= change
            was["data"] = {name: before[name] for name in before if name in change["set"] or name not in instance.data}
    instance.version = way.to.number
    dwell = max(unit.now - instance.entered_at, 0) or None if adapted.enters else None
    unit.record(
        instance,
        KIND,
        actor,
        from_state=came_from if moved else None,
        to_state=adapted.state if moved else None,
        payload=payload,
        dwell=dwell,
    )
    instance.state = adapted.state
    _rename(instance, way)
    after: list[Callable[[], object]] = []
    if way.renamed:
        after.append(partial(_rename_effects, unit, instance, dict(way.renamed)))
    if adapted.enters:
        had_rested = instance.finished_at is not None
        instance.previous = way.renamed.get(came_from, came_from)
        unit.closed_reviews.append(instance.id)
        moves.enter(unit, instance, machine)
        if had_rested and instance.finished_at is None:
            after.append(partial(failing.close_dead_letters, unit, instance, actor, "resolved"))
    else:
        if adapted.timer is not None:
            instance.timer_no, instance.timer_at = adapted.timer
        if instance.wake == "blocked":  # the limit may have changed; the next claim checks it
            instance.wake, instance.blocked_on = "work", None
        after += [partial(_ask, unit, instance, machine, one) for one in questions]
    if adapted.state != came_from and adapted.state in machine.followers:
        moves.run_followers(
            unit, instance, machine, Edge(came_from, adapted.state, KIND, frozenset({SYSTEM}), None), actor
        )
    for row in letters:
        state, step = way.renamed.get(row.state, row.state), way.step(row.step)
        if (state, step) != (row.state, row.step):
            after.append(partial(_letter, unit, row.id, state=state, step=step))
    for do in after:
        do()
    return questions


def _rename_effects(unit: Unit, instance: Instance, renamed: Mapping[str, str]) -> None:
    """Rename the steps of effects. Their keys stay, because other systems know them."""
    steps = unit.conn.execute(sa.select(E.c.step).where(E.c.instance_id == instance.id).distinct()).scalars().all()
    for step in steps:
        state, colon, stage = step.partition(":")
        if state in renamed:
            named = sa.update(E).where(E.c.instance_id == instance.id, E.c.step == step)
            unit.conn.execute(named.values(step=renamed[state] + colon + stage))
    if any(step.partition(":")[0] in renamed for step in steps):
        unit.vouch_for_stored(E, E.c.instance_id == instance.id)


def _rename(instance: Instance, way: Route) -> None:
    """Rename the steps in the counters of failures."""
    if instance.previous is not None:
        instance.previous = way.renamed.get(instance.previous, instance.previous)
    if instance.failed_step is not None:
        instance.failed_step = way.step(instance.failed_step)
    if instance.stored_failures:
        counters: dict[str, int] = {}
        for name, n in instance.failures.items():
            step, bar, rule = name.partition("|")
            new = way.step(step) + bar + rule
            counters[new] = counters.get(new, 0) + n
        instance.set_failures(counters)


def _open_letters(unit: Unit, instance: Instance) -> list[Any]:
    if instance.failed_step is None:
        return []
    query = sa.select(L.c.id, L.c.state, L.c.step).where(L.c.instance_id == instance.id, L.c.status == "open")
    return list(unit.conn.execute(query))


def _letter(unit: Unit, letter: UUID, **values: Any) -> None:
    unit.conn.execute(sa.update(L).where(L.c.id == letter).values(**values))
    unit.vouch_for_stored(L, L.c.id == letter)


def _before(review: sa.Row[Any]) -> dict[str, Any]:
    """The wording of a review, to be restored later."""
    return {"id": str(review.id), **{name: getattr(review, name) for name in WORDING}}


def _ask(unit: Unit, instance: Instance, machine: Machine, one: ReviewChange) -> None:
    if one.review is not None:
        unit.conn.execute(sa.update(R).where(R.c.id == one.review.id).values(**one.values))
        unit.vouch_for_stored(R, R.c.id == one.review.id)
        return
    declared = machine.states[instance.state].review
    assert declared is not None
    moves.open_review(unit, instance, instance.state, declared, state=instance.state)


# -- undoing


def undoable(instance: Instance, row: Row, machine: Machine | None) -> None:
    """Raise Unfit if undoing would not restore the instance exactly."""
    if row.seq != instance.seq:
        raise Unfit(
            "something has happened to it since", f"it was migrated at seq {row.seq} and is at seq {instance.seq}"
        )
    if row.erased or "was" not in row.payload:
        raise Unfit("what was there before has been erased from its history")
    entered = row.to_state if row.to_state != row.from_state else None
    if machine is not None and entered in machine.followers:
        raise Unfit(f"what was done when it entered {entered!r} cannot be undone")


def undo(unit: Unit, instance: Instance, row: Row, actor: Actor, reason: str) -> None:
    """Restore the instance as it was before this row."""
    was: Mapping[str, Any] = row.payload["was"]
    before: Mapping[str, Any] = was.get("data", {})
    added = [name for name in row.payload.get("set", {}) if name not in before]
    change: dict[str, Any] = {"set": dict(before), "unset": added}
    if before or added:
        had = instance.data
        given = {name: value for name, value in had.items() if name not in added} | dict(before)
        instance.set_data(given)
        if instance.data is not given:
            change = difference(had, instance.data)
    kept = was.get("row", {})
    if kept.get("unique_key") and instance.unique_key is None:
        try:
            moves.take_key(unit, instance)
        except KeyTaken as error:
            raise Unfit("another instance has its key by now", str(error)) from error
    here = instance.state
    there = row.from_state or here
    left, instance.version = instance.version, row.payload["from_version"]
    payload: dict[str, Any] = {
        "from_version": left,
        "to_version": instance.version,
        "back": True,
        "undoes": row.seq,
        "reason": reason,
        **change,
    }
    back = {new: old for old, new in row.payload.get(visits.RENAMED, {}).items()}
    if back:
        payload[visits.RENAMED] = back
    unit.record(
        instance,
        KIND,
        actor,
        from_state=here if row.to_state else None,
        to_state=there if row.to_state else None,
        payload=payload,
    )
    instance.state = there
    for name in KEPT:
        setattr(instance, name, kept.get(name, 0 if name == "timer_no" else None))
    _restore_asked(unit, instance, was)
    if back:
        _rename_effects(unit, instance, back)


def _restore_asked(unit: Unit, instance: Instance, was: Mapping[str, Any]) -> None:
    """Restore the reviews as they were: none was decided since, because that would be in the history."""
    before = [UUID(review) for review in was.get("asked", [])]
    if before or was.get("asks"):
        _only_asked(unit, instance, before)
    for review in was.get("reviews", []):
        wording = {name: review[name] for name in WORDING}
        unit.conn.execute(sa.update(R).where(R.c.id == UUID(review["id"])).values(**wording))
        unit.vouch_for_stored(R, R.c.id == UUID(review["id"]))
    for letter, state, step in was.get("letters", []):
        _letter(unit, UUID(letter), state=state, step=step, status="open", closed_at=None, closed_by=None)


def _only_asked(unit: Unit, instance: Instance, before: Sequence[UUID]) -> None:
    mine = sa.and_(R.c.instance_id == instance.id, R.c.state.is_not(None))
    opened = sa.update(R).where(mine, R.c.status == "open", R.c.id.not_in(before))
    unit.conn.execute(opened.values(status="closed", decided_at=unit.now))
    if before:
        unit.conn.execute(sa.update(R).where(mine, R.c.id.in_(before)).values(status="open", decided_at=None))
