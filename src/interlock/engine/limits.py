"""Counts limits: uses in a sliding window, and slots for concurrent work, under a lock on the key."""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from operator import itemgetter
from typing import TYPE_CHECKING, Any
from uuid import UUID

import sqlalchemy as sa

from interlock.engine import values, visits
from interlock.engine.instance import Instance
from interlock.machine import LimitReached, Machine, Window
from interlock.store import Micros, moment, span
from interlock.store import tables as t
from interlock.store.prepared import Prepared
from interlock.store.sql import among, is_claimed, upsert

if TYPE_CHECKING:
    from interlock.engine.unit import Unit

_at = itemgetter(0)
USES = Prepared(sa.select(t.limit_use.c.at, t.limit_use.c.instance_id).where(t.limit_use.c.key == sa.bindparam("key")))
HOLDERS = Prepared(sa.select(t.limit_slot.c.instance_id).where(t.limit_slot.c.key == sa.bindparam("key")))
SLOTS = Prepared(
    sa.select(t.limit_slot.c.key).where(t.limit_slot.c.instance_id == sa.bindparam("instance_id", type_=sa.Uuid))
)


class Known:
    """Rows of limits that a unit has read or is about to write, by key. They are right while the key is locked.

    So a batch reads the rows of a key once, and not once for each item. They are read again after the unit was written,
    and after an attempt was undone.
    """

    __slots__ = ("holders", "slots", "uses")

    def __init__(self) -> None:
        self.uses: dict[str, list[tuple[Micros, UUID]]] = {}
        """The uses of a window, the oldest first."""
        self.holders: dict[str, set[UUID]] = {}
        """The instances that have a slot."""
        self.slots: dict[UUID, set[str]] = {}
        """The keys of which an instance has a slot."""


def use_all(unit: Unit, instance: Instance, machine: Machine, names: Sequence[str]) -> None:
    """Count one use against each of the windows."""
    if len(names) > 1:
        lock_windows(unit, [(instance, machine, names)])
    for name in names:
        use(unit, instance, machine, name)


def _key_and_size(instance: Instance, machine: Machine, name: str) -> tuple[str, int]:
    window = machine.window(name)
    try:
        return values.indexed(window.key_for(instance.data), "its key"), window.size_for(instance.data)
    except Exception as error:
        raise LimitReached(f"limit {name!r} of {machine.name} cannot be computed from the data: {error!r}") from error


def use(unit: Unit, instance: Instance, machine: Machine, name: str) -> None:
    """Count one use against the window. Raises LimitReached, which says when there is room again."""
    window = machine.window(name)
    key, size = _key_and_size(instance, machine, name)
    lock(unit, [key])
    since = unit.now - span(window.per)
    known = _uses(unit, key, since)
    first = bisect_right(known, since, key=_at)
    if window.once and _used_by(unit, instance, {user for _, user in known[first:]}):
        return
    used = len(known) - first
    if used >= size:
        again = moment(known[len(known) - size][0] + span(window.per)) if size > 0 else None
        raise LimitReached(
            f"limit {name!r} ({key}) is used up: {used} of {size} per {window.per}"
            + (f"; room again at {again:%Y-%m-%d %H:%M:%S} UTC" if again else ""),
            until=again,
        )
    unit.insert(t.limit_use, key=key, at=unit.now, instance_id=instance.id)
    insort(known, (unit.now, instance.id), key=_at)


def _uses(unit: Unit, key: str, since: Micros) -> list[tuple[Micros, UUID]]:
    """The uses of a window, the oldest first. Those that are over are removed."""
    known = unit.limit_rows.uses.get(key)
    if known is None:
        unit.conn.execute(sa.delete(t.limit_use).where(t.limit_use.c.key == key, t.limit_use.c.at <= since))
        known = [(row[0], row[1]) for row in USES.rows(unit.conn, key=key)]
        known += [
            (row["at"], row["instance_id"]) for table, row in unit.inserts if table is t.limit_use and row["key"] == key
        ]
        known.sort(key=_at)
        unit.limit_rows.uses[key] = known
    return known


def count_uses(conn: sa.Connection, machine: Machine, name: str, data: Mapping[str, Any], now: Micros) -> int:
    """How often the window was used within its length, by what is committed."""
    window = machine.window(name)
    used = (t.limit_use.c.key == window.key_for(data), t.limit_use.c.at > now - span(window.per))
    found: int = conn.execute(sa.select(sa.func.count()).select_from(t.limit_use).where(*used)).scalar_one()
    return found


