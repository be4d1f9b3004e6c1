"""What an application may use of the engine in its followers, endpoints and duties.

Everything here works inside a transaction: a follower is given its `Unit`, an endpoint gets one from `Writer`, anything
else from `engine.write(job)`. Functions that only look take a connection, `unit.conn` or that of `engine.read(job)`.
With these names an application never reads the engine's tables itself, so that those may change.

Beside them applications use the names of `interlock.engine`, and the functions of `artifacts`, `deadletters`, `leases`,
`questions`, `reviews`, `schedules` and `secrets`. Everything else in the engine is its own.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from typing import Any
from uuid import UUID

import sqlalchemy as sa

from interlock.engine import effects, firing, limits, listing, moves, outbox, workers
from interlock.engine.actions import record as record_action
from interlock.engine.audit.replaying import Row as HistoryRow
from interlock.engine.audit.replaying import history
from interlock.engine.creating import create
from interlock.engine.effects import Effect
from interlock.engine.errors import Allowed, NotFound
from interlock.engine.failing import close_dead_letters
from interlock.engine.finishing import clear_crashes, require_claim
from interlock.engine.firing import fire, force, under_way
from interlock.engine.instance import Instance
from interlock.engine.isolation import error_summary, must_raise
from interlock.engine.keys import find_free as free_keys
from interlock.engine.keys import lock_by_keys
from interlock.engine.last_resort import set_aside
from interlock.engine.lineage import RefusedSpawn, refused_spawns, spawn
from interlock.engine.moves import send
from interlock.engine.retention.erasing import erase
from interlock.engine.unit import SYSTEM_ACTOR, Unit, load
from interlock.machine import Actor, Kind, Machine, Message, Patch, Review
from interlock.store import Micros
from interlock.store.prepared import Prepared
from interlock.store.tables import instance as I

__all__ = [
    "SYSTEM_ACTOR",
    "HistoryRow",
    "RefusedSpawn",
    "Unit",
    "allowed",
    "ask",
    "change",
    "clear_crashes",
    "close_dead_letters",
    "count_uses",
    "create",
    "effects_of",
    "erase",
    "error_summary",
    "find",
    "find_by_key",
    "fire",
    "force",
    "free_keys",
    "get",
    "hasten",
    "hint",
    "history",
    "instances",
    "is_served",
    "lock_by_keys",
    "must_raise",
    "notify",
    "reason_of",
    "record_action",
    "refused_spawns",
    "require_claim",
    "send",
    "set_aside",
    "spawn",
    "stuck",
    "under_way",
    "unstart",
    "use_limits",
]

_BY_ID = Prepared(sa.select(I).where(I.c.id == sa.bindparam("id", type_=sa.Uuid)))
_BY_KEY = sa.select(I).where(
    I.c.workspace == sa.bindparam("workspace"),
    I.c.machine == sa.bindparam("machine"),
    I.c.unique_key == sa.bindparam("key"),
)
_SEEN_BY_KEY, _LOCKED_BY_KEY = Prepared(_BY_KEY), Prepared(_BY_KEY.with_for_update())


# -- looking


def find(conn: sa.Connection, instance_id: UUID, *, machine: str, workspace: str | None = None) -> Instance | None:
    """The instance, if it is one of this machine, and of this workspace where one is named."""
    found = load(conn, _BY_ID.rows(conn, id=instance_id))
    if not found or found[0].machine != machine or workspace not in (None, found[0].workspace):
        return None
    return found[0]


def get(conn: sa.Connection, instance_id: UUID, *, machine: str, workspace: str | None = None) -> Instance:
    """The instance, as `find` looks for it. Raises NotFound if there is none."""
    found = find(conn, instance_id, machine=machine, workspace=workspace)
    if found is None:
        raise NotFound(f"there is no {machine} {instance_id}")
    return found


def find_by_key(unit: Unit, workspace: str, machine: str, key: str, *, lock: bool = True) -> Instance | None:
    """Whoever has the business key now; locked until the commit, or only looked at."""
    for known in unit.known.values():
        if (known.machine, known.key, known.workspace) == (machine, key, workspace):
            return known
    row = (_LOCKED_BY_KEY if lock else _SEEN_BY_KEY).first(unit.conn, workspace=workspace, machine=machine, key=key)
    if row is None:
        return None
    return unit.adopt([row])[0] if lock else load(unit.conn, [row])[0]


def instances(
    conn: sa.Connection,
    machine: str,
    *,
    workspace: str | None = None,
    states: Sequence[str] | None = None,
    ids: Sequence[UUID] | None = None,
    among: sa.Select[tuple[UUID]] | None = None,
    children_of: sa.Select[tuple[UUID]] | UUID | None = None,
    after: UUID | None = None,
    newest_first: bool = False,
    limit: int = 100,
) -> list[Instance]:
    """Instances of a machine, the oldest first. `among` and `children_of` are queries for ids in tables of your own.

    `after` is the id of the last one of the page before.
    """
    query = sa.select(I).where(I.c.machine == machine)
    if workspace is not None:
        query = query.where(I.c.workspace == workspace)
    if ids is not None:
        query = query.where(I.c.id.in_(ids))
    if among is not None:
        wanted = among.subquery()
        query = query.join(wanted, wanted.c[0] == I.c.id)
    if isinstance(children_of, UUID):
        query = query.where(I.c.parent == children_of)
    elif children_of is not None:
        query = query.where(I.c.parent.in_(children_of))
    if after is not None:
        query = query.where(I.c.id < after if newest_first else I.c.id > after)
    order = I.c.id.desc() if newest_first else I.c.id
    if states is not None and len(states) > 1 and ids is None and among is None and children_of is None:
        # The index has the state before the id: some of each state are found at once. With all states in one condition
        # SQLite reads the machine by id: a second for states that 150 of 15,000 instances are in.
        each = [
            query.where(I.c.state == state).with_only_columns(I.c.id).order_by(order).limit(limit) for state in states
        ]
        found = sa.union_all(*(sa.select(one.subquery()) for one in each)).subquery()
        query = sa.select(I).where(I.c.id.in_(sa.select(found.c.id)))
    elif states is not None:
        query = query.where(I.c.state == states[0] if len(states) == 1 else I.c.state.in_(states))
    return load(conn, conn.execute(query.order_by(order).limit(limit)).all())


def stuck(
    conn: sa.Connection,
    machines: Iterable[Machine],
    now: Micros,
    longer_than: timedelta,
    *,
    workspace: str | None = None,
    limit: int = 100,
) -> list[Instance]:
    """Unfinished instances that have been in their state for so long, the longest first.

    Of a state with many instances the oldest 20,000 are looked at.
    """
    found: list[Instance] = []
    for machine in machines:
        for state in _unfinished_states(conn, machine):
            where = listing.Where(
                machine=machine.name, state=state, workspace=workspace, finished=False, in_state_for=longer_than
            )
            found += listing.page(conn, where, now, limit=limit, oldest=True).instances
    return sorted(found, key=lambda one: (one.entered_at, one.id))[:limit]


def _unfinished_states(conn: sa.Connection, machine: Machine) -> list[str]:
    """States that have instances and are not final, found one after another. Who failed may have given up or go on."""
    names: list[str] = []
    last = ""
    while True:
        here = sa.select(I.c.state).where(I.c.machine == machine.name, I.c.state > last)
        found: str | None = conn.execute(here.order_by(I.c.state).limit(1)).scalar()
        if found is None:
            return names
        last = found
        declared = machine.states.get(found)  # other versions may have other states
        if declared is None or declared.kind is not Kind.FINAL:
            names.append(found)


def allowed(unit: Unit, instance: Instance, actor: Actor) -> list[Allowed]:
    """The events that the instance would accept from this actor now, for an answer that refuses another."""
    return firing.allowed(instance, unit.machine(instance), actor)


def is_served(conn: sa.Connection, now: Micros, queue: str) -> bool:
    """Whether a process is alive that works on this queue."""
    return any(queue in worker.queues and worker.until > now for worker in workers.alive(conn))


def count_uses(conn: sa.Connection, machine: Machine, window: str, data: Mapping[str, Any], now: Micros) -> int:
    """How often a limit was used within its window, for instances with this data."""
    return limits.count_uses(conn, machine, window, data, now)


def effects_of(conn: sa.Connection, instance_id: UUID) -> list[Effect]:
    """What the instance has sent or is about to send, in order, with what it inherits from the one it continues."""
    return effects.of(conn, instance_id)


# -- changing


def change(
    unit: Unit,
    instance: Instance,
    patch: Patch,
    actor: Actor,
    *,
    kind: str = "amended",
    merges: tuple[str, ...] = (),
    payload: Mapping[str, Any] | None = None,
) -> dict[str, Any] | None:
    """Change data without a move, with a history row of this kind; what was set. None, and no row, if nothing changed.

    To the fields in `merges` it adds, as `Transition(merges=)` does. The instance has to be locked.
    """
    made = moves.change_data(unit.machine(instance), instance, patch, merges)
    if not any(made.values()):
        return None
    unit.record(instance, kind, actor, payload={**made, **(payload or {})})
    changed: dict[str, Any] = made["set"]
    return changed


def reason_of(unit: Unit, instance: Instance) -> str:
    """In a follower: why the move was made, in the words of who made it; empty if they gave no reason."""
    rows = (row for row in reversed(unit.history) if row[0] == instance.id and row[4] == instance.state)
    text = next((row[8] for row in rows), None)
    return str(json.loads(text).get("reason", "")) if text else ""


def hasten(unit: Unit, instance: Instance) -> bool:
    """Let a step that returned `Again` run now, because what it waits for is there; False if it waits for none.

    A step that failed keeps the time of its retry. The instance has to be locked.
    """
    if instance.wake != "work" or instance.due_at is None or instance.due_at <= unit.now:
        return False
    machine = unit.machine(instance)
    step = machine.step_of(instance.state, instance.stage_data(machine))
    if any(counter.partition("|")[0] == step for counter in instance.failures):
        return False
    instance.due_at = unit.now
    unit.touch(instance)
    return True


def unstart(unit: Unit, instance: Instance) -> None:
    """Let a state that was just entered wait for the event that starts its work (`Arm`), as if entered unstarted."""
    moves.check_unstarted(unit.machine(instance), instance.state)
    if instance.paused_at is not None:
        instance.paused_wake = instance.paused_due = None
    else:
        instance.wake = instance.due_at = None
    unit.touch(instance)


def use_limits(unit: Unit, instance: Instance, names: Sequence[str]) -> None:
    """Count a use of each of these limits, as `takes` of an effect does. Raises LimitReached.

    It is for what a person does in place of a handler. The instance has to be locked.
    """
    limits.use_all(unit, instance, unit.machine(instance), names)


def hint(unit: Unit, name: str) -> None:
    """Wake who listens for this name (`store.subscribe`) after the commit. It starts with `*`, and may be lost."""
    unit.ready.add(name)


def ask(
    unit: Unit,
    instance: Instance,
    name: str,
    review: Review,
    *,
    evidence: Mapping[str, Any] | None = None,
    state: str | None = None,
) -> UUID:
    """Open a review. With `state` it belongs to that state, and closes when the instance leaves it.

    A review with a form, or with `state`, has to be one of the machine's `reviews`.
    """
    return moves.open_review(unit, instance, name, review, state=state, evidence=evidence)


def notify(unit: Unit, workspace: str, message: Message) -> UUID:
    """Put a message of no instance into the outbox; it is delivered after the commit."""
    return outbox.put(unit, message.channel, message.to, message.subject, message.body, workspace=workspace)
