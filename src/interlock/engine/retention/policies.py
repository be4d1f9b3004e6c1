"""Retention: archives and removes instances that ended long ago, a few at a time while others work.

A run reads each state of each machine by id. Ids grow with time, so it stops at the first one that was created after
the limit: young instances are never read. Each batch is on the disk before it is removed, so a crash in between
archives it twice and loses nothing. A named lease lets one process do it at a time; a second one would do no harm.
"""

from __future__ import annotations

import hashlib
import os
import platform
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import UUID

import sqlalchemy as sa
from uuid_utils.compat import uuid7

from interlock.config import Settings
from interlock.config.settings import length
from interlock.engine import artifacts
from interlock.engine.audit.purges import NOBODY, START, permit
from interlock.engine.errors import LeaseTaken, is_item_error
from interlock.engine.retention import archive, removing
from interlock.engine.text import canonical, shortened
from interlock.engine.unit import Unit
from interlock.engine.versions import adapting
from interlock.machine import SYSTEM, Actor, Kind
from interlock.store import Micros, StoreBusy, failpoints, partitions, retention_tables, span
from interlock.store import service_tables as s
from interlock.store import tables as t
from interlock.store.columns import metadata

if TYPE_CHECKING:
    from interlock.engine.engine import Engine

I, H = t.instance, t.history  # noqa: E741
ACTOR = Actor(SYSTEM, "retention")
LEASE = "interlock/retention"
LEASE_TTL = timedelta(minutes=5)
LOOK = 500
"""Instances per read."""
BATCH, MOST_ROWS = 100, 10_000
"""Instances per transaction, and the history rows that they may have together."""
BROKEN = "its chain does not verify: look into it first"
UNREADABLE = "it cannot be read: look into it first"


@dataclass(frozen=True, slots=True)
class Policy:
    """How long ended instances and old rows are kept; None: forever."""

    folder: Path
    default: Micros | None = None
    machines: Mapping[str, Micros | None] = field(default_factory=dict)
    rows: Mapping[str, Micros] = field(default_factory=dict)
    """By the name of a table whose rows are removed by age."""

    @classmethod
    def of(cls, settings: Settings) -> Policy:
        wanted = settings.retention
        ages = {
            "delivery": wanted.messages,
            "outbox": wanted.messages,
            "alert": wanted.alerts,
            "action": wanted.actions,
            "ai_answer": wanted.answers,
        }
        return cls(
            wanted.folder or settings.data / "retention",
            _micros(wanted.default),
            {name: _micros(age) for name, age in wanted.machines.items()},
            {name: found for name, age in ages.items() if (found := _micros(age)) is not None},
        )

    def of_machine(self, name: str) -> Micros | None:
        return self.machines.get(name, self.default)

    @property
    def wanted(self) -> bool:
        """Whether anything is ever removed."""
        return bool(self.rows) or any(age is not None for age in (self.default, *self.machines.values()))


def _micros(age: str) -> Micros | None:
    found = length(age)
    return span(found) if found is not None else None


class Scope(NamedTuple):
    """A state of a machine, and the time before which instances that ended there are removed."""

    machine: str
    state: str
    before: Micros


def scopes(conn: sa.Connection, policy: Policy, now: Micros) -> list[Scope]:
    """Every machine and state with an instance, in which one may end. They are found by skipping through the index.

    States in which instances only work or wait are not read, however many there are.
    """
    found: list[Scope] = []
    machine = _next(conn, I.c.machine)
    while machine is not None:
        age = policy.of_machine(machine)
        goes_on = _goes_on(conn, machine) if age is not None else set()
        state = _next(conn, I.c.state, I.c.machine == machine) if age is not None else None
        while state is not None:
            assert age is not None
            if state not in goes_on:
                found.append(Scope(machine, state, now - age))
            state = _next(conn, I.c.state, I.c.machine == machine, I.c.state > state)
        machine = _next(conn, I.c.machine, I.c.machine > machine)
    return found


def _goes_on(conn: sa.Connection, machine: str) -> set[str]:
    """States in which instances work or wait, in all versions."""
    kinds = [kind for version in adapting.versions(conn, machine).values() for kind in version.kinds.items()]
    ends = {state for state, kind in kinds if kind not in (Kind.WORK, Kind.WAITING)}
    return {state for state, _ in kinds} - ends


def _next(conn: sa.Connection, column: sa.Column[Any], *where: sa.ColumnElement[bool]) -> str | None:
    order = (I.c.machine, I.c.state)
    row = conn.execute(sa.select(column).where(*where).order_by(*order).limit(1)).first()
    return row[0] if row is not None else None


@dataclass(frozen=True, slots=True)
class Candidates:
    """The result of one read: instances that may be removed with their number of rows, and why others may not."""

    ready: tuple[tuple[UUID, int], ...]
    held_back: Mapping[UUID, str]
    last: UUID | None
    """Where the next read begins; None at the end."""


