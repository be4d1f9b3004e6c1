"""Dead letters: work that failed for good, with all that is needed to understand it, until a person closes it."""

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

GONE = {"type": "Erased", "message": "what it said was erased", "where": []}
"""What is left of the error of a dead letter that was erased."""


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """A failure that nothing by itself will put right."""

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
    """The last row of the history when it failed."""


@dataclass(frozen=True, slots=True)
class Filter:
    """Which dead letters; an empty one is refused where many are changed at once."""

    machine: str | None = None
    fingerprint: str | None = None
    error_type: str | None = None
    step: str | None = None
    workspace: str | None = None
    workspaces: frozenset[str] | None = None
    """Only of these: what a person may see."""
    machines: frozenset[str] | None = None
    """Only of these: what an agent may see."""

    def __post_init__(self) -> None:
        values.filters(self, self.__slots__)

    @property
    def empty(self) -> bool:
        """Whether it chooses nothing; that they are in somebody's workspace is no choice."""
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
    """The error as it was, or what is left of it."""
    return GONE if text == ERASED else values.error(text)


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
    """The newest first; `after` is the id of the last one seen."""
    query = sa.select(D).where(D.c.status == status, *where.conditions())
    if after is not None:
        query = query.where(D.c.id < after)
    return [_read(row) for row in conn.execute(query.order_by(D.c.id.desc()).limit(limit))]


@dataclass(frozen=True, slots=True)
class Group:
    """Dead letters that are the same but for numbers, ids and quoted values."""

    fingerprint: str
    machine: str
    step: str
    error_type: str
    message: str
    """Of the newest."""
    count: int
    first_at: Micros
    last_at: Micros
    newest: UUID


def groups(conn: sa.Connection, where: Filter, *, status: str = "open", limit: int = 100) -> list[Group]:
    """By fingerprint, the biggest first."""
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
        if row is None:  # its bytes are no text, so nothing that can be asked for is equal to them
            continue
        one = _read(row)
        message = str(one.error.get("message", ""))
        found.append(Group(fingerprint, one.machine, one.step, one.error_type, message, count, first, last, one.id))
    return found


def retry(unit: Unit, letter_id: UUID, actor: Actor, *, reason: str = "") -> Instance:
    """Do the failed step again: there, or, where the instance rests in a final state, as a new linked one."""
    values.text(reason, "the reason")
    letter, instance = _open(unit, letter_id)
    machine = unit.machine(instance)
    state = letter.step.partition(":")[0]
    _reset(instance, letter.step)
    payload = {"reason": reason, "dead_letter": str(letter_id), "step": letter.step}
    if machine.states[instance.state].kind is Kind.FINAL:
        again = _reborn(unit, instance, machine, letter, actor, payload)
        _close(unit, letter_id, "retried", actor, reason, retried_as=again.id)
        return again
    if event := letter.error.get("event"):
        if instance.state != letter.state:
            raise Refused(f"{machine.name} {instance.id} went on to {instance.state!r} since; resolve the dead letter")
        review_access.may_fire(unit, instance, machine, str(event), PEOPLE, actor)
        _fire_again(unit, instance, str(event), actor, payload)
    elif instance.state != state:
        _walk_back(unit, instance, machine, state, actor, payload)
    else:
        _again_here(unit, instance, machine, actor, payload)
    _close(unit, letter_id, "retried", actor, reason)
    return instance


def _fire_again(unit: Unit, instance: Instance, event: str, actor: Actor, payload: dict[str, Any]) -> None:
    """The system's event that could not be fired when it was due; whoever retries is shown what stands in its way."""
    from interlock.engine.firing import fire

    unit.record(instance, "retried", actor, payload=payload)
    fire(unit, instance.id, event, SYSTEM_ACTOR, payload={"why": "retried"})


