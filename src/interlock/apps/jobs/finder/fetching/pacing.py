"""The rate per host: who sends a request to a host first reserves a time for it.

A reservation moves the host's next free time on by the interval, so that requests are as far apart as the site wants,
however many wait. A site that answers 429 or 503 with Retry-After is left alone until then.
"""

from __future__ import annotations

from collections import OrderedDict
from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import Protocol

from interlock.store import SECOND, Clock, SystemClock

MOST_HOSTS = 10_000
LONGEST_PAUSE = 3600.0
"""Seconds of Retry-After that are honoured; a site that asks for days is asked again after an hour."""
SHORTEST_PAUSE = 1.0


class Pacer(Protocol):
    """Decides when the next request may go to a host."""

    async def reserve(self, host: str, interval: float, most: float = float("inf")) -> float:
        """Seconds to wait before the request. When they are more than `most`, nothing was reserved."""
        ...

    async def block(self, host: str, seconds: float) -> None:
        """Let nobody send a request to the host for so long."""
        ...


class MemoryPacer:
    """The rate within one process."""

    def __init__(self, clock: Clock | None = None) -> None:
        self._clock = clock or SystemClock()
        self._next: OrderedDict[str, float] = OrderedDict()

    async def reserve(self, host: str, interval: float, most: float = float("inf")) -> float:
        now = self._clock.now() / SECOND
        start = max(self._next.get(host, now), now)
        if start - now <= most:
            self._keep(host, start + interval)
        return start - now

    async def block(self, host: str, seconds: float) -> None:
        now = self._clock.now() / SECOND
        self._keep(host, max(self._next.get(host, now), now + seconds))

    def _keep(self, host: str, at: float) -> None:
        self._next[host] = at
        self._next.move_to_end(host)
        while len(self._next) > MOST_HOSTS:  # the oldest is hardly ever still waited for
            self._next.popitem(last=False)


def pause(retry_after: str | None, now: float) -> float | None:
    """The seconds that a header Retry-After asks for, at most an hour; `now` in seconds since 1970.

    A header that cannot be read asks for the shortest pause, no header for none.
    """
    if retry_after is None:
        return None
    text = retry_after.strip()
    if text.isascii() and text.isdecimal():
        return min(max(float(text[:12]), SHORTEST_PAUSE), LONGEST_PAUSE)
    try:
        date = parsedate_to_datetime(text)
        wanted = (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp() - now
    except (ValueError, TypeError, IndexError, OverflowError):
        return SHORTEST_PAUSE
    return min(max(wanted, SHORTEST_PAUSE), LONGEST_PAUSE)
