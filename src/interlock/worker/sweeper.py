"""The sweeper: fires due timers and takes back the work of lost workers. Every process runs one; one at a time
works.
"""

from __future__ import annotations

from uuid import UUID

from interlock.engine import Engine, WorkerRow, workers
from interlock.engine.due import BATCH, anything_due
from interlock.store import SECOND, last_set
from interlock.worker.loop import Identity, Loop


class Sweeper(Loop):
    """Runs once a second, and again at once while there is more."""

    name = "sweeper"
    pause = 1.0

    def __init__(self, engine: Engine, me: Identity, pause: float = 1.0) -> None:
        super().__init__()
        self._engine, self._me = engine, me
        self.pause = pause
        self._beats: dict[UUID, tuple[int, float]] = {}

    def once(self) -> bool:
        try:
            taken = self._take_back()
        finally:  # due work must not wait for lost workers
            done = self._engine.tick() if self._anything_due() else 0
        return taken >= BATCH or done >= BATCH

    def _take_back(self) -> int:
        dead = self._dead()
        taken = self._engine.take_back(list(dead), dead) if dead else 0
        gone = self._engine.read(workers.gone_with_claims)
        return taken + (self._engine.take_back(gone) if gone else 0)

    def _anything_due(self) -> bool:
        return self._engine.read(lambda conn: anything_due(conn, self._engine.clock.now()))

    def _dead(self) -> dict[UUID, int]:
        """Dead workers with their beat counts: a worker may return before it is declared lost."""
        now = self._engine.clock.now()
        alive = self._engine.read(workers.alive)
        self._beats = {w.id: self._beats[w.id] for w in alive if w.id in self._beats}
        return {w.id: w.beats for w in alive if w.id != self._me.id and self._is_dead(w, now)}

    def _is_dead(self, worker: WorkerRow, now: int) -> bool:
        if self._engine.store.is_dead(worker.lock_file):
            return True
        clock, lease = self._engine.clock, (worker.until - worker.beat_at) / SECOND
        beats, since = self._beats.get(worker.id, (-1, 0.0))
        if beats != worker.beats:
            since = clock.steady()
            self._beats[worker.id] = (worker.beats, since)
        # This many seconds without a beat are enough, whatever the clocks say. The lease that the worker wrote counts
        # only if the clock was not set since every live worker must have beaten; else a step of a day would declare all
        # of them dead.
        if clock.steady() - since > lease:
            return True
        return worker.until < now and clock.steady() - last_set(clock) >= lease
