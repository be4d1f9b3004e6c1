"""The roller: adds up the history for pages and alerts. Every process runs one; one at a time works."""

from __future__ import annotations

import time
from collections.abc import Callable

from interlock.engine import Engine
from interlock.store.database import HISTORY
from interlock.watch import rollups
from interlock.worker.loop import Loop

SHORTEST = 0.25
PRUNE_EVERY = 600.0
SMALL_BATCH = 1_000
"""For a database with one writer: a batch of 1,000 rows blocks it for 10 ms, one of 20,000 for 230 ms."""


class Roller(Loop):
    """Runs when something happened, at most four times a second, and every two seconds anyway."""

    name = "roller"
    pause = 2.0

    def __init__(self, engine: Engine, *, pause: float = 2.0, shortest: float = SHORTEST) -> None:
        super().__init__()
        self._engine = engine
        self.pause, self._shortest = pause, shortest
        self._limit = SMALL_BATCH if engine.store.one_writer else rollups.BATCH
        self._last = -shortest
        self._pruned = time.monotonic()
        self._leave: Callable[[], None] | None = None

    def start(self) -> None:
        self._engine.store.listen()
        self._leave = self._engine.store.subscribe(self._hinted)
        super().start()

    def stop(self) -> None:
        if self._leave is not None:
            self._leave()
            self._leave = None
        super().stop()

    def _hinted(self, names: frozenset[str]) -> None:
        if not names or HISTORY in names:
            self.wake()

    def once(self) -> bool:
        self._stopping.wait(max(0.0, self._last + self._shortest - time.monotonic()))
        self._last = time.monotonic()
        if self._engine.read(rollups.behind):
            while self._engine.write(lambda unit: rollups.roll(unit, self._limit), name="roll") and not self.stopping:
                pass
        if time.monotonic() - self._pruned > PRUNE_EVERY:
            self.prune()
        return False

    def prune(self) -> None:
        """Delete expired sums in small batches."""
        self._pruned = time.monotonic()
        if self._engine.read(lambda conn: rollups.anything_old(conn, self._engine.clock.now())):
            while self._engine.write(rollups.prune, name="prune") and not self.stopping:
                pass
