"""Moves running instances to another version of their machine, and back.

An instance keeps the version that it was created with. `plan` reports what would happen to unfinished instances.
`apply` does it in batches, with one history row (`migrated`) for each instance, while workers run: claimed instances
are left alone and tried again, and those that do not fit stay as they are, with the reason. It can be stopped and
started again at any time, because the version of an instance says whether it is done.

The history row stores the state before. So `back` restores an instance to which nothing has happened since exactly,
whether or not the code here serves that version.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple
from uuid import UUID

import sqlalchemy as sa

from interlock.engine.audit.replaying import Row, read_row
from interlock.engine.engine import Engine
from interlock.engine.errors import InvalidData, NotFound
from interlock.engine.instance import Instance
from interlock.engine.unit import Unit, load
from interlock.engine.versions import instance_move
from interlock.engine.versions.adapting import Route, Unfit, Version, adapt, review_changes, reviews_of, versions
from interlock.engine.versions.batches import Progress, Report, lock_batch, run_batches, try_one
from interlock.machine import Actor, Machine
from interlock.store import Micros
from interlock.store import tables as t

I, H = t.instance, t.history  # noqa: E741
BATCH = 200
PATIENCE = 60.0


# -- the route


def route(
    engine: Engine,
    machine: str,
    *,
    to: int | None = None,
    source: int | None = None,
    renamed: Mapping[str, str] | None = None,
    workspace: str | None = None,
) -> Route:
    """The route from one version, or from all others, to the version of this code or another that it serves.

    Without `source` and `to`, newer versions are left alone: they belong to processes with newer code.
    """
    core = engine.core
    declared = core.registry[machine]
    current = core.current[machine]
    goal = current if to is None else to
    code = core.machine(machine, goal)
    known = engine.read(lambda conn: versions(conn, machine))
    if goal not in known:  # not registered yet: a plan must not write
        spec = declared.spec()
        kinds = {state["name"]: state["kind"] for state in spec["states"]}
        known[goal] = Version(goal, declared.digest(), spec, kinds, core.clock.now())
    if source is not None and source not in known:
        raise NotFound(f"{machine} has no version {source}; it has {', '.join(map(str, sorted(known)))}")
    if source == goal:
        raise InvalidData(f"version {source} of {machine} cannot be moved to itself; name another with --from or --to")
    chosen = [source] if source is not None else [n for n in known if n != goal and (to is not None or n < goal)]
    return Route(code, known[goal], goal == current, {n: known[n] for n in chosen}, dict(renamed or {}), workspace)


def _under_way(way: Route, state: str, after: UUID | None, limit: int) -> sa.Select[Any]:
    """Unfinished instances in a state. Those that failed for good count as unfinished: a person may retry them."""
    query = sa.select(I).where(
        I.c.machine == way.machine.name,
        I.c.state == state,
        I.c.version.in_(sorted(way.sources)) if way.sources else sa.false(),
    )
    if not any(version.kinds.get(state) == "failed" for version in way.sources.values()):
        query = query.where(I.c.finished_at.is_(None))
    if after is not None:
        query = query.where(I.c.id > after)
    if way.workspace is not None:
        query = query.where(I.c.workspace.concat("") == way.workspace)
    return query.order_by(I.c.id).limit(limit)


def _states(way: Route) -> list[str]:
    named = [s for source in way.sources.values() for s, kind in source.kinds.items() if kind != "final"]
    return list(dict.fromkeys(named))


def count(engine: Engine, way: Route) -> int:
    """How many unfinished instances the versions to leave have."""

    def ask(conn: sa.Connection) -> int:
        total = 0
        for state in _states(way):
            found = _under_way(way, state, None, 1).limit(None).order_by(None).with_only_columns(sa.func.count())
            total += conn.execute(found).scalar_one()
        return total

    return engine.read(ask)


# -- planning


def plan(engine: Engine, way: Route, *, progress: Progress = lambda _: None) -> Report:
    """What would happen to every instance. It uses short reads and blocks nobody."""
    look = partial(_look, way=way, now=engine.clock.now())
    return run_batches(look, engine.read, _states(way), 0, progress)


def _look(
    conn: sa.Connection, state: str, after: UUID | None, report: Report, *, way: Route, now: Micros
) -> UUID | None:
    instances = load(conn, conn.execute(_under_way(way, state, after, BATCH)).all())
    reviews = reviews_of(conn, instances)
    for instance in instances:
        try:
            adapted = adapt(way, instance)
        except Unfit as error:
            report.refuse(instance, error.reason, str(error))
            continue
        if instance.holder is not None:
            report.busy[instance.version, instance.state] += 1
            continue
        mine = reviews.get(instance.id, [])
        report.note(
            way, instance, adapted, [] if adapted.enters else review_changes(way.machine, instance, adapted, mine, now)
        )
    return instances[-1].id if len(instances) == BATCH else None


def sample(conn: sa.Connection, way: Route, now: Micros, most: int) -> tuple[Report, bool]:
    """What would happen to up to `most` of them, in one read, and whether these are all."""
    report = Report()
    for state in _states(way):
        after: UUID | None = None
        while True:
            if report.seen >= most:
                return report, False
            after = _look(conn, state, after, report, way=way, now=now)
            if after is None:
                break
    return report, True


# -- applying


class BatchStart(NamedTuple):
    """Where a batch begins: in a state, after an instance."""

    state: str
    after: UUID | None = None


def move_batch(
    unit: Unit, way: Route, actor: Actor, *, begin: BatchStart | None = None, batch: int = BATCH, reason: str = ""
) -> tuple[Report, BatchStart | None]:
    """Move one batch in this transaction. Returns a report, and where the next batch begins; None after the last."""
    report, states = Report(), _states(way)
    if begin is not None and begin.state not in states:
        raise InvalidData(f"no instance is moved out of state {begin.state!r}; begin without a place")
    first = states.index(begin.state) if begin is not None else 0
    after = begin.after if begin is not None else None
    for state in states[first:]:
        room = batch - report.seen
        if room <= 0:
            return report, BatchStart(state)
        after = _move_some(unit, state, after, report, way=way, batch=room, actor=actor, reason=reason)
        if after is not None:
            return report, BatchStart(state, after)
    return report, None


def require_registered(engine: Engine, way: Route) -> None:
    if way.to.number not in engine.read(lambda conn: versions(conn, way.machine.name)):
        raise NotFound(
            f"version {way.to.number} of {way.machine.name} is not registered; start a process with it first"
        )


def apply(
    engine: Engine,
    way: Route,
    actor: Actor,
    *,
    reason: str = "",
    batch: int = BATCH,
    patience: float = PATIENCE,
    progress: Progress = lambda _: None,
    stopping: Callable[[], bool] = lambda: False,
) -> Report:
    """Move all of them. Claimed instances are tried again for `patience` seconds. `stopping` ends it after a batch."""
    require_registered(engine, way)
    some = partial(_move_some, way=way, batch=batch, actor=actor, reason=reason)
    look = partial(plan, engine, way)
    return run_batches(some, partial(engine.write, name="migrate"), _states(way), patience, progress, look, stopping)


def _move_some(
    unit: Unit, state: str, after: UUID | None, report: Report, *, way: Route, batch: int, actor: Actor, reason: str
) -> UUID | None:
    instances, following = lock_batch(unit, _under_way(way, state, after, batch), batch)
    reviews = reviews_of(unit.conn, instances)

    def move(unit: Unit, instance: Instance) -> None:
        adapted, before = adapt(way, instance), copy(instance)
        questions = instance_move.move(unit, instance, way, adapted, reviews.get(instance.id, []), actor, reason)
        report.note(way, before, adapted, questions)

    for instance in instances:
        try_one(unit, instance, report, move)
    return following


# -- going back


def back(
    engine: Engine,
    machine: str,
    actor: Actor,
    *,
    since: Micros = 0,
    source: int | None = None,
    workspace: str | None = None,
    reason: str = "",
    dry: bool = False,
    batch: int = BATCH,
    patience: float = PATIENCE,
    progress: Progress = lambda _: None,
    stopping: Callable[[], bool] = lambda: False,
) -> Report:
    """Undo migrations since a time, of instances to which nothing has happened after it."""
    known = engine.read(lambda conn: versions(conn, machine))
    if source is not None and source not in known:
        raise NotFound(f"{machine} has no version {source}; it has {', '.join(map(str, sorted(known))) or 'none'}")
    states = list(dict.fromkeys(state for version in known.values() for state in version.kinds))
    chosen = _Chosen(machine, engine.registry.get(machine), since, source, workspace)
    look = partial(run_batches, partial(_look_back, chosen=chosen, batch=batch), engine.read, states, 0)
    if dry:
        return look(progress)
    some = partial(_undo_some, chosen=chosen, batch=batch, actor=actor, reason=reason)
    left = partial(look, lambda _: None)
    return run_batches(some, partial(engine.write, name="migrate"), states, patience, progress, left, stopping)


@dataclass(frozen=True, slots=True)
class _Chosen:
    """The migrations to undo."""

    name: str
    machine: Machine | None
    since: Micros
    source: int | None
    workspace: str | None

    def instances(self, state: str, after: UUID | None, limit: int) -> sa.Select[Any]:
        """Instances that may have been migrated since; of ended ones, only if nothing came after it."""
        last = sa.exists().where(H.c.instance_id == I.c.id, H.c.seq == I.c.seq, H.c.kind == instance_move.KIND)
        query = sa.select(I).where(I.c.machine == self.name, I.c.state == state, I.c.updated_at >= self.since)
        query = query.where(sa.or_(I.c.finished_at.is_(None), last))
        if self.source is not None:
            query = query.where(I.c.version == self.source)
        if after is not None:
            query = query.where(I.c.id > after)
        if self.workspace is not None:
            query = query.where(I.c.workspace.concat("") == self.workspace)
        return query.order_by(I.c.id).limit(limit)

    def rows(self, conn: sa.Connection, instances: Sequence[Instance]) -> dict[UUID, Row]:
        """The last migration of each, if it is recent enough and was not undone."""
        ids = [instance.id for instance in instances]
        if not ids:
            return {}
        query = sa.select(H).where(H.c.instance_id.in_(ids), H.c.kind == instance_move.KIND).order_by(H.c.seq)
        found = {row.instance_id: read_row(row) for row in conn.execute(query)}
        return {i: row for i, row in found.items() if row.at >= self.since and not row.payload.get("back")}


def _undo_some(
    unit: Unit,
    state: str,
    after: UUID | None,
    report: Report,
    *,
    chosen: _Chosen,
    batch: int,
    actor: Actor,
    reason: str,
) -> UUID | None:
    instances, following = lock_batch(unit, chosen.instances(state, after, batch), batch)
    rows = chosen.rows(unit.conn, instances)

    def undo(unit: Unit, instance: Instance) -> None:
        row, place = rows[instance.id], (instance.version, instance.state)
        instance_move.undoable(instance, row, chosen.machine)
        instance_move.undo(unit, instance, row, actor, reason)
        report.moved[(*place, instance.version, instance.state)] += 1

    for instance in instances:
        if instance.id in rows:
            try_one(unit, instance, report, undo)
    return following


def _look_back(
    conn: sa.Connection, state: str, after: UUID | None, report: Report, *, chosen: _Chosen, batch: int
) -> UUID | None:
    instances = load(conn, conn.execute(chosen.instances(state, after, batch)).all())
    rows = chosen.rows(conn, instances)
    for instance in instances:
        row = rows.get(instance.id)
        if row is None:
            continue
        if instance.holder is not None:
            report.busy[instance.version, state] += 1
            continue
        try:
            instance_move.undoable(instance, row, chosen.machine)
        except Unfit as error:
            report.refuse(instance, error.reason, str(error))
        else:
            report.moved[instance.version, state, row.payload["from_version"], row.from_state or state] += 1
    return instances[-1].id if len(instances) == batch else None
