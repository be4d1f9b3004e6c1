"""An engine with real workers, in real time; `interlock.testing.Trial` runs handlers itself, on a virtual clock."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import Any
from uuid import UUID

import sqlalchemy as sa
from pydantic import BaseModel

from interlock.engine import DeadLetter, Engine, HistoryRow, Instance, workers
from interlock.machine import (
    FINAL,
    USER,
    WAITING,
    Arm,
    Failures,
    Go,
    Machine,
    Patch,
    Review,
    Rule,
    State,
    Transition,
    Work,
    WorkError,
    fixed,
)
from interlock.store import Clock, Store
from interlock.testing import broken_laws
from interlock.worker import Task, Worker
from interlock.worker.loop import Loop
from tests.support.waiting import PATIENCE, eventually

HARDLY = fixed(timedelta(milliseconds=1))
IN_THE_WAY = "in_the_way"


class Hiccup(WorkError):
    """A failure that is tried twice more, almost at once."""


def errand(
    *,
    name: str = "errand",
    todo: Callable[..., Any] | Work | None = None,
    doing: Callable[..., Any] | Work | None = None,
    data: type[BaseModel] | None = None,
    failures: Failures | None = None,
    reviews: Sequence[Review] = (),
) -> Machine:
    """Two steps of work, a state that waits, and a person who may withdraw it. Most errors are final at once."""
    machine = Machine(
        name,
        initial="todo",
        states=[
            State("todo"),
            State("doing"),
            State("waiting", WAITING, waits_for="somebody who asks"),
            State("done", FINAL),
            State("withdrawn", FINAL),
        ],
        transitions=[
            Transition("todo", "doing", on="begin"),
            Transition(("todo", "doing"), "waiting", on="wait"),
            Transition(("todo", "doing", "waiting"), "done", on="finish"),
            Transition(("todo", "doing", "waiting"), "withdrawn", on="withdraw", by=USER),
        ],
        arms=[Arm("waiting", on="ask")],
        failures=failures
        or Failures(
            rules=(Rule((Hiccup,), retries=2, backoff=HARDLY),),
            otherwise=Rule((Exception,), retries=0),
        ),
        data=data,
        reviews=reviews,
        cancel="withdrawn",
    )
    return machine.with_handlers({"todo": todo or finish, "doing": doing or finish, "waiting": finish})


def finish(_: Task[Any]) -> Go:
    return Go("done")


def another_round(loop: Loop) -> None:
    """Wait for a round that began after this call."""
    before = loop.rounds

    def ended() -> bool:
        loop.wake()
        return loop.rounds > before + 1  # the first may have begun earlier

    eventually(ended)


class LiveEngine:
    """An engine on the test's database, and workers that are stopped at its end."""

    def __init__(self, store: Store, machines: Machine | Sequence[Machine], *, clock: Clock | None = None) -> None:
        self.store = store
        declared = [machines] if isinstance(machines, Machine) else list(machines)
        self.machine = declared[0].name
        self.engine = Engine(store, declared, clock=clock, seed=1)
        self.workers: list[Worker] = []

    def start_worker(self, **options: Any) -> Worker:
        """Start a worker; it looks for lost ones more often than in real life."""
        chosen = {"concurrency": 4, "sweep_every": 0.05, "lease": timedelta(seconds=20), **options}
        worker = Worker(self.engine, **chosen).start()
        self.workers.append(worker)
        return worker

    def create(self, data: Patch = None, **options: Any) -> UUID:
        return self.engine.create(self.machine, data, **options).id

    def get(self, instance_id: UUID) -> Instance:
        return self.engine.get(instance_id)

    def reaches(self, instance_id: UUID, state: str, *, within: float = PATIENCE) -> Instance:
        """Wait until the instance is there."""
        eventually(
            lambda: self.get(instance_id).state == state,
            within=within,
            what=lambda: f"for {state!r}: {self.engine.explain(instance_id)} {self.kinds(instance_id)}",
        )
        return self.get(instance_id)

    def fails(self, instance_id: UUID, *, within: float = PATIENCE) -> DeadLetter:
        """Wait until the instance is a dead letter; the letter."""
        return eventually(
            lambda: self.letter(instance_id), within=within, what=lambda: f"{self.engine.explain(instance_id)}"
        )

    def letter(self, instance_id: UUID) -> Any:
        return next((one for one in self.engine.dead_letters.find() if one.instance_id == instance_id), None)

    def kinds(self, instance_id: UUID) -> list[str]:
        return [row.kind for row in self.engine.history(instance_id)]

    def rows(self, instance_id: UUID, kind: str) -> list[HistoryRow]:
        return [row for row in self.engine.history(instance_id) if row.kind == kind]

    def beats(self, worker: Worker) -> int:
        return next(row.beats for row in self.engine.read(workers.alive) if row.id == worker.id)

    def refuse(self, table: str, when: str, verb: str = "INSERT") -> None:
        """Make the database refuse such rows, until `allow` is called."""
        self.store.write(lambda conn: _refuse(conn, table, when, verb))

    def allow(self, table: str) -> None:
        on_table = f" ON {table}" if self.store.dialect == "postgresql" else ""
        self.store.write(lambda conn: conn.exec_driver_sql(f"DROP TRIGGER {IN_THE_WAY}{on_table}"))

    def stop(self) -> None:
        while self.workers:
            self.workers.pop().stop(timeout=0.2)

    def laws_hold(self) -> None:
        assert broken_laws(self.engine) == []


@contextmanager
def live_engine_on(store: Store, machine: Machine) -> Iterator[LiveEngine]:
    """On a store of the test's own, which is closed at the end."""
    live = LiveEngine(store, machine)
    try:
        yield live
        live.stop()
        live.laws_hold()
    finally:
        live.stop()
        store.close()


def _refuse(conn: sa.Connection, table: str, when: str, verb: str) -> None:
    if conn.dialect.name == "sqlite":
        conn.exec_driver_sql(
            f"CREATE TRIGGER {IN_THE_WAY} BEFORE {verb} ON {table} WHEN {when} "
            "BEGIN SELECT RAISE(ABORT, 'refused by the test'); END"
        )
        return
    conn.exec_driver_sql(
        f"CREATE OR REPLACE FUNCTION {IN_THE_WAY}() RETURNS trigger LANGUAGE plpgsql AS "
        "$$ BEGIN RAISE EXCEPTION 'refused by the test'; END $$"
    )
    conn.exec_driver_sql(
        f"CREATE TRIGGER {IN_THE_WAY} BEFORE {verb} ON {table} FOR EACH ROW WHEN ({when}) "
        f"EXECUTE FUNCTION {IN_THE_WAY}()"
    )
