"""The loops of messages, schedules and bulk actions: they wake, they share, and they survive being killed."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TypeVar

import pytest
import sqlalchemy as sa

from interlock.engine import Engine, pausing
from interlock.engine.listing import Where
from interlock.engine.schedules import ScheduleSpec
from interlock.store import SystemClock, service_tables
from interlock.testing import VirtualClock, broken_laws
from interlock.worker.bulker import Bulker
from interlock.worker.deliverer import Deliverer
from interlock.worker.loop import Loop
from interlock.worker.scheduler import Scheduler
from tests.support.machines import ANN
from tests.support.racing import race
from tests.support.waiting import eventually
from tests.worker.killed_loop import Book, Orders, die

L = TypeVar("L", bound=Loop)
SIDES = pytest.mark.parametrize("side", ["before", "after"])


class Later(SystemClock):
    """A clock that is an hour ahead: leases have ended, and schedules are due."""

    def now(self) -> int:
        return super().now() + 3_600_000_000


@pytest.fixture
def running() -> Iterator[Callable[[L], L]]:
    """Starts loops and stops them at the end."""
    started: list[Loop] = []

    def start(loop: L) -> L:
        loop.start()
        started.append(loop)
        return loop

    yield start
    for loop in started:
        loop.stop()
    for loop in started:
        loop.join(20)


Start = Callable[[L], L]
Opener = Callable[..., Engine]


# -- waking


def test_the_scheduler_starts_what_is_due_by_itself(engines: Opener, running: Start[Scheduler]) -> None:
    engine = engines()
    engine.schedules.put(ScheduleSpec("often", "parcel", "* * * * * *"), actor=ANN)
    running(Scheduler(engine))
    eventually(lambda: engine.page().instances)


def test_the_scheduler_hears_of_a_schedule_that_is_new(engines: Opener, running: Start[Scheduler]) -> None:
    engine = engines()
    loop = running(_deaf_to_time(Scheduler(engine)))
    eventually(lambda: loop.rounds == 1)
    engine.schedules.put(ScheduleSpec("often", "parcel", "* * * * * *"), actor=ANN)
    eventually(lambda: engine.page().instances)


def _deaf_to_time(loop: L) -> L:
    """It looks again only when it is asked to."""
    loop.pause = 600
    return loop


def test_the_scheduler_sleeps_until_something_is_due_and_five_seconds_at_most(engines: Opener) -> None:
    clock = VirtualClock(datetime(2026, 1, 5, 9, 0, 57, tzinfo=UTC))
    engine = engines(clock)
    loop = Scheduler(engine)
    loop.once()
    assert loop.wait() == 5
    engine.schedules.put(ScheduleSpec("minutely", "parcel", "* * * * *"), actor=ANN)
    assert not loop.once()
    assert loop.wait() == 3
    clock.advance(timedelta(seconds=3))
    assert loop.once()
    assert not loop.once()
    assert loop.wait() == 5
    engine.schedules.pause("minutely", actor=ANN)
    clock.advance(timedelta(minutes=5))
    assert not loop.once()


def test_the_bulker_hears_of_an_action_and_does_all_its_batches(engines: Opener, running: Start[Bulker]) -> None:
    engine = engines()
    engine.create_many("parcel", [{} for _ in range(25)])
    loop = running(_deaf_to_time(Bulker(engine, batch=10)))
    eventually(lambda: loop.rounds == 1)
    made = engine.bulk.start("instances", "pause", Where(machine="parcel"), actor=ANN)
    eventually(lambda: engine.bulk.get(made.id).status == "done")
    assert engine.bulk.get(made.id).done == 25


def test_a_loop_that_was_stopped_does_not_listen_any_more(engines: Opener) -> None:
    engine = engines()
    loops: list[Loop] = [Scheduler(engine), Bulker(engine), Deliverer(engine, {})]
    before = len(engine.store._hints)
    for loop in loops:
        loop.start()
    assert len(engine.store._hints) == before + 3
    for loop in loops:
        loop.stop()
        loop.join(20)
        loop.stop()  # twice changes nothing
    assert len(engine.store._hints) == before


def test_two_that_work_at_a_bulk_action_do_each_item_once(engines: Opener) -> None:
    both = [engines(), engines()]
    ids = both[0].create_many("parcel", [{} for _ in range(60)])
    both[0].write(lambda unit: [pausing.pause(unit, instance_id, ANN) for instance_id in ids])
    made = both[0].bulk.start("instances", "resume", Where(machine="parcel"), actor=ANN)
    while any(race(2, lambda n: both[n].bulk.step(7))):
        pass
    found = both[0].bulk.get(made.id)
    assert (found.status, found.done, found.refused) == ("done", 60, 0), "resumed twice would be refused"
    for instance_id in ids:
        assert [row.kind for row in both[0].history(instance_id)] == ["created", "paused", "resumed"]


# -- killed in the middle


@pytest.mark.soak("postgresql")
@SIDES
def test_a_bulk_action_killed_in_the_middle_does_no_item_twice(
    engines: Opener, url: str, tmp_path: Path, side: str
) -> None:
    engine = engines()
    ids = engine.create_many("parcel", [{} for _ in range(45)])
    engine.write(lambda unit: [pausing.pause(unit, instance_id, ANN) for instance_id in ids])
    made = engine.bulk.start("instances", "resume", Where(paused=True), actor=ANN)
    die(Orders(url, "bulker", f"bulk:{side}", 2, tmp_path / "book"))
    found = engine.bulk.get(made.id)
    assert (found.status, found.done) == ("running", 10 if side == "before" else 20)
    while engine.bulk.step(10) is not None:
        pass
    found = engine.bulk.get(made.id)
    assert (found.status, found.done, found.refused) == ("done", 45, 0)
    for instance_id in ids:
        assert [row.kind for row in engine.history(instance_id)] == ["created", "paused", "resumed"]
    assert broken_laws(engine) == []


@SIDES
def test_a_scheduler_killed_in_the_middle_starts_no_run_twice_and_loses_none(
    engines: Opener, url: str, tmp_path: Path, side: str
) -> None:
    engine = engines()
    for n in range(30):  # two rounds of the scheduler
        engine.schedules.put(ScheduleSpec(f"s{n:02}", "parcel", "0 0 1 1 *"), actor=ANN)
    due = sa.update(service_tables.schedule).values(next_at=engine.clock.now())
    engine.store.write(lambda conn: conn.execute(due))
    die(Orders(url, "scheduler", f"due:{side}", 1, tmp_path / "book"))
    assert len(engine.page(limit=100).instances) == (0 if side == "before" else 20)
    while engine.schedules.due():
        pass
    started = Counter(json.loads(i.labels or "")["schedule"] for i in engine.page(limit=100).instances)
    assert started == {f"s{n:02}": 1 for n in range(30)}


@pytest.mark.parametrize(
    ("point", "twice"), [("take:before", 0), ("take:after", 0), ("settled:before", 8), ("settled:after", 8)]
)
def test_a_deliverer_killed_in_the_middle_loses_no_message(
    engines: Opener, running: Start[Deliverer], url: str, tmp_path: Path, point: str, twice: int
) -> None:
    names = [f"{n:02}@example.org" for n in range(20)]
    engine = engines()
    for name in names:
        engine.outbox.put("mail", name)
    book = Book(tmp_path / "book")
    die(Orders(url, "deliverer", point, 1, tmp_path / "book"))
    survivor = engines(Later())
    running(Deliverer(survivor, {"mail": book}))
    eventually(lambda: survivor.outbox.counts()["delivered"].n == 20)
    arrived = Counter(book.lines())
    assert set(arrived) == set(names), "each at least once"
    assert sum(arrived.values()) - 20 <= twice, "again only what was under way and nobody had written down"
    assert max(arrived.values()) <= 2
    if point == "settled:before":
        assert sum(arrived.values()) > 20
