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
from tests.support.waiting import eventually
from tests.worker.conftest import Opener
from tests.worker.workshop import Workshop, errand

ADA = Actor(USER, "ada")


def pause(shop: Workshop, it: UUID) -> None:
    shop.engine.pause(it, actor=ADA, reason="not now")


def withdraw(shop: Workshop, it: UUID) -> None:
    shop.engine.fire(it, "withdraw", actor=ADA)


def cancel(shop: Workshop, it: UUID) -> None:
    shop.engine.cancel(it, actor=ADA)


def take_away(shop: Workshop, it: UUID) -> None:
    """As if the others had given the worker up: another one works on it now."""
    holder = shop.get(it).holder
    assert holder is not None
    shop.engine.take_back([holder])


class Patient:
    """A handler that works until it is told to stop, and remembers when."""

    def __init__(self) -> None:
        self.begun, self.ended = threading.Event(), threading.Event()
        self.told_at = 0.0
        self.raised: BaseException | None = None

    def plain(self, task: Task[Any]) -> Go:
        self.begun.set()
        while not task.cancelled:
            time.sleep(0.005)
        return self.end(task)

    async def awaited(self, task: AsyncTask[Any]) -> Go:
        self.begun.set()
        try:
            await asyncio.sleep(30)
        except asyncio.CancelledError:
            self.end(task.task)
            raise
        return Go("done")

    def end(self, task: Task[Any]) -> Go:
        self.told_at = time.monotonic()
        try:
            task.check()
        except Cancelled as error:
            self.raised = error
        self.ended.set()
        return Go("done")


@pytest.mark.parametrize("kind", ["plain", "awaited"])
@pytest.mark.parametrize("act", [pause, withdraw, cancel])
def test_a_running_handler_learns_within_a_second_that_a_person_stopped_it(
    workshop: Opener, act: Callable[[Workshop, UUID], None], kind: str
) -> None:
    handler = Patient()
    shop = workshop(errand(todo=getattr(handler, kind)))
    worker = shop.open()
    it = shop.create()
    assert handler.begun.wait(10)
    act(shop, it)
    acted = time.monotonic()
    assert handler.ended.wait(10)
    assert handler.told_at - acted < 1.0
    assert isinstance(handler.raised, Cancelled)
    state, rows = shop.get(it).state, len(shop.engine.history(it))
    eventually(lambda: not worker.claimer.busy)
    assert (shop.get(it).state, len(shop.engine.history(it))) == (state, rows)


@pytest.mark.parametrize("kind", ["plain", "awaited"])
def test_a_running_handler_learns_within_a_second_that_it_lost_its_fence(workshop: Opener, kind: str) -> None:
    handler = Patient()
    shop = workshop(errand(todo=getattr(handler, kind)))
    shop.open()
    it = shop.create()
    assert handler.begun.wait(10)
    take_away(shop, it)
    acted = time.monotonic()
    assert handler.ended.wait(10)
    assert handler.told_at - acted < 1.0


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
    workshop: Opener, write: Callable[[Task[Any]], object]
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

    shop = workshop(errand(todo=work))
    worker = shop.open()
    it = shop.create()
    assert begun.wait(10)
    withdraw(shop, it)
    before = shop.engine.history(it)
    go_on.set()
    eventually(lambda: not worker.claimer.busy)
    assert isinstance(box[0], Fenced)
    assert shop.engine.history(it) == before
    assert shop.engine.effects(it) == []
    assert shop.engine.artifacts(it) == []


def test_the_answer_of_what_was_sent_is_kept_although_the_handler_was_stopped(workshop: Opener) -> None:
    """What was learnt is never thrown away: the effect is confirmed, and somebody is asked to look at it."""
    sending, answer = threading.Event(), threading.Event()

    def send(_: Any) -> str:
        sending.set()
        answer.wait(20)
        return "it arrived"

    shop = workshop(errand(todo=lambda task: Go("done", {"answer": task.once("post", {}, send)})))
    worker = shop.open()
    it = shop.create()
    assert sending.wait(10)
    withdraw(shop, it)
    answer.set()
    eventually(lambda: not worker.claimer.busy)
    effect = shop.engine.effects(it)[0]
    assert (effect.status, effect.answer) == ("confirmed", "it arrived")
    assert [review.name for review in shop.engine.reviews.waiting(instance_id=it)] == ["late_answer"]
    assert shop.get(it).state == "withdrawn"


def test_after_a_pause_the_work_is_done_anew_and_costs_no_attempt(workshop: Opener) -> None:
    attempts: list[int] = []
    begun = threading.Event()

    def work(task: Task[Any]) -> Go:
        attempts.append(task.attempt)
        if len(attempts) == 1:
            begun.set()
            while not task.cancelled:
                time.sleep(0.005)
        return Go("done")

    shop = workshop(errand(todo=work))
    shop.open()
    it = shop.create()
    assert begun.wait(10)
    pause(shop, it)
    shop.engine.resume(it, actor=ADA)
    shop.reaches(it, "done")
    assert attempts == [1, 1]


def test_a_handler_that_ignores_its_withdrawal_frees_its_hand_at_its_time_limit(workshop: Opener) -> None:
    begun, never = threading.Event(), threading.Event()

    def work(task: Task[dict[str, Any]]) -> Go:
        if task.data.get("deaf"):
            begun.set()
            never.wait(60)
        return Go("done")

    shop = workshop(errand(todo=Work(work, timedelta(seconds=1))))
    shop.open(concurrency=1)
    it = shop.create({"deaf": True})
    assert begun.wait(10)
    withdraw(shop, it)
    shop.reaches(shop.create(), "done", within=10)
    assert shop.get(it).state == "withdrawn"
    assert shop.letter(it) is None
    never.set()
