"""The heartbeat: renews the worker's lease in its own thread, so that no handler can delay it."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from datetime import timedelta

import sqlalchemy as sa

from interlock.engine import Engine, Fenced, workers
from interlock.store import Micros, SystemClock
from interlock.worker.loop import Identity, Loop

log = logging.getLogger("interlock.worker")


class Heartbeat(Loop):
    """Beats every quarter of the lease, and knows until when other workers trust it."""

    name = "heartbeat"

    def __init__(self, engine: Engine, me: Identity, lease: timedelta, restart: Callable[[], None]) -> None:
        super().__init__()
        self._engine, self._me, self._lease, self._restart = engine, me, lease, restart
        self.pause = lease.total_seconds() / 4
        self._lock = threading.Lock()
        self._trusted_until = engine.clock.steady() + lease.total_seconds()

    def once(self) -> bool:
        # Counted from before the write, by a monotonic clock, so that others cannot take over earlier.
        begun = self._engine.clock.steady()
        offset: Micros = self._engine.store.clock_offset()
        if isinstance(self._engine.clock, SystemClock):
            self._engine.clock.correct(offset)

        def beat(conn: sa.Connection) -> bool:
            workers.beat(conn, self._engine.clock.now(), self._me.id, offset=offset, lease=self._lease)
            return workers.all_know_claims_in_place(conn)

        try:
            self._engine.core.claims_in_place = self._engine.store.vital(beat, name="beat")
        except Fenced as error:
            # Its claims belong to other workers now. Late results of its handlers are refused by their fences.
            log.warning("%s; restarting with a new id", error)
            self._restart()
        with self._lock:
            self._trusted_until = begun + self._lease.total_seconds()
        return False

    def trusted(self) -> bool:
        """Whether the claims of this worker are certainly still valid. Turns False a tenth of the lease early."""
        margin = self._lease.total_seconds() / 10
        with self._lock:
            return self._engine.clock.steady() < self._trusted_until - margin
