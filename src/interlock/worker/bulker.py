"""The bulker: does bulk actions, batch by batch. Every process may; a batch is done by one."""

from __future__ import annotations

from interlock.engine import Engine, bulk
from interlock.worker.hinted import HintedLoop


class Bulker(HintedLoop):
    """Works while there is a bulk action that runs, and looks every 5 seconds whether there is one."""

    name = "bulker"
    pause = 5.0
    hint = bulk.HINT

    def __init__(self, engine: Engine, *, batch: int = bulk.BATCH) -> None:
        super().__init__(engine)
        self._batch = batch

    def once(self) -> bool:
        if not self._engine.read(bulk.anything_running):
            return False
        # None: other processes have all of them at this moment.
        return self._engine.bulk.step(self._batch) is not None
