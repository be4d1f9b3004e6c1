"""A clock that steps back, or jumps ahead: history stays in order, and nothing runs twice."""

from __future__ import annotations

import threading
import time
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest

from interlock.engine import Engine, Fenced, workers
from interlock.machine import Again, Go, Work
from interlock.store import SECOND, Store, SystemClock
from interlock.testing import VirtualClock
from interlock.worker import Task
from interlock.worker.loop import Identity
from interlock.worker.sweeper import Sweeper
from tests.support.waiting import eventually
from tests.worker.conftest import Opener
from tests.worker.live_engine import Hiccup, errand

HOUR = timedelta(hours=1)


def test_history_stays_in_order_when_the_clock_steps_back_between_two_steps(live_engine: Opener) -> None:
    clock = VirtualClock()

    def step_back(task: Task[Any]) -> Go:
        clock.step_back(HOUR)
        return Go("doing")

    live = live_engine(errand(todo=step_back), clock=clock)
    it = live.create()
    live.start_worker(lease=timedelta(days=1))
    clock.advance(timedelta(seconds=1))
    live.reaches(it, "done")
    rows = live.engine.history(it)
    assert [row.at for row in rows] == sorted(row.at for row in rows)
    assert [row.seq for row in rows] == [1, 2, 3]
    assert live.engine.verify(it).problems == ()


def test_nothing_runs_twice_when_the_clock_steps_back_while_a_handler_runs(live_engine: Opener) -> None:
    clock = VirtualClock()
    begun, end = threading.Event(), threading.Event()
    runs: list[int] = []

    def work(task: Task[Any]) -> Go:
        runs.append(task.fence)
        begun.set()
        end.wait(20)
        return Go("done")

    live = live_engine(errand(todo=work), clock=clock)
    one, two = live.start_worker(lease=timedelta(days=1)), live.start_worker(lease=timedelta(days=1))
    it = live.create()
    assert begun.wait(10)
    clock.step_back(HOUR)
    seen = one.sweeper.rounds, two.sweeper.rounds, one.watcher.rounds
    eventually(lambda: one.sweeper.rounds > seen[0] + 3 and two.sweeper.rounds > seen[1] + 3)
    eventually(lambda: one.watcher.rounds > seen[2] + 1)
    end.set()
    clock.advance(timedelta(seconds=1))
    live.reaches(it, "done")
    assert runs == [1]


def test_work_that_was_due_before_the_clock_stepped_back_is_done_when_it_is_due_again(live_engine: Opener) -> None:
    """Late, and not never."""
    clock = VirtualClock()
    runs: list[int] = []

    def work(task: Task[Any]) -> Go | Again:
        runs.append(task.attempt)
        return Go("done") if len(runs) > 1 else Again(timedelta(minutes=1))

    live = live_engine(errand(todo=work), clock=clock)
    it = live.create()
    live.start_worker(lease=timedelta(days=1))
    eventually(lambda: "again" in live.kinds(it))
    clock.step_back(HOUR)
    clock.advance(HOUR + timedelta(minutes=1))
    live.reaches(it, "done")
    assert runs == [1, 1]


def test_a_retry_waits_for_its_time_again_after_the_clock_stepped_back(live_engine: Opener) -> None:
    clock = VirtualClock()
    runs: list[int] = []

    def work(task: Task[Any]) -> Go:
        runs.append(task.attempt)
        if task.attempt == 1:
            clock.step_back(HOUR)
            raise Hiccup("once")
        return Go("done")

    live = live_engine(errand(todo=work), clock=clock)
    it = live.create()
    live.start_worker(lease=timedelta(days=1))
    eventually(lambda: "failed" in live.kinds(it))
    clock.advance(timedelta(seconds=1))
    live.reaches(it, "done")
    assert runs == [1, 2]


def test_a_late_result_from_before_the_step_back_is_still_fenced_off(live_engine: Opener) -> None:
    clock = VirtualClock()
    begun, end = threading.Event(), threading.Event()
    box: list[BaseException] = []

    def work(task: Task[Any]) -> Go:
        if task.fence == 1:
            begun.set()
            end.wait(20)
            try:
                task.save({"late": True})
            except Fenced as error:
                box.append(error)
            return Go("waiting")
        return Go("done")

    live = live_engine(errand(todo=Work(work, timedelta(minutes=10))), clock=clock)
    worker = live.start_worker(lease=timedelta(days=1))
    it = live.create()
    assert begun.wait(10)
    live.engine.take_back([worker.id])
    clock.step_back(HOUR)
    clock.advance(HOUR + timedelta(seconds=1))
    end.set()
    live.reaches(it, "done")
    assert isinstance(box[0], Fenced)
    assert live.get(it).data == {}


def test_within_a_process_time_never_goes_back() -> None:
    clock = SystemClock()
    before = clock.now()
    clock.correct(-3_600_000_000)
    assert clock.now() >= before
    clock.correct(0)
    assert clock.now() > before


