"""A clock that steps back, or jumps ahead: history stays in order, and nothing runs twice."""

from __future__ import annotations

import threading
import time
from datetime import timedelta
from typing import Any

import pytest

from interlock.engine import Fenced
from interlock.machine import Again, Go, Work
from interlock.store import SECOND, SystemClock
from interlock.testing import VirtualClock
from interlock.worker import Task
from tests.worker.conftest import Opener
from tests.worker.waiting import eventually
from tests.worker.workshop import Hiccup, errand

HOUR = timedelta(hours=1)


def test_history_stays_in_order_when_the_clock_steps_back_between_two_steps(workshop: Opener) -> None:
    clock = VirtualClock()

    def step_back(task: Task[Any]) -> Go:
        clock.step_back(HOUR)
        return Go("doing")

    shop = workshop(errand(todo=step_back), clock=clock)
    it = shop.create()
    shop.open(lives=timedelta(days=1))
    clock.advance(timedelta(seconds=1))
    shop.reaches(it, "done")
    rows = shop.engine.history(it)
    assert [row.at for row in rows] == sorted(row.at for row in rows)
    assert [row.seq for row in rows] == [1, 2, 3]
    assert shop.engine.verify(it).problems == ()


def test_nothing_runs_twice_when_the_clock_steps_back_while_a_handler_runs(workshop: Opener) -> None:
    clock = VirtualClock()
    begun, end = threading.Event(), threading.Event()
    runs: list[int] = []

    def work(task: Task[Any]) -> Go:
        runs.append(task.fence)
        begun.set()
        end.wait(20)
        return Go("done")

    shop = workshop(errand(todo=work), clock=clock)
    one, two = shop.open(lives=timedelta(days=1)), shop.open(lives=timedelta(days=1))
    it = shop.create()
    assert begun.wait(10)
    clock.step_back(HOUR)
    seen = one.sweeper.rounds, two.sweeper.rounds, one.watcher.rounds
    eventually(lambda: one.sweeper.rounds > seen[0] + 3 and two.sweeper.rounds > seen[1] + 3)
    eventually(lambda: one.watcher.rounds > seen[2] + 1)
    end.set()
    clock.advance(timedelta(seconds=1))
    shop.reaches(it, "done")
    assert runs == [1]


def test_work_that_was_due_before_the_clock_stepped_back_is_done_when_it_is_due_again(workshop: Opener) -> None:
    """Late, and not never."""
    clock = VirtualClock()
    runs: list[int] = []

    def work(task: Task[Any]) -> Go | Again:
        runs.append(task.attempt)
        return Go("done") if len(runs) > 1 else Again(timedelta(minutes=1))

    shop = workshop(errand(todo=work), clock=clock)
    it = shop.create()
    shop.open(lives=timedelta(days=1))
    eventually(lambda: "again" in shop.kinds(it))
    clock.step_back(HOUR)
    clock.advance(HOUR + timedelta(minutes=1))
    shop.reaches(it, "done")
    assert runs == [1, 1]


def test_a_retry_waits_for_its_time_again_after_the_clock_stepped_back(workshop: Opener) -> None:
    clock = VirtualClock()
    runs: list[int] = []

    def work(task: Task[Any]) -> Go:
        runs.append(task.attempt)
        if task.attempt == 1:
            clock.step_back(HOUR)
            raise Hiccup("once")
        return Go("done")

    shop = workshop(errand(todo=work), clock=clock)
    it = shop.create()
    shop.open(lives=timedelta(days=1))
    eventually(lambda: "failed" in shop.kinds(it))
    clock.advance(timedelta(seconds=1))
    shop.reaches(it, "done")
    assert runs == [1, 2]


def test_a_late_result_from_before_the_step_back_is_still_fenced_off(workshop: Opener) -> None:
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

    shop = workshop(errand(todo=Work(work, timedelta(minutes=10))), clock=clock)
    worker = shop.open(lives=timedelta(days=1))
    it = shop.create()
    assert begun.wait(10)
    shop.engine.take_back([worker.id])
    clock.step_back(HOUR)
    clock.advance(HOUR + timedelta(seconds=1))
    end.set()
    shop.reaches(it, "done")
    assert isinstance(box[0], Fenced)
    assert shop.get(it).data == {}


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
