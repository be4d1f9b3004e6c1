"""A worker's rounds: when one begins, how much it reads, and which claims the watcher looks at."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest

from interlock.machine import Go, Outcome
from interlock.worker import Task
from interlock.worker.claimer import OVERLAPS_FROM
from tests.support.waiting import eventually
from tests.worker.conftest import Opener
from tests.worker.live_engine import errand

MANY = 40
"""Claimed together, so they are claimed in place."""


class Asleep(Exception):
    """Raised instead of a pause."""


@pytest.mark.parametrize(
    ("running", "results", "waits"),
    [
        (OVERLAPS_FROM, OVERLAPS_FROM // 2, False),
        (OVERLAPS_FROM, OVERLAPS_FROM // 2 - 1, True),
        (OVERLAPS_FROM - 1, OVERLAPS_FROM // 2, True),
        (OVERLAPS_FROM - 1, OVERLAPS_FROM - 1, False),
        (1, 1, False),
    ],
)
def test_half_of_many_results_make_a_round_and_all_of_few(
    live_engine: Opener, monkeypatch: pytest.MonkeyPatch, running: int, results: int, waits: bool
) -> None:
    live = live_engine(errand())
    claimer = live.start_worker(queues=["none"]).claimer
    live.stop()

    def pause(seconds: float) -> None:
        raise Asleep

    claimer.running, claimer._results = set(range(running)), [None] * results  # type: ignore[arg-type,list-item]
    monkeypatch.setattr(time, "sleep", pause)
    try:
        if waits:
            with pytest.raises(Asleep):
                claimer._gather()
        else:
            claimer._gather()
    finally:
        claimer.running, claimer._results = set(), []


@pytest.mark.parametrize("changes", [True, False])
def test_rows_are_read_whole_while_results_need_it(live_engine: Opener, changes: bool) -> None:
    def work(task: Task[Any]) -> Outcome:
        return Go("done", data={"seen": 1} if changes else None)

    live = live_engine(errand(doing=work, todo=lambda _: Go("doing")))
    live.engine.create_many("errand", [{} for _ in range(MANY)])
    worker = live.start_worker(concurrency=MANY)
    eventually(lambda: worker.claimer.finished == 2 * MANY)
    assert worker.claimer.reads_whole == changes
    assert [row.data for row in live.engine.page(limit=MANY).instances] == [{"seen": 1} if changes else {}] * MANY


def test_the_handlers_of_a_batch_learn_that_they_were_stopped(live_engine: Opener) -> None:
    stopped, begun = threading.Semaphore(0), threading.Semaphore(0)

    def work(task: Task[Any]) -> Outcome:
        begun.release()
        while not task.cancelled:
            time.sleep(0.005)
        stopped.release()
        return Go("doing")

    live = live_engine(errand(todo=work))
    live.engine.create_many("errand", [{} for _ in range(20)])
    live.start_worker(concurrency=20)
    assert all(begun.acquire(timeout=10) for _ in range(20))
    holder = live.engine.page().instances[0].holder
    assert holder is not None
    live.engine.take_back([holder])
    assert all(stopped.acquire(timeout=10) for _ in range(20))
