"""Moves an instance along a transition, with all rules that apply. `fast_finish` writes plain moves itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

import pydantic
import sqlalchemy as sa
from pydantic import BaseModel
from pydantic_core import PydanticSerializationError

from interlock.engine import limits, outbox, secrets, values, visits
from interlock.engine.errors import InvalidData, KeyTaken
from interlock.engine.instance import ANEW, Instance, difference
from interlock.engine.text import canonical, erased_key, fitting, merged, shortened
from interlock.engine.unit import SYSTEM_ACTOR, Unit
from interlock.engine.values import alike
from interlock.machine import WORKER, Actor, Ask, Edge, KeyScope, Kind, Machine, Message, Patch, Review, State, Timer
from interlock.store import Micros, span
from interlock.store import tables as t
from interlock.store.prepared import Prepared
from interlock.store.retention_tables import kept_key

LOST = "*lost"
"""Prefix of the due event of an instance whose worker was lost and whose crash is not counted yet."""


def validated(machine: Machine, data: Mapping[str, Any]) -> dict[str, Any]:
    """The data as the machine's model dumps it. Raises InvalidData, which names each field that does not fit."""
    if machine.data is None:
        canonical(data, "data")
        return dict(data)
    try:
        return machine.data.model_validate(data).model_dump(mode="json")
    except pydantic.ValidationError as error:
        places = "; ".join(
            f"{'.'.join(map(str, e['loc'])) or 'data'}: {e['msg']} (got {values.brief(e['input'], 80)})"
            for e in error.errors()
        )
        raise InvalidData(f"the data does not fit {machine.name}: {places}") from error
    except (PydanticSerializationError, RecursionError) as error:
        values.check(data, "data")
        raise InvalidData(
            f"the data of {machine.name} cannot be stored as JSON: {shortened(str(error), 300)}"
        ) from error


def change_data(machine: Machine, instance: Instance, patch: Patch, merges: tuple[str, ...] = ()) -> dict[str, Any]:
    """Apply a patch, merging into the fields in `merges`. Returns the difference as the history stores it."""
    if patch is None:
        return {}
    added = {name: patch[name] for name in merges if name in patch} if isinstance(patch, Mapping) else {}
    if added:
        assert isinstance(patch, Mapping)
        patch = {**patch, **{name: merged(instance.data.get(name), value, name) for name, value in added.items()}}
    if isinstance(patch, Mapping) and not patch:
        return {}
    text = None
    if isinstance(patch, BaseModel):
        after = validated(machine, patch.model_dump(mode="json"))
    elif isinstance(patch, Mapping) and machine.data is None:
        after = {**instance.data, **patch}
        text = canonical(after, "data")
    elif isinstance(patch, Mapping):
        after = validated(machine, {**instance.data, **patch})
    else:
        raise InvalidData(f"data must be a model or a mapping of fields, not {type(patch).__name__}")
    before = instance.data
    change = difference(before, after)
    if change["set"] or change["unset"] or ANEW in change:
        instance.set_data(after, text)
        if instance.data is not after:  # a secret was hidden, perhaps in a field that the patch does not name
            after, added = instance.data, secrets.without_known(added)
            change = difference(before, after)
    sets = change["set"]
    if ANEW in change:
        return {**change, "merge": {}}
    # A merge is recorded as it came: recording the whole value with each report would grow quadratically.
    kept = {n: value for n, value in added.items() if n in sets and alike(merged(before.get(n), value), after[n])}
    return {"set": {n: value for n, value in sets.items() if n not in kept}, "unset": change["unset"], "merge": kept}


