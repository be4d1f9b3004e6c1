"""Heavy reads that may take seconds, such as rendering a page of an untrusted file.

They run in a few separate threads, so that nothing else waits for them. Each caller may run one at a time and queue a
few; further requests are refused at once (429, or 503 when all places are taken). A job is stopped when its caller
disconnects or its time is over, through an event that it checks or that ends its process.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TypeVar

from starlette.requests import Request

from interlock.machine import InterlockError

T = TypeVar("T")
Stop = threading.Event
CONCURRENCY = 3
WAITING = 8
"""Queued jobs per caller, besides the running one."""
PLACES = 48
"""All jobs of all callers, running and queued."""
SECONDS = 20.0


class TooBusy(InterlockError):
    """There is no capacity now; retry soon."""

    def __init__(self, detail: str, *, of_all: bool, retry_after: float, kind: str = "too-busy") -> None:
        super().__init__(detail)
        self.of_all, self.retry_after, self.kind = of_all, retry_after, kind


class TookTooLong(InterlockError):
    """The job was stopped because its time was over."""


class CallerGone(InterlockError):
    """The caller has disconnected."""


@dataclass
class _Caller:
    """The jobs of one caller."""

    places: int = 0
    turn: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(1))


class Heavy:
    """The heavy reads of one service."""

    def __init__(
        self,
        *,
        concurrency: int = CONCURRENCY,
        waiting: int = WAITING,
        places: int = PLACES,
        seconds: float = SECONDS,
    ) -> None:
        self._waiting, self._most, self.seconds = waiting, places, seconds
        self._threads = ThreadPoolExecutor(concurrency, thread_name_prefix="interlock-heavy")
        self._concurrency = asyncio.Semaphore(concurrency)
        self._callers: dict[str, _Caller] = {}
        self._running: set[Stop] = set()

    @property
    def taken(self) -> int:
        """The number of running and queued jobs."""
        return sum(one.places for one in self._callers.values())

    async def run(self, request: Request, caller: str, job: Callable[[Stop], T]) -> T:
        """Run the job and return its result. It is stopped when the caller disconnects or its time is over."""
        mine = self._enter(caller)
        stop = Stop()
        work = asyncio.ensure_future(self._turn(mine, job, stop))
        left = asyncio.ensure_future(gone(request))
        try:
            await asyncio.wait({work, left}, return_when=asyncio.FIRST_COMPLETED)
            if not work.done():
                raise CallerGone("the caller has disconnected")
            return work.result()
        finally:
            stop.set()
            for task in (work, left):
                task.cancel()
            await asyncio.gather(work, left, return_exceptions=True)
            mine.places -= 1
            if not mine.places:
                self._callers.pop(caller, None)

    def _enter(self, caller: str) -> _Caller:
        if self.taken >= self._most:
            raise TooBusy("the service is busy with large files; try again soon", of_all=True, retry_after=5)
        mine = self._callers.get(caller) or _Caller()
        if mine.places > self._waiting:
            raise TooBusy(
                f"{mine.places} of your slow requests are already running; wait for them",
                of_all=False,
                retry_after=2,
            )
        mine.places += 1
        self._callers[caller] = mine
        return mine

    async def _turn(self, mine: _Caller, job: Callable[[Stop], T], stop: Stop) -> T:
        async with mine.turn, self._concurrency:
            self._running.add(stop)
            done = asyncio.get_running_loop().run_in_executor(self._threads, job, stop)
            try:
                return await asyncio.wait_for(asyncio.shield(done), self.seconds)
            except TimeoutError:
                stop.set()
                if done.done() and not done.cancelled() and not isinstance(done.exception(), TimeoutError):
                    return done.result()
                raise TookTooLong(f"it took longer than {self.seconds:g} s and was stopped") from None
            finally:
                stop.set()
                if not done.done():  # the slot is free when the thread is, and that was asked to stop
                    await _ended(done)
                self._running.discard(stop)

    def close(self) -> None:
        for stop in tuple(self._running):
            stop.set()
        self._threads.shutdown(wait=False, cancel_futures=True)


async def _ended(done: asyncio.Future[T]) -> None:
    """Wait for the future, shielded from cancellation."""
    while not done.done():
        try:
            await asyncio.wait({done})
        except asyncio.CancelledError:
            continue


async def gone(request: Request) -> None:
    """Return when the caller has closed the connection."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
