"""Schedules: instances that are created by the calendar, once across all processes.

A schedule stores its next time. When that has passed, some process creates the instance and sets the next time, in one
transaction with the row locked. So no other process creates it too, and a process that dies leaves it due. Times come
from the cron expression in the schedule's time zone. When clocks change, `30 2 * * *` runs once in autumn, and at three
in spring, when there is no half past two.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import islice
from typing import TYPE_CHECKING, Any
from uuid import UUID

import sqlalchemy as sa

from interlock.engine import actions, creating, moves, values
from interlock.engine.calendar import cron_times, next_time, time_zone
from interlock.engine.error_details import message_of
from interlock.engine.errors import InvalidData, NotFound, Unreadable, is_item_error
from interlock.engine.instance import Instance
from interlock.engine.text import canonical, fitting, shortened
from interlock.engine.unit import Unit
from interlock.machine import SYSTEM, Actor
from interlock.store import SECOND, Micros, StoreError, micros, moment, span
from interlock.store.errors import translated
from interlock.store.service_tables import schedule as S
from interlock.store.tables import instance as I

if TYPE_CHECKING:
    from interlock.engine.engine import Engine

OVERLAPS = ("allow", "skip")
MISSED = ("once", "all", "skip")
LATE = 60 * SECOND
"""A run that begins later than this was missed."""
LATER = timedelta(hours=1)
"""When a schedule that could not be run at all is tried again."""
MOST_MISSED = 100
HINT = "*schedules"
"""The hint that a schedule changed. It is sent like the name of a queue; no queue has it."""


@dataclass(frozen=True, slots=True)
class ScheduleSpec:
    """What to create, and when."""

    name: str
    machine: str
    cron: str
    """Five fields as in Unix, or six with seconds first."""
    zone: str = "UTC"
    workspace: str = "default"
    data: Mapping[str, Any] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    priority: int = 2
    overlap: str = "allow"
    """`skip`: not while the last instance is unfinished."""
    missed: str = "once"
    """After a downtime: `once` for all that were missed, `all` of them (the last 100), or `skip` them."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """A stored schedule."""

    workspace: str
    name: str
    machine: str
    cron: str
    zone: str
    data: dict[str, Any]
    labels: dict[str, str]
    priority: int
    overlap: str
    missed: str
    paused_at: Micros | None
    paused_by: str | None
    next_at: Micros | None
    last_at: Micros | None
    last_instance: UUID | None
    last_error: str | None
    runs: int
    created_by: str
    created_at: Micros
    updated_at: Micros


def _read(row: sa.Row[Any]) -> Schedule:
    found = dict(row._mapping)
    found["data"], found["labels"] = values.readable(found["data"]), values.texts(found["labels"])
    return Schedule(**found)


# -- times of a schedule


def upcoming(spec: ScheduleSpec | Schedule, after: datetime, count: int = 5) -> list[datetime]:
    """When it runs next, in its own time zone."""
    where = time_zone(spec.zone)
    return [moment(at).astimezone(where) for at in islice(cron_times(spec.cron, spec.zone, micros(after)), count)]


def _passed(found: Schedule, now: Micros, most: int) -> list[Micros]:
    """The last times between the due one and now. They are searched from the end, however long ago it was due."""
    assert found.next_at is not None
    window = span(timedelta(hours=1))
    while True:
        start = max(found.next_at, now - window)
        passed = []
        for at in cron_times(found.cron, found.zone, start - 1):
            if at > now:
                break
            passed.append(at)
        if len(passed) >= most or start == found.next_at:
            # The rules of the time zone may have changed since the next time was computed.
            return passed[-most:] or [found.next_at]
        window *= 2


# -- changing


def put(unit: Unit, spec: ScheduleSpec, actor: Actor) -> Schedule:
    """Create the schedule, or change the one with this name. The same spec again changes nothing."""
    wanted = _checked(unit, spec)
    before = _find(unit.conn, spec.workspace, spec.name, lock=True)
    if before is None:
        made = {"created_by": str(actor), "created_at": unit.now, "next_at": next_time(spec.cron, spec.zone, unit.now)}
        key = {"workspace": spec.workspace, "name": spec.name}
        # If two insert at once, the store runs the second again, and it finds the first row.
        unit.conn.execute(sa.insert(S).values(**key, **wanted, **made, updated_at=unit.now))
    elif _same(before, wanted):
        return before
    else:
        changed = {**wanted, "updated_at": unit.now}
        if (before.cron, before.zone) != (spec.cron, spec.zone):
            changed["next_at"] = next_time(spec.cron, spec.zone, unit.now)
        _set(unit, before, **changed)
    details = {"cron": spec.cron, "zone": spec.zone, "machine": spec.machine}
    _note(unit, actor, "put", spec.workspace, spec.name, details)
    return get(unit.conn, spec.workspace, spec.name)


def _same(before: Schedule, wanted: Mapping[str, Any]) -> bool:
    """Compares the stored texts, because 1 and true are equal in Python."""
    stored = {"data": canonical(before.data), "labels": canonical(before.labels) if before.labels else None}
    return all(stored.get(name, getattr(before, name)) == value for name, value in wanted.items())


def _checked(unit: Unit, spec: ScheduleSpec) -> dict[str, Any]:
    if not (0 < len(spec.name) <= 100 and spec.name.isprintable()):
        raise InvalidData(f"a schedule's name must have 1 to 100 printable characters, unlike {spec.name[:120]!r}")
    values.indexed(spec.name, "the schedule's name", values.NAME)
    values.indexed(spec.workspace, "the workspace", values.NAME)
    if spec.overlap not in OVERLAPS:
        raise InvalidData(f"overlap {spec.overlap!r} is unknown; use {' or '.join(OVERLAPS)}")
    if spec.missed not in MISSED:
        raise InvalidData(f"missed {spec.missed!r} is unknown; use {', '.join(MISSED)}")
    if spec.priority not in range(4):
        raise InvalidData(f"priority {spec.priority!r} is not one of 0 (first), 1, 2, 3 (last)")
    machine = unit.core.registry[spec.machine]
    creating.require_creatable(machine)
    moves.validated(machine, spec.data)
    values.labels(spec.labels)
    if next(cron_times(spec.cron, spec.zone, unit.now), None) is None:
        raise InvalidData(f"{spec.cron!r} never occurs; check its day and month")
    return {
        "machine": spec.machine,
        "cron": spec.cron,
        "zone": spec.zone,
        "priority": spec.priority,
        "overlap": spec.overlap,
        "missed": spec.missed,
        "data": fitting(canonical(dict(spec.data), "data"), f"the data of schedule {spec.name!r}"),
        "labels": canonical(dict(spec.labels)) if spec.labels else None,
    }


def pause(unit: Unit, workspace: str, name: str, actor: Actor) -> Schedule:
    """Pause the schedule: it creates nothing until it is resumed."""
    found = get(unit.conn, workspace, name, lock=True)
    if found.paused_at is None:
        _set(unit, found, paused_at=unit.now, paused_by=str(actor), updated_at=unit.now)
        _note(unit, actor, "pause", workspace, name)
    return get(unit.conn, workspace, name)


def resume(unit: Unit, workspace: str, name: str, actor: Actor) -> Schedule:
    """Resume from now on. Runs during the pause do not count as missed."""
    found = get(unit.conn, workspace, name, lock=True)
    if found.paused_at is not None:
        next_at = next_time(found.cron, found.zone, unit.now)
        _set(unit, found, paused_at=None, paused_by=None, updated_at=unit.now, next_at=next_at)
        _note(unit, actor, "resume", workspace, name)
    return get(unit.conn, workspace, name)


def remove(unit: Unit, workspace: str, name: str, actor: Actor) -> None:
    """Delete the schedule. Instances that it created go on."""
    get(unit.conn, workspace, name, lock=True)
    unit.conn.execute(sa.delete(S).where(_is(workspace, name)))
    _note(unit, actor, "remove", workspace, name)


def run_now(unit: Unit, workspace: str, name: str, actor: Actor) -> Instance:
    """Create an instance now, besides the calendar. Raises whatever its data or machine do not allow."""
    found = get(unit.conn, workspace, name, lock=True)
    instance = _create(unit, found, unit.now, actor)
    _set(unit, found, last_at=unit.now, last_instance=instance.id, runs=found.runs + 1, last_error=None)
    _note(unit, actor, "run", workspace, name, {"instance": str(instance.id)})
    return instance


# -- running


def due(unit: Unit, limit: int = 20) -> int:
    """Run the schedules that are due. Returns how many."""
    rows = unit.conn.execute(
        sa.select(S)
        .where(sa.text("paused_at IS NULL"), S.c.next_at <= unit.now)
        .order_by(S.c.next_at)
        .limit(limit)
        .with_for_update(skip_locked=True)
    ).all()
    served = [row for row in rows if "\\x" not in row.workspace + row.name or _is_findable(unit, row)]
    for row in served:
        try:
            _run(unit, _read(row))
        except BaseException as error:  # its row is unreadable, or anything else: the others still run
            if not is_item_error(error):
                raise
            later = {"next_at": unit.now + span(LATER), "last_error": shortened(message_of(error), 1000)}
            unit.conn.execute(sa.update(S).where(_is(row.workspace, row.name)).values(**later))
    return len(served)


def _is_findable(unit: Unit, row: sa.Row[Any]) -> bool:
    """Whether a query finds it by its name. If not, it could not be postponed and would run again and again."""
    return unit.conn.execute(sa.select(S.c.name).where(_is(row.workspace, row.name))).first() is not None


def _run(unit: Unit, found: Schedule) -> None:
    try:
        planned = _planned(found, unit.now)
        next_at = next_time(found.cron, found.zone, unit.now)
    except InvalidData as error:  # a time zone that this host does not know; another host may
        _set(unit, found, next_at=unit.now + span(LATER), last_error=str(error))
        return
    changes: dict[str, Any] = {"next_at": next_at, "last_error": None, "runs": found.runs}
    last = found.last_instance
    if not planned:
        changes["last_error"] = f"the run of {_iso(found.next_at or 0)} was missed, and missed runs are skipped"
    for at in planned:
        if found.overlap == "skip" and (before := _unfinished(unit, last)) is not None:
            changes["last_error"] = f"the run of {_iso(at)} was skipped: instance {before} is not finished"
            continue
        try:
            with unit.savepoint() as inner:
                last = _create(inner, found, at, Actor(SYSTEM, f"schedule {found.name}")).id
        except BaseException as error:  # its data, its machine, or application code such as a validator
            if not is_item_error(error) and (
                isinstance(error, StoreError | KeyboardInterrupt) or translated(error) is not None
            ):
                raise
            changes["last_error"] = shortened(f"the run of {_iso(at)} was refused: {message_of(error)}", 1000)
            continue
        changes.update(last_at=at, last_instance=last, runs=changes["runs"] + 1)
    _set(unit, found, **changes)


def _planned(found: Schedule, now: Micros) -> list[Micros]:
    """Which of the passed times are run."""
    if found.missed == "all":
        return _passed(found, now, MOST_MISSED)
    latest = _passed(found, now, 1)
    if found.missed == "skip":
        return [at for at in latest if now - at <= LATE]
    return latest


def _create(unit: Unit, found: Schedule, at: Micros, actor: Actor) -> Instance:
    if isinstance(found.data, values.Unreadable):
        raise Unreadable(
            f"the data of schedule {found.name!r} cannot be used: {found.data.why}; save the schedule again"
        )
    return creating.create(
        unit,
        unit.core.registry[found.machine],
        found.data,
        actor,
        workspace=found.workspace,
        priority=found.priority,
        labels={**found.labels, "schedule": found.name, "scheduled_for": _iso(at)},
    )


def _unfinished(unit: Unit, instance_id: UUID | None) -> UUID | None:
    query = sa.select(I.c.id).where(I.c.id == instance_id, I.c.finished_at.is_(None))
    found: UUID | None = unit.conn.execute(query).scalar() if instance_id is not None else None
    return found


def _iso(at: Micros) -> str:
    return moment(at).isoformat().replace("+00:00", "Z")


def _set(unit: Unit, found: Schedule, **changed: Any) -> None:
    unit.conn.execute(sa.update(S).where(_is(found.workspace, found.name)).values(**changed))


def _is(workspace: str, name: str) -> sa.ColumnElement[bool]:
    return sa.and_(S.c.workspace == workspace, S.c.name == name)


def _note(
    unit: Unit, actor: Actor, what: str, workspace: str, name: str, details: Mapping[str, Any] | None = None
) -> None:
    unit.ready.add(HINT)
    actions.record(unit, actor, f"schedule.{what}", name, workspace=workspace, details=details)


# -- looking


def _find(conn: sa.Connection, workspace: str, name: str, *, lock: bool = False) -> Schedule | None:
    query = sa.select(S).where(_is(workspace, name))
    row = conn.execute(query.with_for_update() if lock else query).first()
    return _read(row) if row is not None else None


def get(conn: sa.Connection, workspace: str, name: str, *, lock: bool = False) -> Schedule:
    found = _find(conn, workspace, name, lock=lock)
    if found is None:
        raise NotFound(f"there is no schedule {name!r} in workspace {workspace!r}")
    return found


def all_schedules(conn: sa.Connection, *, workspaces: Collection[str] | None = None) -> list[Schedule]:
    """All schedules, or those of some workspaces, by name."""
    query = sa.select(S).order_by(S.c.workspace, S.c.name)
    if workspaces is not None:
        query = query.where(S.c.workspace.in_(workspaces))
    return [_read(row) for row in conn.execute(query)]


def next_due(conn: sa.Connection) -> Micros | None:
    """When the next schedule is due."""
    query = sa.select(S.c.next_at).where(sa.text("paused_at IS NULL"), S.c.next_at.is_not(None))
    found: Micros | None = conn.execute(query.order_by(S.c.next_at).limit(1)).scalar()
    return found


class Schedules:
    """Instances that are created by the calendar."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def put(self, spec: ScheduleSpec, *, actor: Actor) -> Schedule:
        """Create the schedule, or change the one with this name."""
        return self._engine.write(lambda unit: put(unit, spec, actor), name="schedule")

    def get(self, name: str, *, workspace: str = "default") -> Schedule:
        return self._engine.read(lambda conn: get(conn, workspace, name))

    def all(self, *, workspaces: Collection[str] | None = None) -> list[Schedule]:
        return self._engine.read(lambda conn: all_schedules(conn, workspaces=workspaces))

    def pause(self, name: str, *, actor: Actor, workspace: str = "default") -> Schedule:
        return self._engine.write(lambda unit: pause(unit, workspace, name, actor), name="schedule")

    def resume(self, name: str, *, actor: Actor, workspace: str = "default") -> Schedule:
        return self._engine.write(lambda unit: resume(unit, workspace, name, actor), name="schedule")

    def remove(self, name: str, *, actor: Actor, workspace: str = "default") -> None:
        self._engine.write(lambda unit: remove(unit, workspace, name, actor), name="schedule")

    def run_now(self, name: str, *, actor: Actor, workspace: str = "default") -> Instance:
        """Create an instance now, besides the calendar."""
        return self._engine.write(lambda unit: run_now(unit, workspace, name, actor), name="schedule")

    def due(self, limit: int = 20) -> int:
        """Run the schedules that are due. Returns how many."""
        return self._engine.write(lambda unit: due(unit, limit), name="due")