def move(
    unit: Unit,
    instance: Instance,
    machine: Machine,
    edge: Edge,
    actor: Actor,
    *,
    patch: Patch = None,
    payload: Mapping[str, Any] | None = None,
    last: bool = True,
    keep_lease: bool = False,
    unstarted: bool = False,
    at: Micros | None = None,
    due: tuple[Micros, str] | None = None,
    kind: str = "moved",
) -> None:
    """Take one declared transition. `last` is False for all but the end of a chain."""
    limits.use_all(unit, instance, machine, edge.takes)
    if edge.sets:
        given = patch.model_dump(mode="json") if isinstance(patch, BaseModel) else patch or {}
        patch = {**edge.sets, **given}
    change = change_data(machine, instance, patch, edge.merges)
    if actor.kind is not WORKER and _interrupts(instance, machine, payload):
        payload = {**(payload or {}), visits.UNFINISHED: True}
    leave(unit, instance, machine, keep_lease=keep_lease)
    unit.record(
        instance,
        kind,
        actor,
        from_state=edge.source,
        to_state=edge.to,
        event=edge.on,
        payload={**(payload or {}), **change} if change else payload,
        dwell=max(unit.now - instance.entered_at, 0) or None,
    )
    instance.previous, instance.state = edge.source, edge.to
    enter(unit, instance, machine, last=last, keep_lease=keep_lease, unstarted=unstarted, at=at, due=due)
    if machine.reviews and (instance.finished_at is not None or not _is_retried(machine, edge, payload)):
        close_questions(unit, instance, f"the instance moved to {edge.to!r}")
    if edge.to in machine.followers:
        run_followers(unit, instance, machine, edge, actor)


def is_plain(machine: Machine, edge: Edge) -> bool:
    """Whether `move`, for a worker without data, only writes the row and its history.

    `fast_finish` writes such moves itself. States and the transition are compared with ones that have only what does
    not matter here. So whatever else is declared, also by a rule that is added later, takes `move`.
    """
    if machine.followers or machine.reviews or machine.stage:
        return False
    start, end = machine.states[edge.source], machine.states[edge.to]
    if end.kind is Kind.FAILED or edge.to == machine.failures.state:
        return False
    if start != State(start.name, start.kind, start.waits_for, start.timers, lost=start.lost, good=start.good):
        return False
    if end != State(end.name, end.kind, end.waits_for, lost=end.lost, good=end.good):
        return False
    return edge == Edge(
        edge.source, edge.to, edge.on, edge.by, None, edge.accepts, pick_up=edge.pick_up, merges=edge.merges
    )


def close_questions(unit: Unit, instance: Instance, reason: str) -> None:
    """Close the open questions of the instance's handlers."""
    unit.closed_questions.append((instance.id, reason))


def _is_retried(machine: Machine, edge: Edge, payload: Mapping[str, Any] | None) -> bool:
    """Whether the move belongs to a retry, so that the same handler will ask for its answers again."""
    if edge.pick_up or (payload is not None and ("error" in payload or payload.get("why") == "worker_lost")):
        return True
    source = machine.states.get(edge.source)
    return source is not None and source.kind is Kind.FAILED and edge.on == machine.failures.retry


def _interrupts(instance: Instance, machine: Machine, payload: Mapping[str, Any] | None) -> bool:
    """Whether the move interrupts a step whose work is under way. A failure is recorded as such instead."""
    if machine.pick_up(instance.state) is not None:
        return False  # its work has not begun
    if payload is not None and ("error" in payload or payload.get("why") == "worker_lost"):
        return False
    if instance.wake in {"work", "lease", "blocked"} or instance.paused_wake == "work":
        return True
    # It failed for good and stays in its step, or its worker was lost: the step is not done either.
    if instance.stored_failures:
        return instance.failures_of(machine.step_of(instance.state, instance.stage_data(machine))) > 0
    return instance.due_event is not None and instance.due_event.startswith(LOST)


def run_followers(unit: Unit, instance: Instance, machine: Machine, edge: Edge, actor: Actor) -> None:
    """Run the followers that the application declared for this state, in the same transaction."""
    outer = unit.in_follower
    unit.in_follower = bool(unit.attempts) and not unit.attempts[-1].saved
    try:
        for follower in machine.followers[edge.to]:
            follower(unit, instance, edge, actor)
    finally:
        unit.in_follower = outer and not unit.attempts[-1].saved


