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
from tests.worker.workshop import Workshop, errand

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


def question(shop: Workshop, it: UUID) -> OpenReview:
    """Wait until it is asked."""

    def found() -> OpenReview | None:
        return next(iter(shop.engine.reviews.waiting(instance_id=it)), None)

    return eventually(found, within=60, what=lambda: str(shop.engine.explain(it)))


def answered(shop: Workshop, it: UUID, decision: str = "allow") -> None:
    shop.engine.reviews.decide(question(shop, it).id, decision, actor=ADA)


KINDS = {"plain": plain, "awaited": awaited, "isolated": Work(plain, timedelta(minutes=1), memory_mb=512)}


@pytest.mark.parametrize("kind", KINDS)
def test_the_answer_reaches_the_handler_past_its_time_limit(workshop: Opener, kind: str) -> None:
    work = KINDS[kind]
    limit = HARDLY_ANY if kind != "isolated" else timedelta(minutes=1)
    handler, memory = (work.handler, work.memory_mb) if isinstance(work, Work) else (work, None)
    shop = workshop(errand(todo=Work(handler, limit, memory), reviews=[TOOL]))
    shop.open()
    it = shop.create()
    question(shop, it)
    asked = time.monotonic()
    eventually(lambda: time.monotonic() - asked > HARDLY_ANY.total_seconds() * 1.5)
    answered(shop, it)
    assert shop.reaches(it, "done").data == {"decision": "allow"}


def test_the_default_comes_at_the_deadline(workshop: Opener) -> None:
    shop = workshop(errand(todo=briefly, reviews=[TOOL]))
    shop.open()
    it = shop.create()
    assert shop.reaches(it, "done").data == {"decision": "deny"}
    assert shop.rows(it, "reviewed")[0].actor == "system"


@pytest.mark.parametrize("how", ["pause", "withdraw", "lost fence"])
def test_a_handler_that_waits_hears_of_its_cancellation_within_a_second(workshop: Opener, how: str) -> None:
    ended: list[BaseException] = []
    heard = threading.Event()

    def notes(task: Task[Any]) -> Go:
        try:
            return plain(task)
        except BaseException as error:
            ended.append(error)
            heard.set()
            raise

    shop = workshop(errand(todo=notes, reviews=[TOOL]))
    worker = shop.open()
    it = shop.create()
    question(shop, it)
    if how == "pause":
        shop.engine.pause(it, actor=ADA)
    elif how == "withdraw":
        shop.engine.fire(it, "withdraw", actor=ADA)
    else:
        worker.drain()
        shop.engine.take_back([worker.id])
    assert heard.wait(1.5)
    assert isinstance(ended[0], Cancelled)


def test_an_async_handler_that_waits_leaves_its_slot_to_others(workshop: Opener) -> None:
    shop = workshop(errand(todo=awaited, reviews=[TOOL]))
    shop.open(concurrency=2)
    waiting = [shop.create() for _ in range(5)]
    for it in waiting:
        question(shop, it)
    shop.reaches(shop.create({"quick": True}), "done")
    for it in waiting:
        answered(shop, it)
    for it in waiting:
        shop.reaches(it, "done")


def test_a_plain_handler_that_waits_costs_one_slot(workshop: Opener) -> None:
    shop = workshop(errand(todo=plain, reviews=[TOOL]))
    shop.open(concurrency=2)
    first, second = shop.create(), shop.create()
    question(shop, first)
    question(shop, second)
    third = shop.create({"quick": True})
    answered(shop, first)
    shop.reaches(first, "done")
    shop.reaches(third, "done")
    answered(shop, second)
    shop.reaches(second, "done")


@pytest.mark.parametrize("handler", [plain, awaited])
def test_a_worker_that_stops_does_not_wait_for_people(workshop: Opener, handler: Any) -> None:
    shop = workshop(errand(todo=handler, reviews=[TOOL]))
    worker = shop.open()
    it = shop.create()
    asked = question(shop, it)
    begun = time.monotonic()
    worker.stop(timeout=20)
    shop.workers.clear()
    assert time.monotonic() - begun < 10
    back = shop.get(it)
    assert (back.wake, back.holder, back.failures) == ("work", None, {})
    answered(shop, it)
    shop.open()
    assert shop.reaches(it, "done").data == {"decision": "allow"}
    assert shop.engine.reviews.get(asked.id).decision == "allow"
    assert shop.kinds(it).count("asked") == 1


def test_a_worker_that_stops_waits_for_what_is_done_beside_a_question(workshop: Opener) -> None:
    go_on, came = threading.Event(), threading.Event()

    async def beside() -> None:
        came.set()
        await asyncio.to_thread(go_on.wait, 20)

    async def both(task: AsyncTask[Any]) -> Go:
        _, answer = await asyncio.gather(beside(), task.ask("tool", TOOL, deadline=HOUR, default="deny"))
        return Go("done", {"decision": answer.decision})

    shop = workshop(errand(todo=both, reviews=[TOOL]))
    worker = shop.open()
    it = shop.create()
    question(shop, it)
    assert came.wait(20)
    stopping = threading.Thread(target=worker.stop, kwargs={"timeout": 20})
    stopping.start()
    answered(shop, it)
    go_on.set()
    stopping.join(20)
    shop.workers.clear()
    assert shop.get(it).data == {"decision": "allow"}
