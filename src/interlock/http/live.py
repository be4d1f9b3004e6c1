"""Live events: every listener receives what happens, in order and without gaps.

One thread per process follows the feed and keeps its latest part in memory. Each listener has its own position. Within
the kept part it is served from memory, otherwise from the database. So a slow listener costs no memory, and one that
was away catches up.
"""

from __future__ import annotations

import asyncio
import threading
from bisect import bisect_right
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import suppress

from interlock.engine import Engine, feed
from interlock.engine.feed import FeedEntry
from interlock.machine import InterlockError
from interlock.store import StoreClosed
from interlock.store.database import HISTORY
from interlock.store.positions import Position

KEPT = 10_000
POLL_EVERY = 1.0
"""Seconds between two polls without hints, and between two checks of a listener's permissions."""
SOON = (0.02, 0.05, 0.1, 0.2)
"""After a hint a row may still wait for an older transaction: poll again this soon."""
CALM = 0.05
"""The shortest time between two polls."""


class Hub:
    """Follows the feed for all listeners of this process. Idle without listeners."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._rows: deque[FeedEntry] = deque(maxlen=KEPT)
        self._from: Position | None = None
        """Everything after this position is in `_rows`."""
        self._lock = threading.Lock()
        self._listeners: set[Callable[[], None]] = set()
        self._hinted = threading.Event()
        self._closed = threading.Event()
        self._thread: threading.Thread | None = None
        self._leave = engine.store.subscribe(self._hear)

    def _hear(self, queues: frozenset[str]) -> None:
        if not queues or HISTORY in queues:
            self._hinted.set()

    def nudge(self) -> None:
        """Make every listener re-check its permissions now."""
        with self._lock:
            listeners = tuple(self._listeners)
        for wake in listeners:
            wake()

    @property
    def listeners(self) -> int:
        return len(self._listeners)

    def _start(self) -> None:
        with self._lock:
            if self._thread is None:
                self._engine.store.listen()
                self._thread = threading.Thread(target=self._run, name="interlock-live", daemon=True)
                self._thread.start()

    def _run(self) -> None:
        soon: list[float] = []
        while not self._closed.is_set():
            hinted = self._hinted.wait(soon.pop(0) if soon else POLL_EVERY)
            self._hinted.clear()
            if hinted:
                soon = list(SOON)
            if not self._listeners:
                with self._lock:
                    self._rows.clear()
                    self._from = None
                soon = []
                continue
            try:
                while self._poll():
                    pass
            except StoreClosed:
                return
            except InterlockError:
                soon = [1.0]  # the database is away; nothing is lost, it is read later
            self._closed.wait(CALM)

    def _poll(self) -> bool:
        """Read new rows. True if there may be more."""
        if self._from is None:
            self._from = self._engine.read(feed.now)
        after = self._rows[-1].position if self._rows else self._from
        found = self._engine.feed(after, limit=1000)
        if not found:
            return False
        with self._lock:
            if len(self._rows) + len(found) > KEPT:
                overflow = len(self._rows) + len(found) - KEPT
                gone = [self._rows.popleft() for _ in range(min(overflow, len(self._rows)))]
                self._from = gone[-1].position if gone else found[-1].position
            self._rows.extend(found[-KEPT:])
            listeners = tuple(self._listeners)
        for wake in listeners:
            wake()
        return len(found) == 1000

    def _kept(self, after: Position, limit: int) -> list[FeedEntry] | None:
        """Rows from memory; None if the position is older than what is kept."""
        with self._lock:
            if self._from is None or after < self._from:
                return None
            start = bisect_right(self._rows, after, key=lambda row: row.position)
            return [self._rows[n] for n in range(start, min(start + limit, len(self._rows)))]

    async def follow(self, after: Position | None) -> AsyncIterator[list[FeedEntry]]:
        """Yield what happens after the position (None: from now on), in order, while the caller listens."""
        loop, awake = asyncio.get_running_loop(), asyncio.Event()

        def wake() -> None:
            with suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(awake.set)

        with self._lock:
            self._listeners.add(wake)
        try:
            self._start()
            here = after if after is not None else await asyncio.to_thread(self._engine.read, feed.now)
            yield []  # listening from here on
            self._hinted.set()
            while not self._closed.is_set():
                awake.clear()
                found = self._kept(here, 500)
                if found is None:
                    found = await asyncio.to_thread(self._engine.feed, here, limit=500)
                if found:
                    here = found[-1].position
                    yield found
                elif not self._closed.is_set():
                    with suppress(TimeoutError):
                        await asyncio.wait_for(awake.wait(), POLL_EVERY)
                    if not self._kept(here, 1):
                        yield []  # nothing is new; lets the caller re-check its permissions
        finally:
            with self._lock:
                self._listeners.discard(wake)

    def close(self) -> None:
        """End every stream and stop following."""
        if self._closed.is_set():
            return
        self._closed.set()
        self._hinted.set()
        self._leave()
        with self._lock:
            listeners = tuple(self._listeners)
        for wake in listeners:
            wake()
        if self._thread is not None:
            self._thread.join(5.0)
