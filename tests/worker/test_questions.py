"""Handlers that wait for a person's answer: what it costs their worker, and how they end."""

from __future__ import annotations

import asyncio
import threading
import time
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from interlock.engine import OpenReview
from interlock.machine import USER, Actor, Go, Review, Work
from interlock.worker import AsyncTask, Cancelled, Task
from tests.support.waiting import eventually
from tests.worker.conftest import Opener
from tests.worker.live_engine import LiveEngine, errand

ADA = Actor(USER, "ada")
TOOL = Review("May it?", decisions={"allow": "", "deny": ""})
HOUR = timedelta(hours=1)
HARDLY_ANY = timedelta(seconds=1)


def plain(task: Task[Any]) -> Go:
    if task.data.get("quick"):
        return Go("done")
    answer = task.ask("tool", TOOL, deadline=HOUR, default="deny")
    return Go("done", {"decision": answer.decision})


async def awaited(task: AsyncTask[Any]) -> Go:
    if task.data.get("quick"):
        return Go("done")
    answer = await task.ask("tool", TOOL, deadline=HOUR, default="deny")
    return Go("done", {"decision": answer.decision})


def briefly(task: Task[Any]) -> Go:
    answer = task.ask("tool", TOOL, deadline=timedelta(milliseconds=300), default="deny")
    return Go("done", {"decision": answer.decision})


def question(live: LiveEngine, it: UUID) -> OpenReview:
    """Wait until it is asked."""

    def found() -> OpenReview | None:
        return next(iter(live.engine.reviews.waiting(instance_id=it)), None)

    return eventually(found, within=60, what=lambda: str(live.engine.explain(it)))


def answered(live: LiveEngine, it: UUID, decision: str = "allow") -> None:
    live.engine.reviews.decide(question(live, it).id, decision, actor=ADA)


KINDS = {"plain": plain, "awaited": awaited, "isolated": Work(plain, timedelta(minutes=1), memory_mb=512)}


@pytest.mark.soak("postgresql-isolated", "postgresql-plain")
@pytest.mark.parametrize("kind", KINDS)
def test_the_answer_reaches_the_handler_past_its_time_limit(live_engine: Opener, kind: str) -> None:
    work = KINDS[kind]
    limit = HARDLY_ANY if kind != "isolated" else timedelta(minutes=1)
    handler, memory = (work.handler, work.memory_mb) if isinstance(work, Work) else (work, None)
    live = live_engine(errand(todo=Work(handler, limit, memory), reviews=[TOOL]))
    live.start_worker()
    it = live.create()
    question(live, it)
    asked = time.monotonic()
    eventually(lambda: time.monotonic() - asked > HARDLY_ANY.total_seconds() * 1.5)
    answered(live, it)
    assert live.reaches(it, "done").data == {"decision": "allow"}


def test_the_default_comes_at_the_deadline(live_engine: Opener) -> None:
    live = live_engine(errand(todo=briefly, reviews=[TOOL]))
    live.start_worker()
    it = live.create()
    assert live.reaches(it, "done").data == {"decision": "deny"}
    assert live.rows(it, "reviewed")[0].actor == "system"


@pytest.mark.parametrize("how", ["pause", "withdraw", "lost fence"])
def test_a_handler_that_waits_hears_of_its_cancellation_within_a_second(live_engine: Opener, how: str) -> None:
    ended: list[BaseException] = []
    heard = threading.Event()

    def notes(task: Task[Any]) -> Go:
        try:
            return plain(task)
        except BaseException as error:
            ended.append(error)
            heard.set()
            raise

    live = live_engine(errand(todo=notes, reviews=[TOOL]))
    worker = live.start_worker()
    it = live.create()
    question(live, it)
    if how == "pause":
        live.engine.pause(it, actor=ADA)
    elif how == "withdraw":
        live.engine.fire(it, "withdraw", actor=ADA)
    else:
        worker.drain()
        live.engine.take_back([worker.id])
    assert heard.wait(1.5)
    assert isinstance(ended[0], Cancelled)


def test_an_async_handler_that_waits_leaves_its_slot_to_others(live_engine: Opener) -> None:
    live = live_engine(errand(todo=awaited, reviews=[TOOL]))
    live.start_worker(concurrency=2)
    waiting = [live.create() for _ in range(5)]
    for it in waiting:
        question(live, it)
    live.reaches(live.create({"quick": True}), "done")
    for it in waiting:
        answered(live, it)
    for it in waiting:
        live.reaches(it, "done")


def test_a_plain_handler_that_waits_costs_one_slot(live_engine: Opener) -> None:
    live = live_engine(errand(todo=plain, reviews=[TOOL]))
    live.start_worker(concurrency=2)
    first, second = live.create(), live.create()
    question(live, first)
    question(live, second)
    third = live.create({"quick": True})
    answered(live, first)
    live.reaches(first, "done")
    live.reaches(third, "done")
    answered(live, second)
    live.reaches(second, "done")


@pytest.mark.parametrize("handler", [plain, awaited])
def test_a_worker_that_stops_does_not_wait_for_people(live_engine: Opener, handler: Any) -> None:
    live = live_engine(errand(todo=handler, reviews=[TOOL]))
    worker = live.start_worker()
    it = live.create()
    asked = question(live, it)
    begun = time.monotonic()
    worker.stop(timeout=20)
    live.workers.clear()
    assert time.monotonic() - begun < 10
    back = live.get(it)
    assert (back.wake, back.holder, back.failures) == ("work", None, {})
    answered(live, it)
    live.start_worker()
    assert live.reaches(it, "done").data == {"decision": "allow"}
    assert live.engine.reviews.get(asked.id).decision == "allow"
    assert live.kinds(it).count("asked") == 1


def test_a_worker_that_stops_waits_for_what_is_done_beside_a_question(live_engine: Opener) -> None:
    go_on, came = threading.Event(), threading.Event()

    async def beside() -> None:
        came.set()
        await asyncio.to_thread(go_on.wait, 20)

    async def both(task: AsyncTask[Any]) -> Go:
        _, answer = await asyncio.gather(beside(), task.ask("tool", TOOL, deadline=HOUR, default="deny"))
        return Go("done", {"decision": answer.decision})

    live = live_engine(errand(todo=both, reviews=[TOOL]))
    worker = live.start_worker()
    it = live.create()
    question(live, it)
    assert came.wait(20)
    stopping = threading.Thread(target=worker.stop, kwargs={"timeout": 20})
    stopping.start()
    answered(live, it)
    go_on.set()
    stopping.join(20)
    live.workers.clear()
    assert live.get(it).data == {"decision": "allow"}
