"""Threads for plain handlers: few for quick handlers, many for slow ones, and none lost to one that never returns."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Collection
from typing import Protocol

STALL = 0.002


class ThreadSlot:
    """The slot of a thread. An abandoned thread ends when its handler returns, if ever."""

    def __init__(self) -> None:
        self.given_up = False


class Job(Protocol):
    """A job that knows the slot it runs in."""

    slot: ThreadSlot | None

    def __call__(self) -> None: ...


class Threads:
    """Runs jobs on at most `size` threads, not counting abandoned ones.

    One thread runs job after job without sleeping in between. Threads are added, twice as many each time, only when a
    job has waited for 2 ms, which means that handlers are slow. Waking a thread for each trivial handler takes 130 µs
    of processor time an item, where this takes 56.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._jobs: deque[Job] = deque()
        self._lock = threading.Lock()
        self._wanted = threading.Condition(self._lock)
        self._stalling = threading.Condition(self._lock)
        self._threads = 0
        self._idle = 0
        self._called = 0
        self._taken = 0
        self._closed = False
        self._watching = False
        self.given_up = 0

    def submit(self, jobs: Collection[Job]) -> None:
        if not jobs:
            return
        with self._lock:
            self._jobs.extend(jobs)
            waiting = len(jobs)
            if self._idle == self._threads:
                self._more(1)
                waiting -= 1
            if not waiting:
                return
            if not self._watching:
                self._watching = True
                threading.Thread(target=self._watch, name="interlock-threads", daemon=True).start()
            else:
                self._stalling.notify()

    def _more(self, count: int) -> None:
        """Wake or create this many threads. The caller holds the lock."""
        woken = min(count, self._idle)
        self._idle -= woken
        self._called += woken
        self._wanted.notify(woken)
        for _ in range(min(count - woken, self._size - self._threads)):
            self._threads += 1
            threading.Thread(target=self._run, args=(ThreadSlot(),), name="interlock-handler", daemon=True).start()

    def _watch(self) -> None:
        """Add threads while jobs wait."""
        step = 1
        with self._lock:
            while not self._closed:
                if not self._jobs:
                    step = 1
                    self._stalling.wait()
                    continue
                taken = self._taken
                self._stalling.wait(STALL)
                if self._jobs and self._taken - taken < len(self._jobs):
                    self._more(step)
                    step *= 2

    def _run(self, slot: ThreadSlot) -> None:
        while True:
            with self._lock:
                while not self._jobs and not self._closed:
                    self._idle += 1
                    while not self._called and not self._closed:
                        self._wanted.wait()
                    self._called = max(0, self._called - 1)
                if not self._jobs:
                    self._threads -= 1
                    return
                job = self._jobs.popleft()
                self._taken += 1
            job.slot = slot
            job()
            if slot.given_up:
                return

    def give_up(self, slot: ThreadSlot) -> None:
        """Stop counting a thread that will not return."""
        with self._lock:
            if not slot.given_up:
                slot.given_up = True
                self.given_up += 1
                self._threads -= 1
                if self._jobs and self._idle == self._threads:
                    self._more(1)

    def close(self) -> None:
        with self._lock:
            self._closed = True
            self._wanted.notify_all()
            self._stalling.notify_all()