def _again_here(unit: Unit, instance: Instance, machine: Machine, actor: Actor, payload: dict[str, Any]) -> None:
    """The instance still is where it failed; what is paused begins after its pause."""
    from interlock.engine.firing import allowed, under_way

    if under_way(instance):
        raise Refused(
            f"{machine.name} {instance.id} is in {instance.state!r} and its work was started already; "
            "resolve the dead letter",
            allowed(instance, machine),
        )
    if not (machine.starts_work(instance.state) or machine.runs_when_armed(instance.state)):
        raise Refused(
            f"nobody works in {instance.state!r} of {machine.name}, so nothing can be done again; fire an event, and "
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


def _walk_back(
    unit: Unit, instance: Instance, machine: Machine, state: str, actor: Actor, payload: dict[str, Any]
) -> None:
    """From the state for failures along the retry's own transition: straight to the step, or to its queue."""
    from interlock.engine.firing import choose

    if machine.states[instance.state].kind is not Kind.FAILED:
        raise Refused(f"{machine.name} {instance.id} went on to {instance.state!r} since; resolve the dead letter")
    instance.failed_step = payload["step"]
    edge = choose(instance, machine, machine.failures.retry, actor)
    moves.move(unit, instance, machine, edge, actor, payload=payload)


def _reborn(
    unit: Unit, instance: Instance, machine: Machine, letter: DeadLetter, actor: Actor, payload: dict[str, Any]
) -> Instance:
    """With the data of the failed step: what its end has set since (why it was given up) is not true of a new one."""
    if instance.erased:
        raise Refused(f"{machine.name} {instance.id} was erased ({instance.erased}); resolve the dead letter")
    if isinstance(letter.data, values.Unreadable):
        raise Unreadable(f"the data of dead letter {letter.id} cannot be used: {letter.data.why}; mend its row")
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
        by_application=True,  # it was let in once, and goes on with what it had
    )
    artifacts.link_all(unit, instance.id, again.id)
    unit.record(instance, "retried", actor, payload={**payload, "as": str(again.id)})
    return again


def _continues(unit: Unit, instance: Instance, letter: DeadLetter) -> dict[str, Any]:
    """What the new one goes on with: the visit of the step that failed, and all that it and those before it sent."""
    line = visits.line(unit.conn, instance.id, instance.parent)
    visit = visits.failed_in(unit.conn, letter.id)
    return {"retry_of": str(instance.id), "line": [str(one) for one in line], "visit": visit.as_values()}


def close(unit: Unit, letter_id: UUID, status: str, actor: Actor, *, note: str = "") -> DeadLetter:
    """Resolve it (put right elsewhere) or discard it (not worth doing); the instance stays where it rests."""
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
"""What can be done with many at once, and what they are afterwards."""


def many(unit: Unit, action: str, where: Filter, actor: Actor, *, note: str = "", limit: int = 100) -> list[UUID]:
    """Retry, resolve or discard up to `limit` of those that match; the ids of those that could be."""
    if where.empty:
        raise InvalidData("an empty filter would take every dead letter; name a machine, step, error or fingerprint")
    if action not in MANY:
        names = ", ".join(MANY)
        raise InvalidData(f"dead letters can be retried, resolved or discarded, not {action!r}; use one of {names}")
    letters = find(unit.conn, where, limit=limit)
    unit.lock_many([letter.instance_id for letter in letters])
    return [letter.id for letter in letters if _could(unit, action, letter, actor, note)]


def _could(unit: Unit, action: str, letter: DeadLetter, actor: Actor, note: str) -> bool:
    """One that is refused, or lost its key to another, stays open and does not hold up those beside it."""
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
    """Everything that failed for good."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def find(self, where: Filter | None = None, *, status: str = "open", limit: int = 100) -> list[DeadLetter]:
        chosen = where or Filter()
        return self._engine.read(lambda conn: find(conn, chosen, status=status, limit=limit))

    def get(self, letter_id: UUID) -> DeadLetter:
        return self._engine.read(lambda conn: get(conn, letter_id))

    def retry(self, letter_id: UUID, *, actor: Actor, reason: str = "") -> Instance:
        """Do the failed step again; the instance that does it."""
        return self._engine.write(lambda unit: retry(unit, letter_id, actor, reason=reason), name="dead_letter")

    def resolve(self, letter_id: UUID, *, actor: Actor, note: str = "") -> DeadLetter:
        """It was put right elsewhere."""
        return self._engine.write(lambda unit: close(unit, letter_id, "resolved", actor, note=note), name="dead_letter")

    def discard(self, letter_id: UUID, *, actor: Actor, note: str = "") -> DeadLetter:
        """It is not worth doing."""
        return self._engine.write(
            lambda unit: close(unit, letter_id, "discarded", actor, note=note), name="dead_letter"
        )

    def many(self, action: str, where: Filter, *, actor: Actor, note: str = "", limit: int = 100) -> list[UUID]:
        """Retry, resolve or discard those that match; an empty filter is refused."""
        return self._engine.write(
            lambda unit: many(unit, action, where, actor, note=note, limit=limit), name="dead_letter"
        )
