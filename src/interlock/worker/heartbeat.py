"""The heartbeat: this process lives. In a thread of its own, so that no handler can make it miss a beat."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from datetime import timedelta

from interlock.engine import Engine, Fenced, workers
from interlock.store import Micros, SystemClock
from interlock.worker.loop import Identity, Loop

log = logging.getLogger("interlock.worker")


class Heartbeat(Loop):
    """Beats every quarter of the lease, and knows until when others trust it."""

    name = "heartbeat"

    def __init__(self, engine: Engine, me: Identity, lives: timedelta, reborn: Callable[[], None]) -> None:
        super().__init__()
        self._engine, self._me, self._lives, self._reborn = engine, me, lives, reborn
        self.pause = lives.total_seconds() / 4
        self._lock = threading.Lock()
        self._trusted_until = engine.clock.steady() + lives.total_seconds()

    def once(self) -> bool:
        # Counted from before the write, and by a clock that cannot be set: others cannot give it away earlier.
        begun = self._engine.clock.steady()
        offset: Micros = self._engine.store.clock_offset()
        if isinstance(self._engine.clock, SystemClock):
            self._engine.clock.correct(offset)
        try:
            self._engine.store.vital(
                lambda conn: workers.beat(
                    conn, self._engine.clock.now(), self._me.id, offset=offset, lives=self._lives
                ),
                name="beat",
            )
        except Fenced as told:
            # What it held is others' now; whatever its handlers still bring is refused by their fences.
            log.warning("%s; it starts anew", told)
            self._reborn()
        with self._lock:
            self._trusted_until = begun + self._lives.total_seconds()
        return False

    def trusted(self) -> bool:
        """Whether what this worker holds is surely still its own; False a tenth of the lease early."""
        margin = self._lives.total_seconds() / 10
        with self._lock:
            return self._engine.clock.steady() < self._trusted_until - margin
