"""A clock that the test controls: a day passes in no time."""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta

from interlock.store import Micros, micros, moment, span

START = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)


class VirtualClock:
    """Stops until the test advances it. It can be set back, to test clock steps."""

    def __init__(self, start: datetime = START) -> None:
        self._lock = threading.Lock()
        self._now = micros(start)
        self._begun = self._now
        self._passed: Micros = 0
        self.set_at = float("-inf")
        """The monotonic time of its last step."""

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
        """Jump forward to a moment. A past moment changes nothing."""
        with self._lock:
            step = max(0, to - self._now)
            self._now += step
            self._passed += step

    def step_back(self, length: timedelta) -> None:
        """Set the wall clock, as an operator or a bad time server does. Monotonic time goes on."""
        self.step_ahead(-length)

    def step_ahead(self, length: timedelta) -> None:
        """Set the wall clock without letting time pass."""
        with self._lock:
            self._now += span(length)
            self.set_at = self._passed / 1_000_000
