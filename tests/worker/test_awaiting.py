"""`async def` handlers: what they send takes no thread, and whatever becomes of them, their hand comes free."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

from interlock.machine import USER, Actor, Go
from interlock.worker import AsyncTask
from tests.support.waiting import eventually
from tests.worker.conftest import Opener
from tests.worker.live_engine import errand

ADA = Actor(USER, "ada")
MANY = 48
"""More than the default pool of any event loop has threads."""


def test_more_effects_than_a_pool_has_threads_can_be_on_their_way_and_still_use_that_pool(live_engine: Opener) -> None:
    sending: list[str] = []
    all_there: list[asyncio.Event] = []

    async def send(effect: Any) -> str:
        if not all_there:
            all_there.append(asyncio.Event())
        sending.append(effect.key)
        if len(sending) == MANY:
            all_there[0].set()
        await all_there[0].wait()
        return await asyncio.to_thread(str.upper, "arrived")  # as a client does that looks up a host's name

    async def post(task: AsyncTask[Any]) -> Go:
        return Go("done", {"answer": await task.once("post", {}, send)})

    live = live_engine(errand(todo=post))
    ids = live.engine.create_many("errand", [{} for _ in range(MANY)])
    live.start_worker(concurrency=MANY)
    eventually(lambda: all(live.get(it).state == "done" for it in ids), what=lambda: f"{len(sending)} are on their way")
    assert live.get(ids[0]).data == {"answer": "ARRIVED"}


def test_a_handler_that_is_cancelled_before_it_began_gives_its_hand_back(live_engine: Opener) -> None:
    blocking, free = threading.Event(), threading.Event()

    async def post(task: AsyncTask[Any]) -> Go:
        if "block" in task.data:
            blocking.set()
            free.wait(20)
        return Go("done")

    live = live_engine(errand(todo=post))
    worker = live.start_worker(concurrency=4, loop_patience=60.0)
    blocker = live.create({"block": True})
    assert blocking.wait(10)
    behind = [live.create() for _ in range(3)]
    eventually(lambda: len(worker.claimer.running) == 4)
    for it in behind:
        live.engine.pause(it, actor=ADA)
    eventually(lambda: sum(one.port.cancelled() for one in list(worker.claimer.running)) == 3)
    free.set()
    live.reaches(blocker, "done")
    eventually(lambda: not worker.claimer.busy)
    assert {live.get(it).state for it in behind} == {"todo"}


def test_what_a_cancelled_handler_was_sending_goes_on_and_its_answer_is_kept(live_engine: Opener) -> None:
    sending, answer = threading.Event(), threading.Event()
    heard: list[type[BaseException]] = []

    async def send(_: Any) -> str:
        sending.set()
        while not answer.is_set():
            await asyncio.sleep(0.001)
        return "it arrived"

    async def post(task: AsyncTask[Any]) -> Go:
        try:
            await task.once("post", {}, send)
        except BaseException as error:
            heard.append(type(error))
            raise
        return Go("done")

    live = live_engine(errand(todo=post))
    worker = live.start_worker()
    it = live.create()
    assert sending.wait(10)
    live.engine.fire(it, "withdraw", actor=ADA)
    eventually(lambda: not worker.claimer.busy)
    assert heard == [asyncio.CancelledError]
    answer.set()
    effect = eventually(lambda: next((e for e in live.engine.effects(it) if e.status != "sent"), None))
    assert (effect.status, effect.answer) == ("confirmed", "it arrived")
    assert [review.name for review in live.engine.reviews.waiting(instance_id=it)] == ["late_answer"]


def test_what_is_broken_off_with_its_event_loop_is_unknown(live_engine: Opener) -> None:
    sending = threading.Event()

    async def send(_: Any) -> str:
        sending.set()
        await asyncio.sleep(3600)
        return "never"

    async def post(task: AsyncTask[Any]) -> Go:
        await task.once("post", {}, send)
        return Go("done")

    live = live_engine(errand(todo=post))
    worker = live.start_worker()
    it = live.create()
    assert sending.wait(10)
    worker.stop(timeout=0.0)
    live.workers.remove(worker)
    (effect,) = live.engine.effects(it)
    assert (effect.status, effect.error) == ("unknown", "CancelledError: it was broken off while it was sent")