def check_unstarted(machine: Machine, state: str) -> None:
    """Refuse to enter a state unstarted that no event starts: it would wait without an end."""
    if not any(arm.state == state for arm in machine.arms):
        raise InvalidData(
            f"{machine.name} in {state!r} cannot be entered unstarted: declare an event that starts its work (Arm)"
        )


def leave(unit: Unit, instance: Instance, machine: Machine, *, keep_lease: bool = False) -> None:
    state = machine.states.get(instance.state)  # it may be forced out of a state that the machine does not have
    if machine.reviews or (state is not None and state.review is not None):
        unit.closed_reviews.append(instance.id)
    if not keep_lease:
        drop_lease(unit, instance, machine)


def drop_lease(unit: Unit, instance: Instance, machine: Machine) -> None:
    """Remove the lease. A worker that still runs the step is fenced off."""
    if instance.holder is not None:
        instance.holder, instance.claimed_at = None, None
        if machine.has_slots:
            unit.freed_slots.append(instance.id)
    unit.touch(instance)


def enter(
    unit: Unit,
    instance: Instance,
    machine: Machine,
    *,
    last: bool = True,
    keep_lease: bool = False,
    unstarted: bool = False,
    at: Micros | None = None,
    due: tuple[Micros, str] | None = None,
) -> None:
    state = machine.states[instance.state]
    instance.entered_at = instance.updated_at
    set_timer(machine, instance, 0)
    if not keep_lease:
        instance.due_event = instance.blocked_on = None
        wake: str | None = None
        when: Micros | None = None
        if due is not None:
            wake, (when, instance.due_event) = "resume", due
        elif state.kind is Kind.WORK and not unstarted:
            wake, when = "work", max(at or 0, unit.now)
        if instance.paused_at is not None:
            instance.paused_wake, instance.paused_due = wake, when
        else:
            instance.wake, instance.due_at = wake, when
    if not last:
        return
    ended = state.kind is Kind.FINAL or (state.kind is Kind.FAILED and due is None)
    if ended:
        if instance.paused_at is not None:
            unit.record(instance, "resumed", SYSTEM_ACTOR, payload={"reason": "it has ended, so its pause is over"})
            instance.wake = instance.due_at = None
            instance.paused_at = instance.paused_wake = instance.paused_due = None
        instance.finished_at = instance.updated_at
        if machine.key is KeyScope.LIVE:
            instance.unique_key = None
    elif instance.finished_at is not None:
        instance.finished_at = None
        take_key(unit, instance)
    if state.review is not None:
        open_review(unit, instance, state.name, state.review, state=state.name)


def set_timer(machine: Machine, instance: Instance, number: int) -> None:
    """Set the next timer to the one with this number. Its time counts from the entry into the state."""
    timers = machine.states[instance.state].ordered_timers
    instance.timer_no = number
    instance.timer_at = instance.entered_at + span(timers[number].after) if number < len(timers) else None


def pending_timer(machine: Machine, instance: Instance) -> int | None:
    """The number of the timer that the instance waits for. The timers may have changed since it was set."""
    if instance.timer_at is None:
        return None
    timers = machine.states[instance.state].ordered_timers
    ends = [instance.entered_at + span(timer.after) for timer in timers]
    if instance.timer_no < len(timers) and ends[instance.timer_no] == instance.timer_at:
        return instance.timer_no
    for number, end in enumerate(ends):
        if end >= instance.timer_at:
            return number
    # A timer that fires an event has not fired yet: the instance would have left the state.
    return next((number for number, timer in enumerate(timers) if isinstance(timer, Timer)), None)


def take_key(unit: Unit, instance: Instance) -> None:
    """Reserve the instance's key. Raises KeyTaken if another instance has it."""
    if instance.key is None or instance.unique_key is not None:
        return
    other = key_holder(unit, instance.workspace, instance.machine, instance.key)
    if other is not None:
        raise KeyTaken(instance.machine, instance.key, other)
    instance.unique_key = instance.key


