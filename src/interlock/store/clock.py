"""One clock: every moment that the engine reads or writes comes from here, never from SQL's now()."""

from __future__ import annotations

import threading
import time
from datetime import UTC, datetime, timedelta
from typing import Protocol

Micros = int
"""A moment as microseconds since 1970 in UTC: what both databases store."""

SECOND: Micros = 1_000_000


class Clock(Protocol):
    """Tells the time. The engine asks only this one."""

    def now(self) -> Micros: ...

    def steady(self) -> float:
        """Seconds that only ever grow, for measuring how long something took."""
        ...


class SystemClock:
    """The machine's clock, corrected to the database's; within a process it never steps back.

    Between two corrections it runs by the clock that cannot be set: when the machine's jumps ahead, leases of others
    are not over.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._begin: Micros = 0
        self._last: Micros = 0
        self.correct(0)

    def now(self) -> Micros:
        with self._lock:
            # A step back would make leases and due times lie in the future, so time stands still instead.
            self._last = max(self._last, self._begin + time.monotonic_ns() // 1000)
            return self._last

    def steady(self) -> float:
        return time.monotonic()

    def correct(self, offset: Micros) -> None:
        """Follow the database's clock, which is `offset` ahead of this machine's."""
        with self._lock:
            self._begin = time.time_ns() // 1000 + offset - time.monotonic_ns() // 1000


def micros(moment: datetime) -> Micros:
    if moment.tzinfo is None:
        raise ValueError(f"{moment!r} has no time zone; give an aware datetime, such as datetime.now(UTC)")
    return round(moment.timestamp() * SECOND)


def moment(at: Micros) -> datetime:
    return datetime.fromtimestamp(at // SECOND, UTC) + timedelta(microseconds=at % SECOND)


def span(length: timedelta) -> Micros:
    return length // timedelta(microseconds=1)
