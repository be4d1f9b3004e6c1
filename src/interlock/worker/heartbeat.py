"""The heartbeat: this process lives. In a thread of its own, so that no handler can make it miss a beat."""

from __future__ import annotations

import threading
from datetime import timedelta
from uuid import UUID

from interlock.engine import Engine, Fenced, workers
from interlock.store import Micros, SystemClock
from interlock.worker.loop import Loop


class Heartbeat(Loop):
    """Beats every quarter of the lease, and knows until when others trust it."""

    name = "heartbeat"

    def __init__(self, engine: Engine, worker: UUID, lives: timedelta) -> None:
        super().__init__()
        self._engine, self._worker, self._lives = engine, worker, lives
        self.pause = lives.total_seconds() / 4
        self._lock = threading.Lock()
        self._trusted_until = engine.clock.steady() + lives.total_seconds()
        self.lost = False
        """Others gave this worker up; it has to start anew under a new id."""

    def once(self) -> bool:
        # Counted from before the write, and by a clock that cannot be set: others cannot give it away earlier.
        begun = self._engine.clock.steady()
        offset: Micros = self._engine.store.clock_offset()
        if isinstance(self._engine.clock, SystemClock):
            self._engine.clock.correct(offset)
        try:
            self._engine.store.write(
                lambda conn: workers.beat(
                    conn, self._engine.clock.now(), self._worker, offset=offset, lives=self._lives
                ),
                name="beat",
            )
        except Fenced:
            self.lost = True
            raise
        with self._lock:
            self._trusted_until = begun + self._lives.total_seconds()
        return False

    def trusted(self) -> bool:
        """Whether what this worker holds is surely still its own; False a tenth of the lease early."""
        margin = self._lives.total_seconds() / 10
        with self._lock:
            return not self.lost and self._engine.clock.steady() < self._trusted_until - margin