def _key_holder() -> Any:
    """The instance that has the key, or a removed one that keeps it. Erased keys are stored as hashes."""
    workspace: Any = sa.bindparam("workspace")
    machine: Any = sa.bindparam("machine")
    key: Any = sa.bindparam("key")
    here = sa.select(t.instance.c.id).where(
        t.instance.c.workspace == workspace, t.instance.c.machine == machine, t.instance.c.unique_key == key
    )
    G = kept_key.c
    gone = sa.select(G.instance_id).where(
        G.workspace == workspace, G.machine == machine, G.key.in_((key, sa.bindparam("hidden")))
    )
    return sa.select(sa.union_all(here, gone).subquery().c.id)


KEY_HOLDER = Prepared(_key_holder())


def key_holder(unit: Unit, workspace: str, machine: str, key: str) -> UUID | None:
    for created in unit.new:
        if created.unique_key == key and (created.workspace, created.machine) == (workspace, machine):
            return created.id
    if (workspace, machine, key) in unit.free_keys:
        return None
    row = KEY_HOLDER.first(unit.conn, workspace=workspace, machine=machine, key=key, hidden=erased_key(key))
    if row is None or (row[0] in unit.known and unit.known[row[0]].unique_key is None):
        return None  # or its holder gives it up in this transaction
    found: UUID = row[0]
    return found


_declared: dict[tuple[str, int, str], tuple[Review, int, dict[str, str | None]]] = {}
"""What is written of the review of a state, made once: for each review it took 1.5 µs, and 127 with a form."""


def _texts(instance: Instance, name: str, review: Review, state: str | None) -> dict[str, str | None]:
    """What is declared of a review, as its row has it."""
    place, generation = (instance.machine, instance.version, state or ""), secrets.generation
    kept = _declared.get(place) if state == name else None
    if kept is not None and kept[0] is review and kept[1] == generation:
        return kept[2]
    texts = {
        "name": values.indexed(name, "the review's name", values.NAME),
        "title": values.text(review.title, "the review's title"),
        "role": review.role,
        "form": canonical(review.form.model_json_schema()) if review.form else None,
        "decisions": canonical(dict(review.decisions), "decisions"),
        "settles": canonical(dict(review.settles), "settles") if review.settles else None,
    }
    if state == name:
        _declared[place] = review, generation, texts
    return texts


def open_review(
    unit: Unit,
    instance: Instance,
    name: str,
    review: Review,
    *,
    state: str | None = None,
    evidence: Mapping[str, Any] | None = None,
    visit: str | None = None,
    fallback: Mapping[str, Any] | None = None,
) -> UUID:
    return unit.insert(
        t.review,
        instance_id=instance.id,
        workspace=instance.workspace,
        machine=instance.machine,
        **_texts(instance, name, review, state),
        state=state,
        evidence=fitting(canonical(dict(evidence), "evidence"), "the evidence") if evidence else None,
        status="open",
        opened_at=unit.now,
        due_at=unit.now + span(review.due) if review.due else None,
        visit=visit,
        fallback=fitting(canonical(dict(fallback), "the default"), "the default") if fallback else None,
    )


def reopen_review(unit: Unit, instance: Instance, machine: Machine) -> None:
    """Open the state's review again, after work ended without a move."""
    review = machine.states[instance.state].review
    if review is not None:
        unit.closed_reviews.append(instance.id)
        open_review(unit, instance, instance.state, review, state=instance.state)


def ask(unit: Unit, instance: Instance, asks: tuple[Ask, ...]) -> None:
    for one in asks:
        open_review(unit, instance, one.name, one.review, evidence=one.evidence)


def send(unit: Unit, instance: Instance, messages: tuple[Message, ...]) -> None:
    """Put messages of an instance into the outbox; they are delivered after the commit."""
    for message in messages:
        outbox.put(
            unit,
            message.channel,
            message.to,
            message.subject,
            message.body,
            instance_id=instance.id,
            workspace=instance.workspace,
        )