def find_candidates(conn: sa.Connection, scope: Scope, after: UUID | None, limit: int = LOOK) -> Candidates:
    columns = (I.c.id, I.c.root, I.c.seq, I.c.created_at, I.c.finished_at, removing.ENDED.label("still"))
    # In the order of the index: for one state and the lowest ids, PostgreSQL may scan all ids.
    query = sa.select(*columns).where(I.c.machine == scope.machine, I.c.state.between(scope.state, scope.state))
    if after is not None:
        query = query.where(I.c.id > after)
    rows = conn.execute(query.order_by(I.c.state, I.c.id).limit(limit)).all()
    old = [row for row in rows if row.finished_at is not None and row.finished_at <= scope.before]
    back = removing.held_back(conn, {row.id: row.root for row in old})
    back |= {row.id: "something is due automatically" for row in old if not row.still and row.id not in back}
    young = all(row.created_at > scope.before for row in rows)
    return Candidates(
        tuple((row.id, row.seq) for row in old if row.id not in back),
        back,
        None if young or len(rows) < limit else rows[-1].id,
    )


def batches(ready: Sequence[tuple[UUID, int]]) -> Iterator[list[UUID]]:
    """Small batches, so that nobody waits for long."""
    batch: list[UUID] = []
    rows = 0
    for one, its_rows in ready:
        if batch and (len(batch) >= BATCH or rows + its_rows > MOST_ROWS):
            yield batch
            batch, rows = [], 0
        batch.append(one)
        rows += its_rows
    if batch:
        yield batch


@dataclass
class Report:
    """What a run did, or would do."""

    instances: Counter[str] = field(default_factory=Counter)
    """Removed, by machine."""
    rows: Counter[str] = field(default_factory=Counter)
    """Removed by age, by table."""
    held_back: Counter[str] = field(default_factory=Counter)
    """Old enough and not removed, by reason."""
    files: list[Path] = field(default_factory=list)
    months: list[str] = field(default_factory=list)
    """Partitions of the history that were dropped."""
    busy: str = ""
    """The process that is doing it; then nothing was done here."""
    stopped: bool = False
    """Whether somebody stopped it before the end."""

    @property
    def total(self) -> int:
        return self.instances.total() + self.rows.total()


