"""A clock that a test sets: a day passes in no time."""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta

from interlock.store import Micros, micros, moment, span

START = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)


class VirtualClock:
    """Stands still until it is told to go on. It can be set back, to see what that does."""

    def __init__(self, start: datetime = START) -> None:
        self._lock = threading.Lock()
        self._now = micros(start)
        self._begun = self._now
        self._passed: Micros = 0
        self.set_at = float("-inf")
        """The steady moment at which it last stepped."""

    def now(self) -> Micros:
        with self._lock:
            return self._now

    def steady(self) -> float:
        with self._lock:
            return self._passed / 1_000_000

    @property
    def time(self) -> datetime:
        return moment(self.now())

    def advance(self, length: timedelta) -> None:
        with self._lock:
            self._now += span(length)
            self._passed += max(0, span(length))

    def set(self, to: Micros) -> None:
        """Jump forward to a moment; one in the past changes nothing."""
        with self._lock:
            step = max(0, to - self._now)
            self._now += step
            self._passed += step

    def step_back(self, length: timedelta) -> None:
        """What an operator or a bad time server does. Steady time goes on."""
        self.step_ahead(-length)

    def step_ahead(self, length: timedelta) -> None:
        """The same in the other direction: moments jump, and no time has passed."""
        with self._lock:
            self._now += span(length)
            self.set_at = self._passed / 1_000_000
