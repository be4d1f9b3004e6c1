"""Dead letters: failures that nothing will retry, kept with all details until a person closes them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from uuid import UUID

import sqlalchemy as sa

from interlock.engine import artifacts, creating, moves, review_access, values, visits
from interlock.engine.errors import InvalidData, NotFound, Refused, Unreadable, is_item_error
from interlock.engine.instance import ERASED, Instance
from interlock.engine.unit import SYSTEM_ACTOR, Unit
from interlock.engine.values import readable
from interlock.machine import Actor, Kind, Machine
from interlock.machine.transitions import PEOPLE
from interlock.store import Micros
from interlock.store.tables import dead_letter as D

if TYPE_CHECKING:
    from interlock.engine.engine import Engine

ERASED_ERROR = {"type": "Erased", "message": "its message was erased", "where": []}
"""Shown in place of an error that was erased."""


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """A failure that waits for a person."""

    id: UUID
    instance_id: UUID
    workspace: str
    machine: str
    state: str
    step: str
    error_type: str
    error: dict[str, Any]
    fingerprint: str
    attempts: int
    data: dict[str, Any]
    status: str
    at: Micros
    closed_at: Micros | None
    closed_by: str | None
    note: str | None
    retried_as: UUID | None
    seq: int | None
    """The seq of the instance when it failed."""


@dataclass(frozen=True, slots=True)
class Filter:
    """A filter for dead letters. An empty one is refused for changes of many."""

    machine: str | None = None
    fingerprint: str | None = None
    error_type: str | None = None
    step: str | None = None
    workspace: str | None = None
    workspaces: frozenset[str] | None = None
    """Only these workspaces: what a person may see."""
    machines: frozenset[str] | None = None
    """Only these machines: what an agent may see."""

    def __post_init__(self) -> None:
        values.filters(self, self.__slots__)

    @property
    def empty(self) -> bool:
        """Whether it selects nothing. Workspaces and visible machines do not count."""
        return all(getattr(self, name) is None for name in ("machine", "fingerprint", "error_type", "step"))

    def conditions(self) -> list[sa.ColumnElement[bool]]:
        found = [
            D.c[name] == value
            for name in ("machine", "fingerprint", "error_type", "step", "workspace")
            if (value := getattr(self, name)) is not None
        ]
        if self.workspaces is not None:
            found.append(D.c.workspace.in_(sorted(self.workspaces)))
        if self.machines is not None:
            found.append(D.c.machine.in_(sorted(self.machines)))
        return found


def error_of(text: str) -> dict[str, Any]:
    """The stored error, or a note that it was erased."""
    return ERASED_ERROR if text == ERASED else values.error(text)


def _read(row: sa.Row[Any]) -> DeadLetter:
    found = dict(row._mapping)
    found["error"], found["data"] = error_of(found["error"]), readable(found["data"])
    return DeadLetter(**found)


def get(conn: sa.Connection, letter_id: UUID, *, lock: bool = False) -> DeadLetter:
    query = sa.select(D).where(D.c.id == letter_id)
    row = conn.execute(query.with_for_update() if lock else query).first()
    if row is None:
        raise NotFound(f"there is no dead letter {letter_id}")
    return _read(row)


def find(
    conn: sa.Connection, where: Filter, *, status: str = "open", after: UUID | None = None, limit: int = 100
) -> list[DeadLetter]:
    """Dead letters, the newest first. `after` is the id of the last one of the page before."""
    query = sa.select(D).where(D.c.status == status, *where.conditions())
    if after is not None:
        query = query.where(D.c.id < after)
    return [_read(row) for row in conn.execute(query.order_by(D.c.id.desc()).limit(limit))]


@dataclass(frozen=True, slots=True)
class Group:
    """Dead letters with the same fingerprint: they differ only in numbers, ids and quoted values."""

    fingerprint: str
    machine: str
    step: str
    error_type: str
    message: str
    """The error of the newest."""
    count: int
    first_at: Micros
    last_at: Micros
    newest: UUID


def groups(conn: sa.Connection, where: Filter, *, status: str = "open", limit: int = 100) -> list[Group]:
    """Dead letters grouped by fingerprint, the largest group first."""
    newest: Any = sa.func.max(D.c.at)
    query = (
        sa.select(D.c.fingerprint, sa.func.count(), sa.func.min(D.c.at), newest)
        .where(D.c.status == status, *where.conditions())
        .group_by(D.c.fingerprint)
        .order_by(sa.func.count().desc(), newest.desc())
        .limit(limit)
    )
    found = []
    for fingerprint, count, first, last in conn.execute(query).all():
        chosen = sa.select(D).where(D.c.status == status, D.c.fingerprint == fingerprint, *where.conditions())
        row = conn.execute(chosen.order_by(D.c.id.desc()).limit(1)).first()
        if row is None:  # its bytes are not valid text, so no query finds it
            continue
        one = _read(row)
        message = str(one.error.get("message", ""))
        found.append(Group(fingerprint, one.machine, one.step, one.error_type, message, count, first, last, one.id))
    return found


def retry(unit: Unit, letter_id: UUID, actor: Actor, *, reason: str = "") -> Instance:
    """Run the failed step again. If the instance is in a final state, a new linked instance does it."""
    values.text(reason, "the reason")
    letter, instance = _open(unit, letter_id)
    machine = unit.machine(instance)
    state = letter.step.partition(":")[0]
    _reset(instance, letter.step)
    payload = {"reason": reason, "dead_letter": str(letter_id), "step": letter.step}
    if machine.states[instance.state].kind is Kind.FINAL:
        again = _retry_as_new(unit, instance, machine, letter, actor, payload)
        _close(unit, letter_id, "retried", actor, reason, retried_as=again.id)
        return again
    if event := letter.error.get("event"):
        if instance.state != letter.state:
            raise Refused(
                f"{machine.name} {instance.id} has moved on to {instance.state!r} since; resolve the dead letter"
            )
        review_access.may_fire(unit, instance, machine, str(event), PEOPLE, actor)
        _fire_again(unit, instance, str(event), actor, payload)
    elif instance.state != state:
        _retry_from_failures(unit, instance, machine, state, actor, payload)
    else:
        _retry_in_place(unit, instance, machine, actor, payload)
    _close(unit, letter_id, "retried", actor, reason)
    return instance


def _fire_again(unit: Unit, instance: Instance, event: str, actor: Actor, payload: dict[str, Any]) -> None:
    """Fire the event again that the system could not fire when it was due. A refusal is shown to the caller."""
    from interlock.engine.firing import fire

    unit.record(instance, "retried", actor, payload=payload)
    fire(unit, instance.id, event, SYSTEM_ACTOR, payload={"why": "retried"})


def _retry_in_place(unit: Unit, instance: Instance, machine: Machine, actor: Actor, payload: dict[str, Any]) -> None:
    """Retry an instance that is still in the failed step. A paused one starts after its pause."""
    from interlock.engine.firing import allowed, under_way

    if under_way(instance):
        raise Refused(
            f"{machine.name} {instance.id} is in {instance.state!r} and its work is already running or ready; "
            "resolve the dead letter",
            allowed(instance, machine),
        )
    if not (machine.starts_work(instance.state) or machine.runs_when_armed(instance.state)):
        raise Refused(
            f"{instance.state!r} of {machine.name} has no work that could be retried; fire an event, and "
            "resolve the dead letter",
            allowed(instance, machine),
        )
    if machine.states[instance.state].review is not None:
        unit.closed_reviews.append(instance.id)
    unit.record(instance, "retried", actor, payload=payload)
    if instance.paused_at is not None:
        instance.paused_wake, instance.paused_due = "work", unit.now
    else:
        instance.wake, instance.due_at, instance.due_event = "work", unit.now, None


def _retry_from_failures(
    unit: Unit, instance: Instance, machine: Machine, state: str, actor: Actor, payload: dict[str, Any]
) -> None:
    """Leave the state for failures along the transition of the retry event."""
    from interlock.engine.firing import choose

    if machine.states[instance.state].kind is not Kind.FAILED:
        raise Refused(f"{machine.name} {instance.id} has moved on to {instance.state!r} since; resolve the dead letter")
    instance.failed_step = payload["step"]
    edge = choose(instance, machine, machine.failures.retry, actor)
    moves.move(unit, instance, machine, edge, actor, payload=payload)


def _retry_as_new(
    unit: Unit, instance: Instance, machine: Machine, letter: DeadLetter, actor: Actor, payload: dict[str, Any]
) -> Instance:
    """Create a new instance with the data of the failed step. What was set after it, such as a reason, is dropped."""
    if instance.erased:
        raise Refused(f"{machine.name} {instance.id} was erased ({instance.erased}); resolve the dead letter")
    if isinstance(letter.data, values.Unreadable):
        raise Unreadable(f"the data of dead letter {letter.id} cannot be used: {letter.data.why}; repair its row")
    again = creating.create(
        unit,
        machine,
        letter.data,
        actor,
        key=instance.key,
        workspace=instance.workspace,
        priority=instance.priority,
        queue=instance.queue,
        state=letter.step.partition(":")[0],
        parent=instance,
        labels=instance.shown_labels,
        payload={**payload, **_continues(unit, instance, letter)},
        take_key_from=instance,
        by_application=True,  # the application created the first one
    )
    artifacts.link_all(unit, instance.id, again.id)
    unit.record(instance, "retried", actor, payload={**payload, "as": str(again.id)})
    return again


def _continues(unit: Unit, instance: Instance, letter: DeadLetter) -> dict[str, Any]:
    """What the new instance inherits: the visit of the failed step, and what it and its predecessors sent."""
    line = visits.line(unit.conn, instance.id, instance.parent)
    visit = visits.failed_in(unit.conn, letter.id)
    return {"retry_of": str(instance.id), "line": [str(one) for one in line], "visit": visit.as_values()}


def close(unit: Unit, letter_id: UUID, status: str, actor: Actor, *, note: str = "") -> DeadLetter:
    """Resolve it (fixed elsewhere) or discard it (not worth fixing). The instance stays where it is."""
    if status not in {"resolved", "discarded"}:
        raise InvalidData(f"a dead letter is resolved or discarded, not {status!r}")
    values.text(note, "the note")
    _, instance = _open(unit, letter_id)
    unit.record(
        instance, "dead_letter_closed", actor, payload={"dead_letter": str(letter_id), "as": status, "note": note}
    )
    _close(unit, letter_id, status, actor, note)
    return get(unit.conn, letter_id)


MANY = {"retry": "retried", "resolve": "resolved", "discard": "discarded"}
"""Actions for many dead letters, and the status that each leads to."""


def many(unit: Unit, action: str, where: Filter, actor: Actor, *, note: str = "", limit: int = 100) -> list[UUID]:
    """Retry, resolve or discard up to `limit` that match. Returns the ids of those where it worked."""
    if where.empty:
        raise InvalidData("an empty filter would select every dead letter; name a machine, step, error or fingerprint")
    if action not in MANY:
        names = ", ".join(MANY)
        raise InvalidData(f"dead letters can be retried, resolved or discarded, not {action!r}; use one of {names}")
    letters = find(unit.conn, where, limit=limit)
    unit.lock_many([letter.instance_id for letter in letters])
    return [letter.id for letter in letters if _try_one(unit, action, letter, actor, note)]


def _try_one(unit: Unit, action: str, letter: DeadLetter, actor: Actor, note: str) -> bool:
    """Whether it worked. One that is refused, or whose key is taken, stays open and does not stop the others."""
    instance = unit.lock(letter.instance_id)
    try:
        with unit.attempt(instance):
            if action == "retry":
                retry(unit, letter.id, actor, reason=note)
            else:
                close(unit, letter.id, MANY[action], actor, note=note)
    except BaseException as error:
        if not is_item_error(error):
            raise
        return False
    return True


def _open(unit: Unit, letter_id: UUID) -> tuple[DeadLetter, Instance]:
    instance = unit.lock(get(unit.conn, letter_id).instance_id)
    letter = get(unit.conn, letter_id, lock=True)
    if letter.status != "open":
        raise Refused(f"dead letter {letter_id} was {letter.status} by {letter.closed_by}")
    return letter, instance


def _reset(instance: Instance, step: str) -> None:
    instance.set_failures({k: n for k, n in instance.failures.items() if k.partition("|")[0] != step})


def _close(
    unit: Unit, letter_id: UUID, status: str, actor: Actor, note: str, *, retried_as: UUID | None = None
) -> None:
    unit.conn.execute(
        sa.update(D)
        .where(D.c.id == letter_id)
        .values(status=status, closed_at=unit.now, closed_by=str(actor), note=note or None, retried_as=retried_as)
    )
    unit.vouch_for_stored(D, D.c.id == letter_id)


class DeadLetters:
    """Failures that wait for a person."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def find(self, where: Filter | None = None, *, status: str = "open", limit: int = 100) -> list[DeadLetter]:
        chosen = where or Filter()
        return self._engine.read(lambda conn: find(conn, chosen, status=status, limit=limit))

    def get(self, letter_id: UUID) -> DeadLetter:
        return self._engine.read(lambda conn: get(conn, letter_id))

    def retry(self, letter_id: UUID, *, actor: Actor, reason: str = "") -> Instance:
        """Run the failed step again. Returns the instance that does it."""
        return self._engine.write(lambda unit: retry(unit, letter_id, actor, reason=reason), name="dead_letter")

    def resolve(self, letter_id: UUID, *, actor: Actor, note: str = "") -> DeadLetter:
        """Close it: the problem was fixed elsewhere."""
        return self._engine.write(lambda unit: close(unit, letter_id, "resolved", actor, note=note), name="dead_letter")

    def discard(self, letter_id: UUID, *, actor: Actor, note: str = "") -> DeadLetter:
        """Close it: it is not worth fixing."""
        return self._engine.write(
            lambda unit: close(unit, letter_id, "discarded", actor, note=note), name="dead_letter"
        )

    def many(self, action: str, where: Filter, *, actor: Actor, note: str = "", limit: int = 100) -> list[UUID]:
        """Retry, resolve or discard those that match. An empty filter is refused."""
        return self._engine.write(
            lambda unit: many(unit, action, where, actor, note=note, limit=limit), name="dead_letter"
        )