class Retention:
    """Archives and removes what ended long ago."""

    def __init__(self, engine: Engine, policy: Policy, *, actor: Actor = ACTOR) -> None:
        self._engine, self._policy, self._actor = engine, policy, actor
        self._more = False
        """Whether the last step left more of the same to do."""
        self._holder = f"{platform.node()}/{os.getpid()}/{uuid7().hex[-8:]}"

    def plan(self, progress: Callable[[Report], None] = lambda _: None) -> Report:
        """What a run would do now. It writes nothing."""
        report = Report()
        now = self._engine.clock.now()
        for scope, found in self._candidates(now):
            report.instances[scope.machine] += len(found.ready)
            report.held_back.update(found.held_back.values())
            progress(report)
        for name, condition in _by_age(self._policy, now):
            table = metadata.tables[name]
            query = sa.select(sa.func.count()).select_from(table).where(condition)
            report.rows[name] = self._engine.read(partial(_number, query=query))
        return report

    def run(
        self,
        progress: Callable[[Report], None] = lambda _: None,
        *,
        stopping: Callable[[], bool] = lambda: False,
        rest: Callable[[float], object] = lambda _: None,
    ) -> Report:
        """Archive and remove all that is old enough. `rest` is called between batches with the duration of the last."""
        report, engine = Report(), self._engine
        try:
            lease = engine.leases.take(LEASE, self._holder, LEASE_TTL)
        except LeaseTaken as taken:
            report.busy = str(taken)
            return report
        begun, error = engine.clock.now(), None
        archives: dict[str, archive.Archive] = {}
        try:
            for step in self._steps(begun, report, archives):
                before = engine.clock.steady()
                step()
                progress(report)
                if stopping():
                    report.stopped = True
                    break
                rest(engine.clock.steady() - before)
                lease = engine.leases.renew(lease, LEASE_TTL)
        except Exception as failure:
            error = shortened(f"{type(failure).__name__}: {failure}", 1000)
            raise
        finally:
            report.files = [path for one in archives.values() for path in one.files]
            if report.total or error:
                written = partial(_record_run, actor=self._actor, report=report, begun=begun, error=error)
                engine.write(written, name="retain")
            engine.leases.release(lease)
        return report

    def _steps(self, now: Micros, report: Report, archives: dict[str, archive.Archive]) -> Iterator[Callable[[], None]]:
        """The steps of a run, each a short transaction."""
        going = self._months_that_go(now)
        for scope, found in self._candidates(now):
            report.held_back.update(found.held_back.values())
            file = self._file(archives, scope.machine, now)
            for batch in batches(found.ready):
                yield partial(self._batch, scope, batch, file, report, going)
        for month in going:
            yield partial(self._drop, month, report)
        for name, condition in _by_age(self._policy, now):
            self._more = True
            while self._more:
                yield partial(self._rows, name, condition, self._file(archives, name, now), report)
        # Checked each time: a run that was stopped or killed may have left unused contents.
        self._more = self._engine.read(artifacts.unused)
        while self._more:
            yield self._contents

    def _file(self, archives: dict[str, archive.Archive], name: str, now: Micros) -> archive.Archive:
        return archives.setdefault(name, archive.Archive(self._policy.folder, name, now))

    def _candidates(self, now: Micros) -> Iterator[tuple[Scope, Candidates]]:
        for scope in self._engine.read(partial(scopes, policy=self._policy, now=now)):
            after: UUID | None = None
            while True:
                found = self._engine.read(partial(find_candidates, scope=scope, after=after))
                yield scope, found
                if found.last is None:
                    break
                after = found.last

    def _batch(
        self, scope: Scope, batch: list[UUID], file: archive.Archive, report: Report, going: list[partitions.Month]
    ) -> None:
        engine = self._engine
        records = []
        for record in engine.read(partial(archive.describe, ids=batch)):
            why = _kept_as_evidence(record)
            if why is None:
                records.append(record)
            else:
                report.held_back[why] += 1
        # A history in a month that will be dropped is not deleted row by row.
        whole = [r for r in records if any(month.has(r.id) for month in going)]
        single = [r for r in records if r not in whole]
        for some, leave in ((single, False), (whole, True)):
            if not some:
                continue
            path = file.add(record.line for record in some)
            failpoints.reach("retain:archived")
            reason = f"ended before the limit of the machine; archived in {path.name}"
            go = partial(removing.remove, records=some, actor=self._actor, reason=reason, leave_history=leave)
            gone = engine.write(go, name="retain")
            report.instances[scope.machine] += len(gone)

    def _rows(self, name: str, condition: sa.ColumnElement[bool], file: archive.Archive, report: Report) -> None:
        table = metadata.tables[name]
        key = list(table.primary_key.columns)
        query = sa.select(table).where(condition).order_by(*key).limit(LOOK)
        rows = self._engine.read(lambda conn: conn.execute(query).all())
        self._more = len(rows) == LOOK
        if not rows:
            return
        lines = [archive.line_of({"table": name, "row": archive.plain(row)}) for row in rows]
        if name != "ai_answer":  # answers of models can be asked for again, so they are not archived
            file.add(lines)
        failpoints.reach("retain:archived")
        keys = [tuple(row._mapping[column.name] for column in key) for row in rows]
        old = sa.delete(table).where(sa.tuple_(*key).in_(keys), condition)

        def go(unit: Unit) -> int:
            # Rows that checkpoints cover are removed with a purge; other tables need none.
            if name == "action":
                digest = hashlib.sha256(b"\n".join(lines)).digest()
                newest = max(row.at for row in rows)
                permit(unit, f"age:{name}", [(NOBODY, newest, START, digest)], self._actor, "older than its limit")
            return unit.conn.execute(old).rowcount

        report.rows[name] += self._engine.write(go, name="retain")

    def _contents(self) -> None:
        self._more = self._engine.write(artifacts.collect, name="retain") > 0

    # -- months of a partitioned history

    def _months_that_go(self, now: Micros) -> list[partitions.Month]:
        return self._engine.read(lambda conn: partitions.ended(conn, self._policy.of_machine, now))

    def _drop(self, month: partitions.Month, report: Report) -> None:
        try:
            if self._engine.store.schema(lambda conn: partitions.drop(conn, month)):
                report.months.append(month.name)
        except StoreBusy:
            return  # it would block others; the next round tries again


def _kept_as_evidence(record: archive.Record) -> str | None:
    """Why it must stay: somebody may have changed it. One that cannot be read does not stop the others."""
    try:
        return BROKEN if archive.problems(record) else None
    except BaseException as error:
        if not is_item_error(error):
            raise
        return UNREADABLE


def _number(conn: sa.Connection, query: sa.Select[int]) -> int:
    return int(conn.execute(query).scalar_one())


def _by_age(policy: Policy, now: Micros) -> Iterator[tuple[str, sa.ColumnElement[bool]]]:
    """Tables that are removed by age, in an order that leaves no orphans."""
    for name, age in policy.rows.items():
        before = now - age
        match name:
            case "delivery":
                # Rows of an instance are removed with it.
                own = sa.exists().where(t.outbox.c.id == s.delivery.c.outbox_id, t.outbox.c.instance_id.is_not(None))
                yield name, sa.and_(s.delivery.c.at <= before, ~own)
            case "outbox":
                o = t.outbox.c
                done = o.status.in_(("delivered", "discarded"))
                yield name, sa.and_(o.instance_id.is_(None), done, sa.func.coalesce(o.settled_at, o.at) <= before)
            case "alert":
                yield name, sa.and_(s.alert.c.status == "closed", s.alert.c.closed_at <= before)
            case _:
                yield name, metadata.tables[name].c.at <= before


def _record_run(unit: Unit, actor: Actor, report: Report, begun: Micros, error: str | None) -> None:
    unit.insert(
        retention_tables.retention_run,
        actor=str(actor),
        instances=report.instances.total(),
        rows=canonical(dict(report.rows)),
        kept_back=canonical(dict(report.held_back)),
        files=canonical([path.name for path in report.files]),
        error=error,
        started_at=begun,
        ended_at=unit.now,
    )
