"""One clock: every moment that the engine reads or writes comes from here, never from SQL's now()."""

from __future__ import annotations

import logging
import threading
import time
from datetime import UTC, datetime, timedelta
from typing import Protocol

Micros = int
"""A moment as microseconds since 1970 in UTC: what both databases store."""

SECOND: Micros = 1_000_000
STEP: Micros = 2 * SECOND
"""Corrections of more than this are a step: somebody has set a clock."""
MOST_AHEAD: Micros = 36 * 3600 * SECOND
"""A clock of record that steps back further had been wrong before: then it is followed, whatever is late by it."""
log = logging.getLogger("interlock.store")


class Clock(Protocol):
    """Tells the time. The engine asks only this one."""

    def now(self) -> Micros: ...

    def steady(self) -> float:
        """Seconds that only ever grow, for measuring how long something took."""
        ...


class SystemClock:
    """The machine's clock, corrected to the database's; within a process it never steps back.

    Between two corrections it runs by the clock that cannot be set: when the machine's jumps ahead, leases of others
    are not over. When the clock of record is set back, this one goes on at three quarters of its pace until the other
    has caught up: it neither stands still, so that retries and timers would stop, nor hides what was ready before.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._begin: Micros = time.time_ns() // 1000 - time.monotonic_ns() // 1000
        self._ahead: Micros = 0
        """How far it was ahead of the clock of record, at the steady moment `_ahead_at`."""
        self._ahead_at: Micros = 0
        self._last: Micros = 0
        self.set_at = self.steady()
        """The steady moment at which it was last set by more than a hair: how long ago a moment before that is, it
        cannot tell."""

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
        """Follow the database's clock, which is `offset` ahead of this machine's."""
        with self._lock:
            steady = time.monotonic_ns() // 1000
            # Before it was first read there is nothing to go back from: the machine's clock may be an hour ahead.
            before = self._now(steady) if self._last else 0
            begin = time.time_ns() // 1000 + offset - steady
            if abs(begin - self._begin) > STEP:
                self.set_at = self.steady()
            self._begin = begin
            self._be_ahead(before - begin - steady, steady)

    def at_least(self, moment: Micros) -> None:
        """Go on from a moment that the record has seen already, if that lies ahead of this clock."""
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
    """The steady moment at which the clock was last set; long ago for one that does not say."""
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
