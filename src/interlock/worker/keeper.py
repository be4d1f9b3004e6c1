"""The keeper: removes expired data, and creates future partitions of the history."""

from __future__ import annotations

import logging

from interlock.config import Settings
from interlock.engine import Engine
from interlock.engine.cleanup import clean_up
from interlock.engine.retention.policies import Policy, Retention
from interlock.store import StoreBusy, partitions
from interlock.worker.loop import Loop

log = logging.getLogger("interlock.worker")
LONGEST_REST = 2.0
"""The longest pause between two batches, in seconds."""


class Keeper(Loop):
    """Runs every hour, or as configured. Between two batches it pauses as long as the last one took."""

    name = "keeper"

    def __init__(self, engine: Engine, settings: Settings) -> None:
        super().__init__()
        self.pause = settings.retention.every * 60
        self._engine, self._policy = engine, Policy.of(settings)

    def once(self) -> bool:
        try:
            made = partitions.look_ahead(self._engine.store, self._engine.clock.now())
        except StoreBusy:
            made = []  # there are partitions in stock, and it runs again
        if made:
            log.info("made %s", ", ".join(made))
        gone = clean_up(self._engine, stopping=lambda: self.stopping, rest=self._rest)
        if gone:
            log.info("deleted %s", ", ".join(f"{n} of {name}" for name, n in sorted(gone.items())))
        if not self._policy.wanted:
            return False
        report = Retention(self._engine, self._policy).run(stopping=lambda: self.stopping, rest=self._rest)
        if report.total:
            log.info(
                "removed %d instances and %d other rows, archived in %s",
                report.instances.total(),
                report.rows.total(),
                ", ".join(path.name for path in report.files),
            )
        return False

    def _rest(self, took: float) -> None:
        self._stopping.wait(min(took, LONGEST_REST))
