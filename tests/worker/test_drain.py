"""Draining: a worker that is stopped finishes what it can, gives back the rest, and costs nobody an attempt."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest

from interlock.engine import workers
from interlock.machine import Go
from interlock.testing import VirtualClock
from interlock.worker import AsyncTask, Task, Worker
from interlock.worker.claimer import Claimer
from interlock.worker.loop import Identity
from tests.support.waiting import eventually, took
from tests.worker.conftest import Opener
from tests.worker.live_engine import LiveEngine, another_round, errand


class Gate:
    """A handler that waits at a gate."""

    def __init__(self) -> None:
        self.begun, self.open = threading.Event(), threading.Event()
        self.attempts: list[int] = []

    def plain(self, task: Task[Any]) -> Go:
        self.attempts.append(task.attempt)
        self.begun.set()
        self.open.wait(30)
        return Go("done")

    async def awaited(self, task: AsyncTask[Any]) -> Go:
        self.attempts.append(task.attempt)
        self.begun.set()
        while not self.open.is_set():
            await asyncio.sleep(0.005)
        return Go("done")


def status(live: LiveEngine, worker: Any) -> str:
    return next(row.status for row in live.engine.read(workers.every) if row.id == worker)


@pytest.mark.parametrize("kind", ["plain", "awaited"])
def test_a_worker_that_stops_waits_for_its_handlers_and_writes_their_results(live_engine: Opener, kind: str) -> None:
    gate = Gate()
    live = live_engine(errand(todo=getattr(gate, kind)))
    worker = live.start_worker()
    it = live.create()
    assert gate.begun.wait(10)
    stopping = threading.Thread(target=worker.stop)
    stopping.start()
    eventually(lambda: status(live, worker.id) == "draining")
    gate.open.set()
    stopping.join(10)
    live.workers.clear()
    assert live.get(it).state == "done"
    assert status(live, worker.id) == "stopped"


def test_a_worker_that_stops_claims_nothing_more(live_engine: Opener) -> None:
    gate = Gate()
    live = live_engine(errand(todo=gate.plain))
    worker = live.start_worker(concurrency=2)
    live.create()
    assert gate.begun.wait(10)
    stopping = threading.Thread(target=worker.stop)
    stopping.start()
    eventually(lambda: status(live, worker.id) == "draining")
    later = live.create()
    gate.open.set()
    stopping.join(10)
    live.workers.clear()
    assert live.kinds(later) == ["created"]
    assert gate.attempts == [1]


@pytest.mark.parametrize("kind", ["plain", "awaited"])
def test_what_does_not_end_in_time_goes_back_without_a_lost_attempt(live_engine: Opener, kind: str) -> None:
    gate = Gate()
    live = live_engine(errand(todo=getattr(gate, kind)))
    worker = live.start_worker()
    it = live.create()
    assert gate.begun.wait(10)
    assert took(lambda: worker.stop(timeout=0.1)) < 5
    live.workers.clear()
    back = live.get(it)
    assert (back.wake, back.holder, back.failures) == ("work", None, {})
    assert live.kinds(it) == ["created", "given_back"]
    gate.open.set()
    live.start_worker()
    live.reaches(it, "done")
    assert gate.attempts == [1, 1]
    assert [row.payload.get("crash") for row in live.rows(it, "lost")] == []


def test_a_handler_that_ends_after_its_work_was_given_back_changes_nothing(live_engine: Opener) -> None:
    gate = Gate()
    live = live_engine(errand(todo=gate.plain))
    worker = live.start_worker()
    it = live.create()
    assert gate.begun.wait(10)
    worker.stop(timeout=0.05)
    live.workers.clear()
    before = live.engine.history(it)
    gate.open.set()
    eventually(lambda: not [t for t in threading.enumerate() if t.name == "interlock-handler" and t.is_alive()])
    assert live.engine.history(it) == before


def test_a_result_that_came_in_after_the_last_round_is_still_written(live_engine: Opener) -> None:
    live = live_engine(errand())
    worker = live.start_worker(queues=["nothing"])
    claimer = Claimer(live.engine, Identity(worker.id), ["errand"], 1, lambda: True)
    it = live.create()
    claimer.once()
    eventually(lambda: claimer._results)
    assert claimer.unfinished() == []
    claimer.write_rest()
    assert live.get(it).state == "done"
    claimer.runner.close()


def test_the_heart_beats_on_while_a_worker_drains(live_engine: Opener) -> None:
    """Otherwise the others would take away what it is about to finish."""
    gate = Gate()
    clock = VirtualClock()
    live = live_engine(errand(todo=gate.plain), clock=clock)
    worker = live.start_worker(lease=timedelta(seconds=1))
    it = live.create()
    assert gate.begun.wait(10)
    stopping = threading.Thread(target=worker.stop)
    stopping.start()
    eventually(lambda: status(live, worker.id) == "draining")
    watching = live.start_worker(queues=["nothing"])
    for _ in range(4):
        another_round(worker.heartbeat)
        clock.advance(timedelta(seconds=0.5))
        another_round(watching.sweeper)
    gate.open.set()
    stopping.join(10)
    assert live.get(it).state == "done"
    assert live.rows(it, "lost") == []
    live.workers = [watching]


def test_what_cannot_be_given_back_is_found_by_the_others(live_engine: Opener) -> None:
    """The database refuses to hear of it, so the worker does not call itself stopped."""
    gate = Gate()
    clock = VirtualClock()
    live = live_engine(errand(todo=gate.plain), clock=clock)
    worker = live.start_worker()
    it = live.create()
    assert gate.begun.wait(10)
    live.refuse("history", "NEW.kind = 'given_back'")
    worker.stop(timeout=0.05)
    assert status(live, worker.id) == "draining"
    live.allow("history")
    gate.open.set()
    live.workers.clear()
    clock.advance(timedelta(seconds=21))
    live.start_worker()
    live.reaches(it, "done")


def test_two_may_stop_a_worker_at_once(live_engine: Opener) -> None:
    """Such as a signal and the end of a `with` block."""
    gate = Gate()
    live = live_engine(errand(todo=gate.plain))
    with ThreadPoolExecutor(2) as pool:
        worker = live.start_worker()
        it = live.create()
        assert gate.begun.wait(10)
        calls = [pool.submit(worker.stop) for _ in range(2)]
        eventually(lambda: status(live, worker.id) == "draining")
        gate.open.set()
        for call in calls:
            call.result(10)
    worker.stop()
    assert live.get(it).state == "done"
    assert status(live, worker.id) == "stopped"


def test_a_worker_used_in_a_with_block_is_stopped_at_its_end(live_engine: Opener) -> None:
    live = live_engine(errand())
    it = live.create()
    with Worker(live.engine) as worker:
        live.reaches(it, "done")
    assert status(live, worker.id) == "stopped"


def test_nothing_of_a_worker_is_left_after_it_stopped(live_engine: Opener) -> None:
    live = live_engine(errand())
    before = {thread.name for thread in threading.enumerate()}
    worker = live.start_worker()
    live.reaches(live.create(), "done")
    worker.stop()
    live.workers.clear()
    ours = {"interlock-claimer", "interlock-heartbeat", "interlock-sweeper", "interlock-watcher", "interlock-handler"}
    eventually(lambda: not ({t.name for t in threading.enumerate()} - before) & ours)


def test_what_was_claimed_just_before_the_stop_is_seen_to_its_end(
    live_engine: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The claim is committed and its handler not started yet: given back now, the step would run twice."""
    gate = Gate()
    gate.open.set()
    live = live_engine(errand(todo=gate.plain))
    committed, go_on = threading.Event(), threading.Event()
    commit = Claimer._commit

    def slowly(*given: Any) -> Any:
        done, claims = commit(*given)
        if claims:
            committed.set()
            assert go_on.wait(10)
        return done, claims

    monkeypatch.setattr(Claimer, "_commit", slowly)  # before the first claim: one under way would pass it by
    worker = live.start_worker()
    it = live.create()
    assert committed.wait(10)
    stopping = threading.Thread(target=worker.stop)
    stopping.start()
    eventually(lambda: status(live, worker.id) == "draining")
    assert worker.claimer.busy
    go_on.set()
    stopping.join(10)
    live.workers.clear()
    assert (live.get(it).state, len(gate.attempts)) == ("done", 1)
    assert "given_back" not in live.kinds(it)