def _used_by(unit: Unit, instance: Instance, users: set[UUID]) -> bool:
    """Whether the instance, or one that it continues, is among them."""
    mine = users and instance.parent is not None and visits.line(unit.conn, instance.id, instance.parent)
    return bool(users & {instance.id, *(mine or ())})


def lock(unit: Unit, keys: Iterable[str]) -> None:
    """Lock the keys until the commit. On SQLite there is only one writer anyway.

    They are locked in order, which avoids deadlocks: PostgreSQL finds one only after a second, and eight writers with
    two keys in opposite orders used up their five tries.
    """
    if unit.core.store.one_writer:
        return
    for key in sorted(set(keys) - unit.locked):
        locked = None
        while locked is None:  # a cleanup may have removed the row while we waited for its lock
            unit.conn.execute(upsert(t.limit_key).values(key=key).on_conflict_do_nothing())
            one = sa.select(t.limit_key.c.key).where(t.limit_key.c.key == key).with_for_update()
            locked = unit.conn.execute(one).first()
        unit.locked.add(key)


def lock_windows(unit: Unit, wanted: Iterable[tuple[Instance, Machine, Iterable[str]]]) -> None:
    """Lock the windows that a batch is about to use, in one order. Keys that cannot be built are skipped here."""
    keys = set()
    for instance, machine, names in wanted:
        for name in names:
            with suppress(LimitReached):
                keys.add(_key_and_size(instance, machine, name)[0])
    lock(unit, keys)


def lock_slots(unit: Unit, wanted: Iterable[tuple[Instance, Machine, str]]) -> None:
    """The same for the slots that a batch of claims is about to take."""
    keys: set[str] = set()
    taken: dict[UUID, set[str]] = {}
    for instance, machine, state in wanted:
        with suppress(LimitReached):
            keys |= {key for key, _ in _slots(instance, machine, state)}
            taken[instance.id] = set()
    lock(unit, keys)
    if taken:  # what each of them has already, read together
        slot = t.limit_slot.c
        for key, holder in unit.conn.execute(
            sa.select(slot.key, slot.instance_id).where(among(unit.conn, slot.instance_id, taken))
        ):
            taken[holder].add(key)
        unit.limit_rows.slots |= taken


def _slots(instance: Instance, machine: Machine, state: str) -> list[tuple[str, int]]:
    try:
        return sorted(
            (values.indexed(limit.key_for(instance.data), "its key"), limit.size) for limit in machine.concurrent(state)
        )
    except Exception as error:
        raise LimitReached(f"a limit of {machine.name} cannot be computed from the data: {error!r}") from error


def take_slots(unit: Unit, instance: Instance, machine: Machine, state: str) -> str | None:
    """Take a slot of each limit on work in this state. If one is full, take none and return its key."""
    wanted = _slots(instance, machine, state)
    for key, size in wanted:
        lock(unit, [key])
        holders = _holders(unit, key)
        if len(holders) - (instance.id in holders) >= size:
            return key
    have = unit.limit_rows.slots.get(instance.id)
    if have is None:
        have = {key for (key,) in SLOTS.rows(unit.conn, instance_id=instance.id)}
        unit.limit_rows.slots[instance.id] = have
    for key, _ in wanted:
        if key not in have:
            unit.insert(t.limit_slot, key=key, instance_id=instance.id, at=unit.now)
            unit.limit_rows.holders[key].add(instance.id)
            have.add(key)
    return None


def _holders(unit: Unit, key: str) -> set[UUID]:
    known = unit.limit_rows.holders.get(key)
    if known is None:
        known = {holder for (holder,) in HOLDERS.rows(unit.conn, key=key)}
        known |= {row["instance_id"] for table, row in unit.inserts if table is t.limit_slot and row["key"] == key}
        unit.limit_rows.holders[key] = known
    return known


