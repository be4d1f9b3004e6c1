"""Counts limits: uses in a sliding window, and slots for concurrent work, under a lock on the key."""

from __future__ import annotations

from bisect import bisect_right, insort
from collections import Counter
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
from interlock.store.limit_statements import (
    ADD_KEYS,
    FREE_SLOTS,
    HOLDERS,
    LOCK_KEYS,
    OLD_USES,
    USE_COUNTS,
    USES,
    WAITED_FOR,
)
from interlock.store.sql import is_claimed, one_of

if TYPE_CHECKING:
    from interlock.engine.unit import Unit

_at = itemgetter(0)


class Known:
    """Rows of limits that a unit has read or is about to write, by key. They are right while the key is locked.

    So a batch reads the rows of all its keys together. They are read again after the unit was written, and after an
    attempt was undone.
    """

    __slots__ = ("counts", "holders", "uses")

    def __init__(self) -> None:
        self.counts: dict[str, tuple[Micros, int]] = {}
        """Since when the uses of a window are counted, and how many there are. Enough as long as it is not full."""
        self.uses: dict[str, list[tuple[Micros, UUID]]] = {}
        """The uses of a window, the oldest first."""
        self.holders: dict[str, set[UUID]] = {}
        """The instances that have a slot."""


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
    since = unit.now - span(window.per)
    if key not in unit.locked:
        lock(unit, [key])
    rows = unit.limit_rows
    if key not in rows.uses and key not in rows.counts:
        _read_windows(unit, {key: window})
    counted = rows.counts.get(key)
    if counted is not None and counted[0] == since and counted[1] < size and not window.once:
        rows.counts[key] = since, counted[1] + 1
        unit.insert(t.limit_use, key=key, at=unit.now, instance_id=instance.id)
        return
    known = _uses(unit, key)
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


def _read_windows(unit: Unit, windows: Mapping[str, Window]) -> None:
    """Read what is used of windows whose keys are locked, together. Uses that are over are removed."""
    rows = unit.limit_rows
    unread: dict[tuple[Micros, bool], list[str]] = {}
    for key, window in windows.items():
        if key not in rows.uses and key not in rows.counts:
            unread.setdefault((unit.now - span(window.per), window.once), []).append(key)
    for (since, once), keys in unread.items():
        given = one_of(unit.conn, keys)
        counted = USE_COUNTS.rows(unit.conn, keys=given, since=since)
        over = [key for key, _, oldest in counted if oldest is not None and oldest <= since]
        if over:
            OLD_USES.count(unit.conn, keys=one_of(unit.conn, over), since=since)
        if once:
            _read_uses(unit, keys)
        else:
            unwritten = Counter(row["key"] for table, row in unit.inserts if table is t.limit_use)
            rows.counts |= {key: (since, used + unwritten[key]) for key, used, _ in counted}


def _uses(unit: Unit, key: str) -> list[tuple[Micros, UUID]]:
    """The uses of a window, the oldest first."""
    if key not in unit.limit_rows.uses:
        _read_uses(unit, [key])
    return unit.limit_rows.uses[key]


def _read_uses(unit: Unit, keys: Sequence[str]) -> None:
    found: dict[str, list[tuple[Micros, UUID]]] = {key: [] for key in keys}
    for key, at, user in USES.rows(unit.conn, keys=one_of(unit.conn, keys)):
        found[key].append((at, user))
    for table, row in unit.inserts:
        if table is t.limit_use and row["key"] in found:
            found[row["key"]].append((row["at"], row["instance_id"]))
    for key, uses in found.items():
        uses.sort(key=_at)
        unit.limit_rows.uses[key] = uses
        unit.limit_rows.counts.pop(key, None)


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
    two keys in opposite orders used up their five tries. All are added before the first is locked, so nobody adds a
    key that another waits for while it waits for one that the other has locked.
    """
    if unit.core.store.one_writer:
        return
    wanted = set(keys) - unit.locked
    while wanted:  # again, if a cleanup has removed a row while we waited for its lock
        given = one_of(unit.conn, sorted(wanted))
        ADD_KEYS.count(unit.conn, keys=given)
        locked = {key for (key,) in LOCK_KEYS.rows(unit.conn, keys=given)}
        unit.locked |= locked
        wanted -= locked


def lock_windows(unit: Unit, wanted: Iterable[tuple[Instance, Machine, Iterable[str]]]) -> None:
    """Lock and read the windows that a batch is about to use. Keys that cannot be built are skipped here."""
    windows: dict[str, Window] = {}
    for instance, machine, names in wanted:
        for name in names:
            with suppress(LimitReached):
                windows[_key_and_size(instance, machine, name)[0]] = machine.window(name)
    if windows:
        lock(unit, windows)
        _read_windows(unit, windows)


def lock_slots(unit: Unit, wanted: Iterable[tuple[Instance, Machine, str]]) -> None:
    """The same for the slots that a batch of claims is about to take."""
    keys: set[str] = set()
    for instance, machine, state in wanted:
        with suppress(LimitReached):
            keys.update([key for key, _ in _slots(instance, machine, state)])
    if keys:
        lock(unit, keys)
        _read_holders(unit, keys)


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
        if key not in unit.locked:
            lock(unit, [key])
        holders = _holders(unit, key)
        if len(holders) - (instance.id in holders) >= size:
            return key
    for key, _ in wanted:
        holders = _holders(unit, key)
        if instance.id not in holders:
            unit.insert(t.limit_slot, key=key, instance_id=instance.id, at=unit.now)
            holders.add(instance.id)
    return None


def _holders(unit: Unit, key: str) -> set[UUID]:
    if key not in unit.limit_rows.holders:
        _read_holders(unit, [key])
    return unit.limit_rows.holders[key]


def _read_holders(unit: Unit, keys: Iterable[str]) -> None:
    found: dict[str, set[UUID]] = {key: set() for key in keys if key not in unit.limit_rows.holders}
    if not found:
        return
    for key, holder in HOLDERS.rows(unit.conn, keys=one_of(unit.conn, list(found))):
        found[key].add(holder)
    for table, row in unit.inserts:
        if table is t.limit_slot and row["key"] in found:
            found[row["key"]].add(row["instance_id"])
    unit.limit_rows.holders |= found


def free(unit: Unit) -> None:
    """Free the slots of instances that are no longer worked on, and wake those that wait for them."""
    kept = {i for i in unit.freed_slots if i in unit.known and unit.known[i].holder is not None}
    gone = sorted([i.hex for i in unit.freed_slots if i not in kept])
    if not gone:
        return
    freed = Counter(key for (key,) in FREE_SLOTS.rows(unit.conn, ids=one_of(unit.conn, gone)))
    if freed:
        for (key,) in WAITED_FOR.rows(unit.conn, keys=one_of(unit.conn, sorted(freed))):
            unblock(unit, key, count=freed[key])


def unblock(unit: Unit, key: str, *, count: int) -> int:
    """Make up to `count` instances that wait for the key ready. Locked rows are skipped."""
    blocked = t.instance
    mine = [i.id for i in unit.changed.values() if i.wake == "blocked" and i.blocked_on == key]
    pick = (
        sa.select(blocked.c.id)
        .where(sa.text("wake = 'blocked'"), blocked.c.blocked_on == key, blocked.c.id.not_in(mine))
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
