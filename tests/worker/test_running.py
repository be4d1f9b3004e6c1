"""Running handlers: plain functions, coroutines and bounded processes all get the same task."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from pydantic import BaseModel

from interlock.engine import Effect
from interlock.machine import Fail, Go, Message, NotSent, Work
from interlock.worker import AsyncTask, Task
from tests.support.waiting import eventually
from tests.worker.conftest import Opener
from tests.worker.live_engine import Hiccup, errand

MINUTE = timedelta(minutes=1)


class Letter(BaseModel):
    """Data with a type."""

    to: str
    text: str = ""
    sent_by: str = ""


def plain(task: Task[Letter]) -> Go:
    task.save({"text": f"dear {task.data.to}"})
    task.keep("draft", task.data.text.encode(), media_type="text/plain")
    task.progress(0.5, "half of it")
    task.send(Message("mail", task.data.to))
    answer = task.once("post", {"to": task.data.to}, posted)
    task.move("doing", {"sent_by": answer["by"]})
    assert task.artifact("draft") == b"dear Ada"
    assert task.artifact("nothing") is None
    task.heartbeat()
    return Go("done", reason=f"in {task.state}")


async def awaited(task: AsyncTask[Letter]) -> Go:
    await task.save({"text": f"dear {task.data.to}"})
    await task.keep("draft", task.data.text.encode(), media_type="text/plain")
    await task.progress(0.5, "half of it")
    await task.send(Message("mail", task.data.to))
    answer = await task.once("post", {"to": task.data.to}, posted_soon)
    await task.move("doing", {"sent_by": answer["by"]})
    assert await task.artifact("draft") == b"dear Ada"
    assert await task.artifact("nothing") is None
    await task.heartbeat()
    return Go("done", reason=f"in {task.state}")


def posted(effect: Effect) -> dict[str, Any]:
    return {"by": effect.kind}


async def posted_soon(effect: Effect) -> dict[str, Any]:
    await asyncio.sleep(0)
    return {"by": effect.kind}


KINDS = [
    pytest.param(Work(plain, MINUTE), id="plain"),
    pytest.param(Work(awaited, MINUTE), id="async"),
    pytest.param(Work(plain, MINUTE, memory_mb=512), id="plain in a process"),
    pytest.param(Work(awaited, MINUTE, memory_mb=512), id="async in a process"),
]


@pytest.mark.soak("postgresql-async in a process")
@pytest.mark.parametrize("work", KINDS)
def test_a_handler_of_any_kind_can_do_all_that_a_task_offers(live_engine: Opener, work: Work) -> None:
    live = live_engine(errand(todo=work, data=Letter))
    live.start_worker()
    it = live.create({"to": "Ada"})
    done = live.reaches(it, "done")
    assert done.data == {"to": "Ada", "text": "dear Ada", "sent_by": "post"}
    assert [(one.name, live.engine.artifact(it, one.hash)) for one in live.engine.artifacts(it)] == [
        ("draft", b"dear Ada")
    ]
    assert [(one.kind, one.status, one.sends) for one in live.engine.effects(it)] == [("post", "confirmed", 1)]
    moves = [(row.from_state, row.to_state) for row in live.rows(it, "moved")]
    assert moves == [("todo", "doing"), ("doing", "done")]
    assert live.rows(it, "moved")[-1].payload["reason"] == "in doing"


def test_plain_handlers_run_side_by_side_on_as_many_threads_as_its_concurrency(live_engine: Opener) -> None:
    together = threading.Barrier(4)

    def meet(_: Task[Any]) -> Go:
        together.wait(20)  # passes only when all four are there at once
        return Go("done")

    live = live_engine(errand(todo=meet))
    ids = [live.create() for _ in range(4)]
    live.start_worker(concurrency=4)
    for it in ids:
        live.reaches(it, "done")


def test_work_does_not_wait_behind_a_long_handler_while_a_hand_is_free(live_engine: Opener) -> None:
    """One thread is idle when two pieces of work come at once: the second gets a thread of its own."""
    release, entered = threading.Event(), threading.Event()

    def work(task: Task[dict[str, Any]]) -> Go:
        if task.data.get("long"):
            entered.set()
            release.wait(20)
        return Go("done")

    live = live_engine(errand(todo=work))
    live.start_worker(concurrency=4)
    live.reaches(live.create(), "done")  # leaves one thread idle
    long, *short = live.engine.create_many("errand", [{"long": True}, {}, {}])
    for it in short:
        live.reaches(it, "done", within=5)
    assert entered.is_set()
    assert live.get(long).state == "todo"
    release.set()
    live.reaches(long, "done")


def test_a_worker_claims_no_more_than_its_concurrency(live_engine: Opener) -> None:
    release = threading.Event()
    running: list[str] = []

    def work(task: Task[Any]) -> Go:
        running.append(str(task.id))
        release.wait(20)
        return Go("done")

    live = live_engine(errand(todo=work))
    ids = [live.create() for _ in range(5)]
    worker = live.start_worker(concurrency=2)
    eventually(lambda: len(running) == 2)
    assert len([it for it in ids if live.get(it).holder is not None]) == 2
    release.set()
    for it in ids:
        live.reaches(it, "done")
    eventually(lambda: worker.claimer.finished == 5)  # it counts after the commit


def test_a_coroutine_does_not_hold_up_the_others_on_its_loop(live_engine: Opener) -> None:
    together = asyncio.Event()
    there = 0

    async def meet(_: AsyncTask[Any]) -> Go:
        nonlocal there
        there += 1
        if there == 3:
            together.set()
        await asyncio.wait_for(together.wait(), 20)
        return Go("done")

    live = live_engine(errand(todo=meet))
    ids = [live.create() for _ in range(3)]
    live.start_worker(concurrency=3)
    for it in ids:
        live.reaches(it, "done")


def test_an_attempt_is_counted_for_the_handler_and_the_fence_grows(live_engine: Opener) -> None:
    seen: list[tuple[int, int]] = []

    def work(task: Task[Any]) -> Go:
        seen.append((task.attempt, task.fence))
        if task.attempt < 3:
            raise Hiccup("not yet")
        return Go("done")

    live = live_engine(errand(todo=work))
    it = live.create()
    live.start_worker()
    live.reaches(it, "done")
    assert seen == [(1, 1), (2, 2), (3, 3)]


def test_returning_a_failure_is_the_same_as_raising_it(live_engine: Opener) -> None:
    tries: list[int] = []

    def work(task: Task[Any]) -> Go | Fail:
        tries.append(task.attempt)
        return Fail(Hiccup("no"))

    live = live_engine(errand(todo=work))
    it = live.create()
    live.start_worker()
    assert live.fails(it).error_type == "Hiccup"
    assert tries == [1, 2, 3]


@pytest.mark.parametrize("kind", ["plain", "async"])
def test_what_was_certainly_not_sent_is_sent_again_and_what_arrived_is_not(live_engine: Opener, kind: str) -> None:
    sends: list[str] = []

    def send(effect: Effect) -> str:
        sends.append(effect.key)
        if len(sends) == 1:
            raise NotSent("the line was busy")
        return "thanks"

    def work(task: Task[Any]) -> Go:
        try:
            answer = task.once("post", {}, send)
        except NotSent as error:
            raise Hiccup(str(error)) from error
        if task.attempt < 3:
            raise Hiccup("after it was sent")
        return Go("done", {"answer": answer})

    async def work_soon(task: AsyncTask[Any]) -> Go:
        async def send_soon(effect: Effect) -> str:
            return send(effect)

        try:
            answer = await task.once("post", {}, send_soon)
        except NotSent as error:
            raise Hiccup(str(error)) from error
        if task.attempt < 3:
            raise Hiccup("after it was sent")
        return Go("done", {"answer": answer})

    chosen: Callable[..., Any] = work if kind == "plain" else work_soon
    live = live_engine(errand(todo=chosen))
    it = live.create()
    live.start_worker()
    assert live.reaches(it, "done").data == {"answer": "thanks"}
    assert len(sends) == 2
    assert live.engine.effects(it)[0].sends == 2


def test_a_bounded_handler_runs_in_another_process(live_engine: Opener) -> None:
    live = live_engine(errand(todo=Work(report_process, MINUTE, memory_mb=512)))
    it = live.create()
    live.start_worker()
    assert live.reaches(it, "done").data["process"] != os.getpid()


def report_process(task: Task[Any]) -> Go:
    return Go("done", {"process": os.getpid()})


def test_the_idempotency_key_is_equal_for_every_attempt_at_a_step(live_engine: Opener) -> None:
    keys: list[str] = []

    def work(task: Task[Any]) -> Go:
        keys.append(task.idempotency_key)
        if task.attempt < 3:
            raise Hiccup("not yet")
        return Go("done")

    live = live_engine(errand(todo=work))
    it = live.create()
    live.start_worker()
    live.reaches(it, "done")
    assert keys == [f"{it}:todo:1"] * 3