def free(unit: Unit) -> None:
    """Free the slots of instances that are no longer worked on, and wake those that wait for them."""
    kept = {i for i in unit.freed_slots if i in unit.known and unit.known[i].holder is not None}
    gone = [i for i in unit.freed_slots if i not in kept]
    keys = sorted(
        set(
            unit.conn.execute(
                sa.delete(t.limit_slot).where(t.limit_slot.c.instance_id.in_(gone)).returning(t.limit_slot.c.key)
            ).scalars()
        )
    )
    for key in keys:
        unblock(unit, key, count=len(gone))


def unblock(unit: Unit, key: str, *, count: int) -> int:
    """Make up to `count` instances that wait for the key ready. Locked rows are skipped."""
    blocked = t.instance
    pick = (
        sa.select(blocked.c.id)
        .where(sa.text("wake = 'blocked'"), blocked.c.blocked_on == key)
        .order_by(blocked.c.priority, blocked.c.due_at)
        .limit(count)
        .with_for_update(skip_locked=True)
    )
    ids = [i for i in unit.conn.execute(pick).scalars() if i not in unit.changed]
    if not ids:
        return 0
    done = unit.conn.execute(
        sa.update(blocked).where(blocked.c.id.in_(ids)).values(wake="work", blocked_on=None).returning(blocked.c.queue)
    )
    queues = list(done.scalars())
    unit.ready |= set(queues)
    return len(queues)


def free_blocked(unit: Unit) -> int:
    """Wake instances that wait for a key with room: their rows were locked when a slot was freed."""
    rows = unit.conn.execute(
        sa.select(t.instance.c.blocked_on, sa.func.count())
        .where(sa.text("wake = 'blocked'"), unit.core.served_condition)
        .group_by(t.instance.c.blocked_on)
    ).all()
    woken = 0
    lock(unit, [key for key, _ in rows])
    free_abandoned(unit, [key for key, _ in rows])
    for key, _ in rows:
        taken = unit.conn.execute(
            sa.select(sa.func.count()).select_from(t.limit_slot).where(t.limit_slot.c.key == key)
        ).scalar_one()
        size = _size_of(unit, key)
        if taken < size:
            woken += unblock(unit, key, count=size - taken)
    return woken


def is_abandoned() -> sa.ColumnElement[bool]:
    """The condition that nobody works on the instance of a slot: code without the limit has moved it."""
    worked_on = sa.exists().where(t.instance.c.id == t.limit_slot.c.instance_id, is_claimed())
    return ~worked_on


def free_abandoned(unit: Unit, keys: Sequence[str]) -> int:
    """Remove abandoned slots of these keys, which must be locked: a claim takes its slot and its lease together, so
    under the lock both are visible or neither is."""
    if not keys:
        return 0
    slots = sa.delete(t.limit_slot).where(t.limit_slot.c.key.in_(keys), is_abandoned())
    return unit.conn.execute(slots).rowcount


@dataclass(frozen=True, slots=True)
class Usage:
    """How much of a limit is used now."""

    key: str
    kind: str
    """`window` or `slots`."""
    used: int
    last_at: int


def usage(conn: sa.Connection, machines: Iterable[Machine], now: Micros, *, limit: int = 200) -> list[Usage]:
    """The limits that are in use, the busiest first: uses of windows, and slots.

    Uses count as long as a window of these machines reaches back; those of an unknown limit all count.
    """
    windows = [one for machine in machines for one in machine.limits.values() if isinstance(one, Window)]
    since = {one.name: now - span(one.per) for one in windows}
    found = []
    for table, kind in ((t.limit_use, "window"), (t.limit_slot, "slots")):
        counts = [
            sa.case((table.c.key.startswith(f"{name}/", autoescape=True), table.c.at > start), else_=True)
            for name, start in since.items()
            if kind == "window"
        ]
        rows = conn.execute(
            sa.select(table.c.key, sa.func.count(), sa.func.max(table.c.at))
            .where(*counts)
            .group_by(table.c.key)
            .order_by(sa.func.count().desc(), table.c.key)
            .limit(limit)
        )
        found += [Usage(key, kind, used, last) for key, used, last in rows]
    return found


def _size_of(unit: Unit, key: str) -> int:
    """The size of the concurrency limit of this key. A limit that no longer exists does not block."""
    name = key.partition("/")[0]
    sizes: list[Any] = [
        getattr(limit, "size", 0)
        for machine in unit.core.registry
        for limit_name, limit in machine.limits.items()
        if limit_name == name
    ]
    return max((s for s in sizes if isinstance(s, int)), default=1_000_000)