def test_when_the_machines_clock_jumps_the_databases_stays_the_one_of_record(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = SystemClock()
    before, real, hour = clock.now(), time.time_ns, 3600 * SECOND
    monkeypatch.setattr("interlock.store.clock.time.time_ns", lambda: real() + hour * 1000)
    assert clock.now() - before < 60 * SECOND
    clock.correct(-hour)  # as the database says at the next look
    assert clock.now() - before < 60 * SECOND
    clock.correct(0)
    assert clock.now() - before >= hour


def test_a_clock_that_steps_ahead_a_day_ends_no_handler_and_no_worker(live_engine: Opener) -> None:
    clock = VirtualClock()
    begun, end = threading.Event(), threading.Event()

    def work(task: Task[Any]) -> Go:
        begun.set()
        end.wait(20)
        return Go("done")

    live = live_engine(errand(todo=Work(work, timedelta(hours=1))), clock=clock)
    one, two = live.start_worker(), live.start_worker()
    eventually(lambda: live.beats(one) and live.beats(two))
    it = live.create()
    assert begun.wait(10)
    clock.step_ahead(timedelta(days=1))
    seen = one.sweeper.rounds, two.sweeper.rounds, one.watcher.rounds, two.watcher.rounds
    eventually(lambda: one.sweeper.rounds > seen[0] + 2 and two.sweeper.rounds > seen[1] + 2)
    eventually(lambda: one.watcher.rounds > seen[2] + 1 and two.watcher.rounds > seen[3] + 1)
    end.set()
    live.reaches(it, "done")
    assert live.kinds(it) == ["created", "moved"]
    assert len(live.engine.read(workers.alive)) == 2


class Times:
    """The two clocks of a machine, both set by the test, in seconds."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.wall, self.since_start = 1_800_000_000.0, 500.0
        monkeypatch.setattr("interlock.store.clock.time.time_ns", lambda: round(self.wall * 1e9))
        monkeypatch.setattr("interlock.store.clock.time.monotonic_ns", lambda: round(self.since_start * 1e9))
        monkeypatch.setattr("interlock.store.clock.time.monotonic", lambda: self.since_start)

    def pass_(self, seconds: float) -> None:
        self.wall += seconds
        self.since_start += seconds


def test_a_clock_set_back_an_hour_goes_on_slower_until_the_other_has_caught_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    times = Times(monkeypatch)
    clock = SystemClock()
    before = clock.now()
    times.wall -= 3600
    clock.correct(0)
    assert clock.now() == before
    times.pass_(60)
    assert clock.now() - before == 45 * SECOND
    clock.correct(0)  # each heartbeat looks again
    assert clock.now() - before == 45 * SECOND
    for _ in range(5 * 3600 // 5):
        times.pass_(5)
        clock.correct(0)
    assert clock.now() == round(times.wall * SECOND)


def test_a_clock_that_had_been_years_ahead_is_set_right_and_says_so(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    times = Times(monkeypatch)
    times.wall += 3 * 365 * 86400
    clock = SystemClock()
    clock.now()
    times.wall -= 3 * 365 * 86400
    clock.correct(0)
    assert clock.now() == round(times.wall * SECOND)
    assert "is 1095 days, 0:00:00 behind what it said before" in caplog.text


def test_a_process_that_starts_after_a_step_back_goes_on_from_where_the_record_is(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was ready before the step is ready after it."""
    real = time.time_ns
    first = Engine(store, [errand()])
    it = first.create("errand").id
    monkeypatch.setattr("interlock.store.clock.time.time_ns", lambda: real() - 3600 * 10**9)
    monkeypatch.setattr(store, "clock_offset", lambda: 0)
    again = Engine(store, [errand()])
    assert [claim.id for claim in again.claim(uuid4(), ["errand"], 5)] == [it]


def test_the_moments_of_others_count_only_by_a_clock_that_was_not_just_set(live_engine: Opener) -> None:
    clock = VirtualClock()
    live = live_engine(errand(), clock=clock)
    other = uuid4()
    live.store.write(
        lambda conn: workers.start(conn, clock.now(), other, host="h", pid=1, queues=["errand"], lock_file=None)
    )
    live.store.write(lambda conn: workers.beat(conn, clock.now(), other))
    it = live.create()
    assert live.engine.claim(other, ["errand"], 1)
    sweeper = Sweeper(live.engine, Identity(uuid4()))
    clock.step_ahead(timedelta(days=1))
    sweeper.once()
    assert live.get(it).holder == other
    clock.advance(timedelta(seconds=20))  # by now it would have beaten, or has stopped
    sweeper.once()
    assert live.get(it).holder is None
    assert live.kinds(it)[-1] == "lost"


def test_a_process_on_a_machine_whose_clock_is_ahead_follows_the_database_from_its_first_look(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    times = Times(monkeypatch)
    clock = SystemClock()
    clock.correct(-3600 * SECOND)
    assert clock.now() == round((times.wall - 3600) * SECOND)
