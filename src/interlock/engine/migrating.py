"""Moving running instances to another version of their machine, and back.

An instance keeps the version that it was started with. `plan` tells what would become of those that are under way;
`apply` does it, in batches, one transaction and one history row (`migrated`) for each instance, beside running workers:
what a worker holds is left alone and tried again, what does not fit stays as it was, with the reason. It can be broken
off and started again at any time, for the version of an instance says whether it is done.

The history row keeps what was there before. So `back` puts an instance to which nothing has happened since exactly
where it was, whether or not the code here serves that version.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any
from uuid import UUID

import sqlalchemy as sa

from interlock.engine import failing, moves
from interlock.engine.adapting import WORDING, Adapted, Asked, Route, Unfit, Version, adapt, asked, reviews_of, versions
from interlock.engine.engine import Engine
from interlock.engine.errors import InvalidData, NotFound
from interlock.engine.instance import Instance
from interlock.engine.unit import Unit, load
from interlock.machine import Actor, By, Edge, Kind
from interlock.store import Micros, StoreError
from interlock.store import tables as t

I, H, L = t.instance, t.history, t.dead_letter  # noqa: E741
KIND = "migrated"
BATCH = 200
PATIENCE = 60.0
EXAMPLES = 3
Tell = Callable[[int], None]
KEPT = (
    "wake", "due_at", "due_event", "timer_at", "timer_no", "blocked_on", "held_wake", "held_due", "entered_at",
    "finished_at", "unique_key", "previous", "failed_step", "stored_failures",
)  # fmt: skip
"""What the history row keeps of the instance as it was, beside state and data."""


@dataclass(slots=True)
class Trouble:
    """Why instances stay as they are, with some of them."""

    count: int = 0
    examples: list[tuple[UUID, str]] = field(default_factory=list)


@dataclass(slots=True)
class Report:
    """What would be done, or was."""

    moved: Counter[tuple[int, str, int, str]] = field(default_factory=Counter)
    """By version and state before, version and state after."""
    held: Counter[tuple[int, str]] = field(default_factory=Counter)
    """Left alone for now, because a worker works on them; by version and state."""
    refused: dict[tuple[int, str, str], Trouble] = field(default_factory=dict)
    """Left as they are; by version, state and reason."""
    fields: Counter[tuple[str, str]] = field(default_factory=Counter)
    """How many get or lose a field of their data, or have another value in it; by what, and the field's name."""
    timers: Counter[tuple[str, str]] = field(default_factory=Counter)
    reviews: Counter[tuple[str, str]] = field(default_factory=Counter)

    def refuse(self, instance: Instance, reason: str, detail: str) -> None:
        trouble = self.refused.setdefault((instance.version, instance.state, reason), Trouble())
        trouble.count += 1
        if len(trouble.examples) < EXAMPLES:
            trouble.examples.append((instance.id, detail))

    def note(self, route: Route, instance: Instance, adapted: Adapted, questions: Sequence[Asked]) -> None:
        self.moved[instance.version, instance.state, route.to.number, adapted.state] += 1
        for name in adapted.sets:
            self.fields["changed" if name in instance.data else "added", name] += 1
        for name in adapted.gone:
            self.fields["removed", name] += 1
        if adapted.timers:
            self.timers[adapted.state, adapted.timers] += 1
        for one in questions:
            self.reviews[adapted.state, one.what] += 1


# -- where from, where to


def route(
    engine: Engine,
    machine: str,
    *,
    to: int | None = None,
    source: int | None = None,
    renamed: Mapping[str, str] | None = None,
    workspace: str | None = None,
) -> Route:
    """The way from one version, or from all others, to that of the code here, or to another that it serves.

    Without both, newer versions are left alone: they are those of processes that know more than this one.
    """
    core = engine.core
    declared = core.registry[machine]
    current = core.current[machine]
    goal = current if to is None else to
    code = core.machine(machine, goal)
    known = engine.read(lambda conn: versions(conn, machine))
    if goal not in known:  # nothing was registered yet: whoever plans must not write
        spec = declared.spec()
        kinds = {state["name"]: state["kind"] for state in spec["states"]}
        known[goal] = Version(goal, declared.digest(), spec, kinds, core.clock.now())
    if source is not None and source not in known:
        raise NotFound(f"{machine} has no version {source}; it has {', '.join(map(str, sorted(known)))}")
    if source == goal:
        raise InvalidData(f"version {source} of {machine} cannot be moved to itself; name another with --from or --to")
    chosen = [source] if source is not None else [n for n in known if n != goal and (to is not None or n < goal)]
    return Route(
        code, known[goal], goal == current, {n: known[n] for n in chosen}, dict(renamed or {}), workspace
    )  # fmt: skip


