"""The clock: every time that the engine reads or writes comes from here, never from now() in SQL."""

from __future__ import annotations

import logging
import threading
import time
from datetime import UTC, datetime, timedelta
from typing import Protocol

Micros = int
"""A time as microseconds since 1970 in UTC, as both databases store it."""

SECOND: Micros = 1_000_000
STEP: Micros = 2 * SECOND
"""A larger correction is a step: somebody has set a clock."""
MOST_AHEAD: Micros = 36 * 3600 * SECOND
"""If the database's clock steps back further than this, it was wrong before, and is followed at once."""
log = logging.getLogger("interlock.store")


class Clock(Protocol):
    """The only source of time for the engine."""

    def now(self) -> Micros: ...

    def steady(self) -> float:
        """Seconds of a monotonic clock, to measure durations."""
        ...


class SystemClock:
    """The system clock, corrected to the database's clock. Within a process it never steps back.

    Between corrections it follows the monotonic clock: if the system clock jumps ahead, leases of others do not expire.
    If the database's clock is set back, this clock runs at three quarters of its speed until the other has caught up.
    So retries and timers go on, and ready work stays ready.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._begin: Micros = time.time_ns() // 1000 - time.monotonic_ns() // 1000
        self._ahead: Micros = 0
        """How far it was ahead of the database's clock, at the monotonic time `_ahead_at`."""
        self._ahead_at: Micros = 0
        self._last: Micros = 0
        self.set_at = self.steady()
        """The monotonic time of the last step. Durations across it are unknown."""

    def now(self) -> Micros:
        with self._lock:
            return self._now(time.monotonic_ns() // 1000)

    def _now(self, steady: Micros) -> Micros:
        here = self._begin + steady
        if self._ahead:
            self._ahead = max(0, self._ahead - (steady - self._ahead_at) // 4)
            self._ahead_at += (steady - self._ahead_at) // 4 * 4
            here += self._ahead
        self._last = max(self._last, here)
        return self._last

    def steady(self) -> float:
        return time.monotonic()

    def correct(self, offset: Micros) -> None:
        """Follow the database's clock, which is `offset` ahead of the system clock."""
        with self._lock:
            steady = time.monotonic_ns() // 1000
            # Before its first use it may step back: the system clock may be an hour ahead.
            before = self._now(steady) if self._last else 0
            begin = time.time_ns() // 1000 + offset - steady
            if abs(begin - self._begin) > STEP:
                self.set_at = self.steady()
            self._begin = begin
            self._be_ahead(before - begin - steady, steady)

    def at_least(self, moment: Micros) -> None:
        """Go on from this time, which was recorded already, if it is ahead of this clock."""
        with self._lock:
            steady = time.monotonic_ns() // 1000
            ahead = moment - self._now(steady)
            if ahead > 0:
                self._be_ahead(self._ahead + ahead, steady)

    def _be_ahead(self, ahead: Micros, steady: Micros) -> None:
        if ahead > MOST_AHEAD:
            log.error(
                "the clock of record is %s behind what it said before; following it: what is due is late by that",
                timedelta(microseconds=ahead),
            )
            ahead, self._last, self.set_at = 0, 0, self.steady()
        self._ahead, self._ahead_at = max(0, ahead), steady


def last_set(clock: Clock) -> float:
    """The monotonic time of the clock's last step; long ago if the clock does not record it."""
    found: float = getattr(clock, "set_at", float("-inf"))
    return found


def micros(moment: datetime) -> Micros:
    if moment.tzinfo is None:
        raise ValueError(f"{moment!r} has no time zone; give an aware datetime, such as datetime.now(UTC)")
    return round(moment.timestamp() * SECOND)


def moment(at: Micros) -> datetime:
    return datetime.fromtimestamp(at // SECOND, UTC) + timedelta(microseconds=at % SECOND)


def span(length: timedelta) -> Micros:
    return length // timedelta(microseconds=1)
