"""Cancellation: a running handler learns within a second that its instance is no longer its own."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from interlock.engine import Fenced
from interlock.machine import USER, Actor, Go, Work
from interlock.worker import AsyncTask, Cancelled, Task
from interlock.worker.watcher import Watcher
from tests.support.waiting import eventually
from tests.worker.conftest import Opener
from tests.worker.live_engine import LiveEngine, errand

ADA = Actor(USER, "ada")


def pause(live: LiveEngine, it: UUID) -> None:
    live.engine.pause(it, actor=ADA, reason="not now")


def withdraw(live: LiveEngine, it: UUID) -> None:
    live.engine.fire(it, "withdraw", actor=ADA)


def cancel(live: LiveEngine, it: UUID) -> None:
    live.engine.cancel(it, actor=ADA)


def take_away(live: LiveEngine, it: UUID) -> None:
    """As if the others had given the worker up: another one works on it now."""
    holder = live.get(it).holder
    assert holder is not None
    live.engine.take_back([holder])


class Patient:
    """A handler that works until it is asked to stop."""

    def __init__(self) -> None:
        self.begun, self.ended = threading.Event(), threading.Event()
        self.raised: BaseException | None = None

    def plain(self, task: Task[Any]) -> Go:
        self.begun.set()
        while not task.cancelled:
            time.sleep(0.005)
        return self.end(task)

    async def awaited(self, task: AsyncTask[Any]) -> Go:
        self.begun.set()
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            self.end(task.task)
            raise
        return Go("done")

    def end(self, task: Task[Any]) -> Go:
        try:
            task.check()
        except Cancelled as error:
            self.raised = error
        self.ended.set()
        return Go("done")


@pytest.mark.parametrize("kind", ["plain", "awaited"])
@pytest.mark.parametrize("act", [pause, withdraw, cancel])
def test_a_running_handler_learns_that_a_person_stopped_it(
    live_engine: Opener, act: Callable[[LiveEngine, UUID], None], kind: str
) -> None:
    handler = Patient()
    live = live_engine(errand(todo=getattr(handler, kind)))
    worker = live.start_worker()
    it = live.create()
    assert handler.begun.wait(10)
    act(live, it)
    assert handler.ended.wait(20)
    assert isinstance(handler.raised, Cancelled)
    state, rows = live.get(it).state, len(live.engine.history(it))
    eventually(lambda: not worker.claimer.busy)
    assert (live.get(it).state, len(live.engine.history(it))) == (state, rows)


@pytest.mark.parametrize("kind", ["plain", "awaited"])
def test_a_running_handler_learns_that_it_lost_its_fence(live_engine: Opener, kind: str) -> None:
    handler = Patient()
    live = live_engine(errand(todo=getattr(handler, kind)))
    live.start_worker()
    it = live.create()
    assert handler.begun.wait(10)
    take_away(live, it)
    assert handler.ended.wait(20)


def test_a_worker_looks_for_lost_claims_more_often_than_once_a_second() -> None:
    assert Watcher.pause < 1.0


WRITES: dict[str, Callable[[Task[Any]], object]] = {
    "move": lambda task: task.move("doing"),
    "save": lambda task: task.save({"late": True}),
    "heartbeat": lambda task: task.heartbeat(),
    "progress": lambda task: task.progress(0.5),
    "keep": lambda task: task.keep("late", b"x"),
    "intend": lambda task: task.intend("late", {}),
    "once": lambda task: task.once("late", {}, lambda effect: pytest.fail("it was sent")),
}


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES.keys())
def test_a_handler_that_does_not_listen_can_write_nothing_more(
    live_engine: Opener, write: Callable[[Task[Any]], object]
) -> None:
    begun, go_on = threading.Event(), threading.Event()
    box: list[BaseException] = []

    def work(task: Task[Any]) -> Go:
        begun.set()
        go_on.wait(20)
        try:
            write(task)
        except BaseException as error:
            box.append(error)
        return Go("done")

    live = live_engine(errand(todo=work))
    worker = live.start_worker()
    it = live.create()
    assert begun.wait(10)
    withdraw(live, it)
    before = live.engine.history(it)
    go_on.set()
    eventually(lambda: not worker.claimer.busy)
    assert isinstance(box[0], Fenced)
    assert live.engine.history(it) == before
    assert live.engine.effects(it) == []
    assert live.engine.artifacts(it) == []


def test_the_answer_of_what_was_sent_is_kept_although_the_handler_was_stopped(live_engine: Opener) -> None:
    """What was learnt is never thrown away: the effect is confirmed, and somebody is asked to look at it."""
    sending, answer = threading.Event(), threading.Event()

    def send(_: Any) -> str:
        sending.set()
        answer.wait(20)
        return "it arrived"

    live = live_engine(errand(todo=lambda task: Go("done", {"answer": task.once("post", {}, send)})))
    worker = live.start_worker()
    it = live.create()
    assert sending.wait(10)
    withdraw(live, it)
    answer.set()
    eventually(lambda: not worker.claimer.busy)
    effect = live.engine.effects(it)[0]
    assert (effect.status, effect.answer) == ("confirmed", "it arrived")
    assert [review.name for review in live.engine.reviews.waiting(instance_id=it)] == ["late_answer"]
    assert live.get(it).state == "withdrawn"


def test_after_a_pause_the_work_is_done_anew_and_costs_no_attempt(live_engine: Opener) -> None:
    attempts: list[int] = []
    begun = threading.Event()

    def work(task: Task[Any]) -> Go:
        attempts.append(task.attempt)
        if len(attempts) == 1:
            begun.set()
            while not task.cancelled:
                time.sleep(0.005)
        return Go("done")

    live = live_engine(errand(todo=work))
    live.start_worker()
    it = live.create()
    assert begun.wait(10)
    pause(live, it)
    live.engine.resume(it, actor=ADA)
    live.reaches(it, "done")
    assert attempts == [1, 1]


def test_a_handler_that_ignores_its_withdrawal_frees_its_hand_at_its_time_limit(live_engine: Opener) -> None:
    begun, never = threading.Event(), threading.Event()

    def work(task: Task[dict[str, Any]]) -> Go:
        if task.data.get("deaf"):
            begun.set()
            never.wait(60)
        return Go("done")

    live = live_engine(errand(todo=Work(work, timedelta(seconds=1))))
    live.start_worker(concurrency=1)
    it = live.create({"deaf": True})
    assert begun.wait(10)
    withdraw(live, it)
    live.reaches(live.create(), "done", within=10)
    assert live.get(it).state == "withdrawn"
    assert live.letter(it) is None
    never.set()
