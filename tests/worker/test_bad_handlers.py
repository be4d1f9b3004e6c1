"""Handlers that misbehave: whatever one does, the worker goes on and the instance says what happened."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from interlock.machine import Again, Fail, Go, Message, Outcome, Spawn, Stay, Work, WorkError
from interlock.testing import VirtualClock
from interlock.worker import AsyncTask, Task
from tests.support.waiting import eventually
from tests.worker.conftest import Opener
from tests.worker.live_engine import another_round, errand

pytestmark = pytest.mark.slow

BRIEF = timedelta(milliseconds=300)


class Mute(Exception):
    """An error that cannot say what it is."""

    def __str__(self) -> str:
        raise RuntimeError("no comment")

    __repr__ = __str__


class Leaver(Exception):
    """An error whose message ends the program that reads it."""

    def __str__(self) -> str:
        raise SystemExit(3)


class Hostile(WorkError):
    """An error whose advice makes no sense."""

    def __init__(self) -> None:
        super().__init__("hostile")
        self.retry_after: Any = "soon"
        self.until: Any = "tomorrow"


class Sphinx:
    """A result that cannot be shown."""

    def __str__(self) -> str:
        raise RuntimeError("guess")

    __repr__ = __str__


class Odd(Outcome):
    """An outcome that nobody declared."""


def goes_on(live: Any) -> None:
    """The proof that nothing broke: the next piece of work is done as if nothing had been."""
    live.reaches(live.create({"good": True}), "done", within=10)


def handler(bad: Callable[[], Any]) -> Callable[[Task[Any]], Any]:
    return lambda task: Go("done") if task.data.get("good") else bad()


def soon(bad: Callable[[], Any]) -> Callable[[AsyncTask[Any]], Any]:
    async def handle(task: AsyncTask[Any]) -> Any:
        return Go("done") if task.data.get("good") else bad()

    return handle


def raising(error: BaseException) -> Callable[[], Any]:
    def bad() -> Any:
        raise error

    return bad


ERRORS: list[BaseException] = [
    ValueError("plain"),
    Mute(),
    Leaver(),
    Hostile(),
    SystemExit(1),
    KeyboardInterrupt(),
    GeneratorExit(),
    StopIteration(),
    asyncio.CancelledError(),
    ExceptionGroup("many", [ValueError("a"), TypeError("b")]),
    UnicodeDecodeError("utf-8", b"\xff", 0, 1, "hostile \udcff \x00 text"),
    RecursionError(),
    MemoryError(),
]


@pytest.mark.soak("postgresql")
@pytest.mark.parametrize("make", [handler, soon], ids=["plain", "async"])
@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_whatever_a_handler_raises_becomes_a_dead_letter_with_its_type(
    live_engine: Opener, make: Callable[..., Any], error: BaseException
) -> None:
    live = live_engine(errand(todo=make(raising(error))))
    worker = live.start_worker()
    it = live.create()
    letter = live.fails(it)
    # A coroutine cannot raise StopIteration: Python turns it into a RuntimeError.
    assert letter.error_type in {type(error).__name__, "RuntimeError"}
    assert letter.step == "todo"
    goes_on(live)
    assert worker.claimer.troubles == 0


FAR = datetime.max.replace(tzinfo=UTC) - timedelta(days=1)
NONSENSE: dict[str, Any] = {
    "nothing": None,
    "a text": "done",
    "a number": 42,
    "a class": Go,
    "an object": object(),
    "something that cannot be shown": Sphinx(),
    "an outcome of its own": Odd(),
    "no such state": Go("nowhere"),
    "no state at all": Go(()),
    "a chain that leads nowhere": Go(("doing", "nowhere")),
    "a state that is a number": Go(42),  # type: ignore[arg-type]
    "a state that is a list": Go([["done"]]),  # type: ignore[arg-type]
    "a transition for people": Go("withdrawn"),
    "data that is a text": Go("done", data="text"),  # type: ignore[arg-type]
    "data that is an object": Go("done", data=object()),  # type: ignore[arg-type]
    "a final state entered unstarted": Go("done", unstarted=True),
    "a moment that is a text": Go("doing", at="tomorrow"),  # type: ignore[arg-type]
    "a moment without a zone": Go("doing", at=datetime(2026, 1, 1)),  # noqa: DTZ001
    "a child that is a text": Go("done", spawn=("child",)),  # type: ignore[arg-type]
    "a child of no machine": Go("doing", at=FAR, spawn=(Spawn("nothing"),)),
    "a child without a rank": Go("done", spawn=(Spawn("errand", priority=9),)),
    "a child with a huge key": Go("done", spawn=(Spawn("errand", key="k" * 5000),)),
    "a message that is a text": Go("done", messages=("hello",)),  # type: ignore[arg-type]
    "a message with an object": Go("done", messages=(Message("mail", "ada", body={"x": object()}),)),
    "a message to nobody": Go("done", messages=(Message("mail", None),)),  # type: ignore[arg-type]
    "a question that is a text": Go("done", asks=("sure?",)),  # type: ignore[arg-type]
    "staying where work is": Stay(),
    "a wait that is a text": Again("soon"),  # type: ignore[arg-type]
    "a wait of three million years": Again(timedelta.max),
    "a failure that is a text": Fail("text"),  # type: ignore[arg-type]
    "a failure that is nothing": Fail(None),  # type: ignore[arg-type]
}


@pytest.mark.soak("postgresql")
@pytest.mark.parametrize("value", NONSENSE.values(), ids=NONSENSE.keys())
def test_nonsense_from_a_handler_fails_the_step_and_says_so(live_engine: Opener, value: Any) -> None:
    live = live_engine(errand(todo=handler(lambda: value)))
    worker = live.start_worker()
    it = live.create()
    letter = live.fails(it)
    assert letter.error_type in {"InvalidOutcome", "RuntimeError"}
    assert live.get(it).state == "todo"
    assert live.engine.children(it) == []
    goes_on(live)
    assert worker.claimer.troubles == 0


def test_a_plain_handler_that_never_returns_is_given_up_and_its_thread_replaced(live_engine: Opener) -> None:
    never = threading.Event()

    def hang() -> None:
        never.wait(60)

    live = live_engine(errand(todo=Work(handler(hang), BRIEF)))
    worker = live.start_worker(concurrency=1)
    it = live.create()
    assert live.fails(it).error_type == "HandlerTimeout"
    goes_on(live)  # there is only one hand, so it was replaced
    assert worker.claimer.runner.threads.given_up == 1
    never.set()


def test_a_coroutine_that_never_returns_is_cancelled_at_its_time_limit(live_engine: Opener) -> None:
    cancelled = threading.Event()

    async def hang(task: AsyncTask[Any]) -> Go:
        if not task.data.get("good"):
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                cancelled.set()
                raise
        return Go("done")

    live = live_engine(errand(todo=Work(hang, BRIEF)))
    live.start_worker(concurrency=1)
    it = live.create()
    assert live.fails(it).error_type == "HandlerTimeout"
    assert cancelled.wait(10)
    goes_on(live)


def test_a_handler_that_says_it_is_alive_gets_its_time_limit_again(live_engine: Opener) -> None:
    clock = VirtualClock()

    def slow(task: Task[Any]) -> Go:
        for _ in range(4):
            task.heartbeat()
            clock.advance(0.8 * BRIEF)
            another_round(worker.watcher)
            another_round(worker.sweeper)
        return Go("done")

    live = live_engine(errand(todo=Work(slow, BRIEF)), clock=clock)
    worker = live.start_worker()
    it = live.create()
    live.reaches(it, "done")
    assert live.get(it).failures == {}


def test_a_late_result_of_a_handler_that_was_given_up_changes_nothing(live_engine: Opener) -> None:
    late = threading.Event()
    ended = threading.Event()

    def slow(task: Task[Any]) -> Go:
        late.wait(60)
        ended.set()
        return Go("done")

    live = live_engine(errand(todo=Work(slow, BRIEF)))
    live.start_worker()
    it = live.create()
    live.fails(it)
    rows = len(live.engine.history(it))
    late.set()
    assert ended.wait(10)
    goes_on_after = live.create()
    live.reaches(goes_on_after, "done")
    assert live.get(it).state == "todo"
    assert len(live.engine.history(it)) == rows


def test_a_handler_that_blocks_the_event_loop_stops_neither_the_others_nor_the_heartbeat(live_engine: Opener) -> None:
    free = threading.Event()

    async def block(task: AsyncTask[Any]) -> Go:
        if task.data.get("block"):
            free.wait(60)  # no await: nothing else runs on this loop
        return Go("done")

    live = live_engine(errand(todo=block))
    worker = live.start_worker(lease=timedelta(seconds=2), loop_patience=0.3)
    blocker = live.create({"block": True})
    eventually(lambda: live.get(blocker).holder is not None)
    eventually(lambda: worker.claimer.runner.events.replaced == 1, within=10)
    beats = live.beats(worker)
    live.reaches(live.create(), "done", within=10)
    eventually(lambda: live.beats(worker) > beats, within=5)
    assert worker.heartbeat.trusted()
    free.set()
    live.reaches(blocker, "done")


def test_a_task_that_ends_the_program_from_the_side_does_not_take_the_event_loop_with_it(live_engine: Opener) -> None:
    async def handle(task: AsyncTask[Any]) -> Go:
        if not task.data.get("good"):
            asyncio.get_running_loop().call_soon(raising(SystemExit(9)))
            asyncio.get_running_loop().call_soon(raising(KeyboardInterrupt()))
            await asyncio.sleep(0.01)
        return Go("done")

    live = live_engine(errand(todo=handle))
    live.start_worker()
    live.reaches(live.create(), "done")
    goes_on(live)