def _under_way(way: Route, state: str, after: UUID | None, limit: int) -> sa.Select[Any]:
    """Those in a state that are not over. What was given up is not over: a person may still take it up."""
    query = sa.select(I).where(
        I.c.machine == way.machine.name, I.c.state == state, I.c.version.in_(sorted(way.sources)) if way.sources else sa.false()
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
    """How many are under way in the versions to leave."""
    def ask(conn: sa.Connection) -> int:
        total = 0
        for state in _states(way):
            found = _under_way(way, state, None, 1).limit(None).order_by(None).with_only_columns(sa.func.count())
            total += conn.execute(found).scalar_one()
        return total

    return engine.read(ask)


# -- looking


def plan(engine: Engine, way: Route, *, tell: Tell = lambda _: None) -> Report:
    """What would become of every instance; short reads, nothing is held up."""
    report = Report()
    for state in _states(way):
        after: UUID | None = None
        while True:
            seen, after = engine.read(partial(_look, way=way, state=state, after=after, report=report, now=engine.clock.now()))
            tell(seen)
            if after is None:
                break
    return report


def _look(
    conn: sa.Connection, way: Route, state: str, after: UUID | None, report: Report, now: Micros
) -> tuple[int, UUID | None]:
    instances = load(conn, conn.execute(_under_way(way, state, after, BATCH)).all())
    reviews = reviews_of(conn, instances)
    for instance in instances:
        if instance.holder is not None:
            report.held[instance.version, instance.state] += 1
        try:
            adapted = adapt(way, instance)
        except Unfit as error:
            report.refuse(instance, error.reason, str(error))
            continue
        if instance.holder is None:
            questions = [] if adapted.enters else asked(way.machine, instance, adapted, reviews.get(instance.id, []), now)
            report.note(way, instance, adapted, questions)
    return len(instances), instances[-1].id if len(instances) == BATCH else None


# -- doing


def apply(
    engine: Engine,
    way: Route,
    actor: Actor,
    *,
    reason: str = "",
    batch: int = BATCH,
    patience: float = PATIENCE,
    tell: Tell = lambda _: None,
) -> Report:
    """Move them all; what workers hold is tried again for `patience` seconds."""
    return _rounds(
        engine, lambda unit, state, after, report: _move_some(unit, way, state, after, batch, actor, reason, report),
        _states(way), patience, tell,
    )  # fmt: skip


Some = Callable[[Unit, str, UUID | None, Report], tuple[int, UUID | None]]


def _rounds(engine: Engine, some: Some, states: Sequence[str], patience: float, tell: Tell) -> Report:
    done = Report()
    deadline = time.monotonic() + patience
    wait = 0.05
    while True:
        before = done.moved.total()
        done.held.clear()
        done.refused.clear()
        for state in states:
            after: UUID | None = None
            while True:
                part, after = engine.write(partial(_fresh, some, state=state, after=after), name="migrate")
                _add(done, part)
                tell(part.moved.total())
                if after is None:
                    break
        left = done.held.total()
        if not left and done.moved.total() == before:
            return done
        if left and time.monotonic() >= deadline:
            return done
        if left:
            time.sleep(wait)
            wait = min(wait * 2, 2.0)


def _fresh(some: Some, unit: Unit, state: str, after: UUID | None) -> tuple[Report, UUID | None]:
    """A report of its own for each try: a transaction may run twice."""
    part = Report()
    _, following = some(unit, state, after, part)
    return part, following


def _add(total: Report, part: Report) -> None:
    total.moved += part.moved
    total.held += part.held
    total.fields += part.fields
    total.timers += part.timers
    total.reviews += part.reviews
    for place, trouble in part.refused.items():
        known = total.refused.setdefault(place, Trouble())
        known.count += trouble.count
        known.examples += trouble.examples[: EXAMPLES - len(known.examples)]


def _taken(unit: Unit, query: sa.Select[Any], state: str, report: Report, batch: int) -> tuple[list[Instance], UUID | None]:
    """Those that nobody works on, locked; and where the next batch begins."""
    rows = unit.conn.execute(query.with_for_update(skip_locked=True)).all()
    free = []
    for instance in unit.adopt(rows):
        if instance.holder is None:
            free.append(instance)
        else:
            report.held[instance.version, state] += 1
    return free, rows[-1].id if len(rows) == batch else None


def _move_some(
    unit: Unit, way: Route, state: str, after: UUID | None, batch: int, actor: Actor, reason: str, report: Report
) -> tuple[int, UUID | None]:
    instances, following = _taken(unit, _under_way(way, state, after, batch), state, report, batch)
    reviews = reviews_of(unit.conn, instances)
    for instance in instances:
        before = report.moved.total()
        _attempt(unit, instance, report, partial(_move, way=way, reviews=reviews.get(instance.id, []), actor=actor, reason=reason, report=report))
        assert report.moved.total() <= before + 1
    return len(instances), following


def _attempt(unit: Unit, instance: Instance, report: Report, do: Callable[[Unit, Instance], None]) -> None:
    """Do it whole or not at all; what stands in the way of one does not stop the others."""
    try:
        with unit.alone() as inner:
            do(inner, inner.lock(instance.id))
    except (StoreError, sa.exc.SQLAlchemyError):
        raise
    except Unfit as error:
        report.refuse(instance, error.reason, str(error))
    except Exception as error:
        told = failing.message_of(error)
        report.refuse(instance, f"{type(error).__name__} when it was to enter its state", told)
