"""Loops and threads by themselves: what each promises to the rest of the worker."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator

import pytest

from interlock.store import StoreClosed, StoreGone
from interlock.worker.event_loop import EventLoop
from interlock.worker.handler_threads import Threads, ThreadSlot
from interlock.worker.loop import Loop
from interlock.worker.runner import awaited
from tests.support.waiting import eventually, took


class Beads(Loop):
    """A loop that does what the test says, round by round."""

    name = "beads"
    pause = 30.0

    def __init__(self, *rounds: bool | BaseException) -> None:
        super().__init__()
        self.todo = list(rounds)
        self.begun = 0

    def once(self) -> bool:
        self.begun += 1
        what = self.todo.pop(0) if self.todo else False
        if isinstance(what, BaseException):
            raise what
        return what


@pytest.fixture
def threads() -> Iterator[Threads]:
    made = Threads(2)
    yield made
    made.close()


class Errand:
    """A job, and where it ran."""

    def __init__(self, job: Callable[[], object]) -> None:
        self._job = job
        self.slot: ThreadSlot | None = None

    def __call__(self) -> None:
        self._job()


def run(threads: Threads, *jobs: Callable[[], object]) -> list[Errand]:
    errands = [Errand(job) for job in jobs]
    threads.submit(errands)
    return errands


ERRORS = [StoreGone("away"), ValueError("a bug"), SystemExit(1), KeyboardInterrupt()]


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_a_loop_survives_whatever_a_round_raises_and_tries_again(error: BaseException) -> None:
    loop = Beads(error, error)
    loop.start()
    eventually(lambda: loop.rounds == 1)
    assert loop.begun == 3
    assert loop.troubles == 0
    loop.stop()
    loop.join(5)


def test_a_loop_waits_longer_after_each_failed_round() -> None:
    loop = Beads(*[StoreGone("away")] * 3)
    loop.start()
    assert took(lambda: eventually(lambda: loop.rounds == 1)) > 0.5 * (0.1 + 0.2 + 0.4)
    loop.stop()
    loop.join(5)


def test_a_loop_ends_when_its_store_is_closed() -> None:
    loop = Beads(StoreClosed("closed"))
    loop.start()
    loop.join(5)
    assert loop.begun == 1


def test_a_loop_in_trouble_stops_at_once_when_asked() -> None:
    loop = Beads(*[StoreGone("away")] * 100)
    loop.start()
    eventually(lambda: loop.troubles >= 5)
    loop.stop()
    assert took(lambda: loop.join(5)) < 1


def test_a_loop_that_is_woken_does_not_wait_out_its_pause() -> None:
    loop = Beads()
    loop.start()
    eventually(lambda: loop.rounds == 1)
    loop.wake()
    eventually(lambda: loop.rounds == 2)
    loop.stop()
    loop.join(5)


def test_a_loop_that_asks_for_more_gets_its_next_round_at_once() -> None:
    loop = Beads(True, True, True)
    loop.start()
    eventually(lambda: loop.rounds == 4)
    loop.stop()
    loop.join(5)


def test_a_thread_that_was_given_up_is_replaced_and_ends_when_it_comes_back(threads: Threads) -> None:
    stuck, done = threading.Event(), threading.Event()
    errands = [run(threads, lambda: stuck.wait(20))[0] for _ in range(2)]
    eventually(lambda: all(errand.slot for errand in errands))
    run(threads, done.set)
    assert not done.wait(0.1)  # both threads are taken
    assert errands[0].slot is not None
    threads.give_up(errands[0].slot)
    assert done.wait(5)
    stuck.set()
    done.clear()
    run(threads, done.set)
    assert done.wait(5)


def test_a_job_is_not_left_behind_a_long_one(threads: Threads) -> None:
    end, quick = threading.Event(), threading.Event()
    ready = threading.Event()
    run(threads, ready.set)
    assert ready.wait(5)  # one thread is idle now
    run(threads, lambda: end.wait(20))
    run(threads, quick.set)
    assert quick.wait(5)
    end.set()


def test_jobs_that_come_together_do_not_wait_for_a_long_one_among_them(threads: Threads) -> None:
    end, quick = threading.Event(), threading.Event()
    run(threads, lambda: end.wait(20), quick.set)
    assert quick.wait(5)
    end.set()


def test_no_more_jobs_run_at_once_than_there_are_threads(threads: Threads) -> None:
    lock, end = threading.Lock(), threading.Event()
    now = most = done = 0

    def job() -> None:
        nonlocal now, most, done
        with lock:
            now += 1
            most = max(most, now)
        end.wait(0.05)
        with lock:
            now -= 1
            done += 1

    for _ in range(8):
        run(threads, job)
    eventually(lambda: done == 8)
    assert most == 2


class EndListener:
    """Hears how a coroutine ended."""

    def __init__(self) -> None:
        self.said: list[BaseException | None] = []
        self._heard = threading.Event()

    def __call__(self, error: BaseException | None) -> None:
        self.said.append(error)
        self._heard.set()

    @property
    def ended(self) -> bool:
        return self._heard.is_set()

    def wait(self) -> BaseException | None:
        assert self._heard.wait(5)
        return self.said[0]


def test_a_blocked_event_loop_is_noticed_and_new_work_gets_another() -> None:
    events, free, blocked, finished = EventLoop(), threading.Event(), EndListener(), EndListener()

    async def block() -> None:
        free.wait(20)

    async def finish() -> None:
        return None

    events.submit(block(), blocked)
    eventually(lambda: events.blocked_for() > 0.1)
    events.replace()
    events.submit(finish(), finished)
    assert finished.wait() is None
    eventually(lambda: events.blocked_for() == 0.0)
    assert not blocked.ended
    free.set()
    assert blocked.wait() is None
    events.close()


def test_an_idle_event_loop_is_not_called_blocked() -> None:
    events, ending = EventLoop(), EndListener()

    async def rest() -> None:
        await asyncio.sleep(0)

    assert events.blocked_for() == 0.0
    events.submit(rest(), ending)
    ending.wait()
    for _ in range(5):  # each call that finds an answer asks again
        eventually(lambda: events.blocked_for() == 0.0)
    events.close()


def test_what_still_runs_on_an_event_loop_is_cancelled_when_it_closes() -> None:
    events, begun, cancelled = EventLoop(), threading.Event(), threading.Event()

    async def hang() -> None:
        begun.set()
        try:
            await asyncio.sleep(60)
        finally:
            cancelled.set()

    events.submit(hang(), EndListener())
    assert begun.wait(5)
    events.close()
    assert cancelled.wait(5)


def test_a_coroutine_tells_once_how_it_ended_also_when_it_was_cancelled_before_it_began() -> None:
    events, busy, free = EventLoop(), threading.Event(), threading.Event()
    blocked, early, broken = EndListener(), EndListener(), EndListener()
    ran: list[str] = []

    async def block() -> None:
        busy.set()
        free.wait(20)

    async def never() -> None:
        ran.append("it ran")

    async def breaks() -> None:
        raise ValueError("broken")

    events.submit(block(), blocked)
    assert busy.wait(10)
    events.submit(never(), early).cancel()
    events.submit(breaks(), broken)
    free.set()
    assert blocked.wait() is None
    assert early.wait() is None
    assert isinstance(broken.wait(), ValueError)
    events.close()
    assert ran == []
    assert [len(ending.said) for ending in (blocked, early, broken)] == [1, 1, 1]


def test_any_object_that_can_be_called_may_be_a_handler() -> None:
    class Equal:
        """Compared by value, so it has no hash."""

        def __eq__(self, other: object) -> bool:
            return True

        def __call__(self, task: object) -> None: ...

    async def later(task: object) -> None: ...

    assert not awaited(Equal())
    assert awaited(later)
