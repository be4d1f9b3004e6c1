"""Threads for plain handlers. One that never returns is given up, and another takes its place."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable


class Place:
    """A thread's place; given up, the thread ends as soon as its handler returns, if ever."""

    def __init__(self) -> None:
        self.given_up = False


class Threads:
    """Runs jobs on at most `size` threads, made when they are needed, not counting those given up."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._jobs: queue.SimpleQueue[tuple[Callable[[], None], Callable[[Place], None]] | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._threads = 0
        self._idle = 0
        self._waiting = 0
        self.given_up = 0

    def submit(self, job: Callable[[], None], started: Callable[[Place], None]) -> None:
        with self._lock:
            self._waiting += 1
            self._grow()
        self._jobs.put((job, started))

    def _grow(self) -> None:
        """Every idle thread takes one waiting job, so a job beyond those needs a thread of its own."""
        if self._waiting > self._idle and self._threads < self._size:
            self._threads += 1
            self._idle += 1
            threading.Thread(target=self._run, args=(Place(),), name="interlock-handler", daemon=True).start()

    def _run(self, place: Place) -> None:
        while True:
            item = self._jobs.get()
            if item is None:
                return
            with self._lock:
                self._idle -= 1
                self._waiting -= 1
            job, started = item
            started(place)
            job()
            with self._lock:
                if place.given_up:
                    return
                self._idle += 1

    def give_up(self, place: Place) -> None:
        """The thread in this place will not come back: count it out."""
        with self._lock:
            if not place.given_up:
                place.given_up = True
                self.given_up += 1
                self._threads -= 1
                self._grow()

    def close(self) -> None:
        with self._lock:
            waiting = self._threads
        for _ in range(waiting):
            self._jobs.put(None)
