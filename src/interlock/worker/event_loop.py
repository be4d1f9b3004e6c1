"""The event loop for `async def` handlers, in its own thread. A blocked loop is replaced."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any

log = logging.getLogger("interlock.worker")
LAST_WORDS = 1.0
Ended = Callable[[BaseException | None], None]
"""Called once with the error that a coroutine ended with, also if it never started."""


class Started:
    """A coroutine on an event loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop, coroutine: Coroutine[Any, Any, None], ended: Ended) -> None:
        self._loop, self._coroutine, self._ended = loop, coroutine, ended
        self._task: asyncio.Task[None] | None = None

    def begin(self) -> None:
        """Start it. Runs on the loop's thread."""
        self._task = self._loop.create_task(self._coroutine)
        self._task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[None]) -> None:
        self._ended(None if task.cancelled() else task.exception())

    def cancel(self) -> None:
        """Cancel it, from any thread. It ends when it reacts to the cancellation, if ever."""
        with suppress(RuntimeError):  # its loop is closed, and everything on it has ended
            self._loop.call_soon_threadsafe(self._cancel)

    def _cancel(self) -> None:
        if self._task is not None:
            self._task.cancel()


class EventLoop:
    """Runs coroutines. Claims, heartbeat and sweeper run elsewhere, so nothing here can stop them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._pinged = 0.0
        self._answered = 0.0
        self.replaced = 0

    def submit(self, coroutine: Coroutine[Any, Any, None], ended: Ended) -> Started:
        with self._lock:
            if self._loop is None:
                self._loop = self._start()
            started = Started(self._loop, coroutine, ended)
            self._loop.call_soon_threadsafe(started.begin)
        return started

    def _start(self) -> asyncio.AbstractEventLoop:
        loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=_run, args=(loop,), name="interlock-events", daemon=True)
        self._thread.start()
        self._pinged = self._answered = time.monotonic()
        return loop

    def blocked_for(self) -> float:
        """Seconds for which the loop has not responded."""
        with self._lock:
            loop = self._loop
            if loop is None:
                return 0.0
            now = time.monotonic()
            if self._answered >= self._pinged:
                self._pinged = now
                loop.call_soon_threadsafe(self._answer, loop)
                return 0.0
            return now - self._pinged

    def _answer(self, loop: asyncio.AbstractEventLoop) -> None:
        if loop is self._loop:
            self._answered = time.monotonic()

    def replace(self) -> None:
        """Abandon the blocked loop, which ends when it is free again, and use a new one."""
        with self._lock:
            old, self._loop = self._loop, None
            self.replaced += 1
        if old is not None:
            old.call_soon_threadsafe(_end_when_done, old)

    def close(self) -> None:
        """Close the loop and cancel what runs on it. A blocked loop is abandoned."""
        with self._lock:
            old, self._loop = self._loop, None
            thread = self._thread
        if old is not None and thread is not None:
            old.call_soon_threadsafe(old.stop)
            thread.join(2 * LAST_WORDS)


def _run(loop: asyncio.AbstractEventLoop) -> None:
    asyncio.set_event_loop(loop)
    try:
        while True:
            try:
                loop.run_forever()
                break
            except BaseException as error:
                # A callback that raises SystemExit must not stop the other handlers.
                log.error("a callback on the event loop raised %s; the loop continues", type(error).__name__)
        loop.run_until_complete(_end(loop))
    finally:
        loop.close()


async def _end(loop: asyncio.AbstractEventLoop) -> None:
    others = asyncio.all_tasks(loop) - {asyncio.current_task(loop)}
    for task in others:
        task.cancel()
    if others:
        await asyncio.wait(others, timeout=LAST_WORDS)
    await loop.shutdown_asyncgens()


def _end_when_done(loop: asyncio.AbstractEventLoop) -> None:
    async def wait() -> None:
        others = asyncio.all_tasks(loop) - {asyncio.current_task(loop)}
        await asyncio.gather(*others, return_exceptions=True)
        loop.call_soon(loop.stop)

    task = loop.create_task(wait())
    task.add_done_callback(lambda _: None)
