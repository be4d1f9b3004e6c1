"""The scheduler: starts instances by their schedules. Every process runs one; each run is started once."""

from __future__ import annotations

from interlock.engine import Engine, schedules
from interlock.store import SECOND, Micros
from interlock.worker.hinted import HintedLoop

BATCH = 20
IDLE = 5.0


class Scheduler(HintedLoop):
    """Sleeps until the next schedule is due, and checks every 5 seconds for changes."""

    name = "scheduler"
    pause = IDLE
    hint = schedules.HINT

    def __init__(self, engine: Engine) -> None:
        super().__init__(engine)
        self._next: Micros | None = None

    def once(self) -> bool:
        self._next = self._engine.read(schedules.next_due)
        if self._next is None or self._next > self._engine.clock.now():
            return False
        # None: another process has them locked.
        return self._engine.schedules.due(BATCH) > 0

    def wait(self) -> float:
        if self._next is None:
            return self.pause
        return min(max((self._next - self._engine.clock.now()) / SECOND, 0.05), self.pause)
