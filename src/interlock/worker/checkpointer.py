"""The checkpointer: signs the history at intervals, and once more when its process stops."""

from __future__ import annotations

import logging

from interlock.config import Settings
from interlock.engine import Engine
from interlock.engine.audit import checkpointing, checkpoints
from interlock.store import SECOND
from interlock.worker.loop import Loop

log = logging.getLogger("interlock.audit")
LONGEST_PAUSE = 60.0


class Checkpointer(Loop):
    """Writes a checkpoint when the last one is old enough and something has changed. Any process may."""

    name = "checkpointer"

    def __init__(self, engine: Engine, settings: Settings) -> None:
        super().__init__()
        self._engine, self._file = engine, settings.audit.file
        self._every = settings.audit.every * 60
        self.pause = min(self._every, LONGEST_PAUSE)
        self._swept = False
        """Whether this process has already searched all actions for unsigned ones."""

    def once(self) -> bool:
        last = self._engine.read(checkpoints.last)
        now = self._engine.clock.now()
        if last is None or last.at > now or now - last.at >= self._every * SECOND:  # a clock may have been set back
            self.write()
        return False

    def write(self) -> None:
        """Sign everything since the last checkpoint, and write it to the log and to `audit.file`."""
        keys = self._engine.core.audit_keys
        if keys is None:
            return
        kept = checkpoints.last_in_file(self._file)
        now, sweep = self._engine.clock.now(), not self._swept
        try:
            for made in checkpointing.write(self._engine.store, keys, now, kept=kept, sweep=sweep):
                log.info("checkpoint %s", made)
                if self._file is not None:
                    checkpoints.keep(self._file, [made])
        except checkpoints.Forged as error:
            log.error("the history is not signed: %s", error)
        else:
            self._swept = True

    def finish(self) -> None:
        """Write a final checkpoint. Errors must not keep the process from stopping."""
        try:
            self.write()
        except Exception as error:
            log.warning("no checkpoint was written while stopping: %s", error)
