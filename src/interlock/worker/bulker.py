"""The bulker: runs bulk actions in batches. Every process runs one; each batch is done by one of them."""

from __future__ import annotations

from interlock.engine import Engine, bulk
from interlock.worker.hinted import HintedLoop


class Bulker(HintedLoop):
    """Works while a bulk action is running, and checks for new ones every 5 seconds."""

    name = "bulker"
    pause = 5.0
    hint = bulk.HINT

    def __init__(self, engine: Engine, *, batch: int = bulk.BATCH) -> None:
        super().__init__(engine)
        self._batch = batch

    def once(self) -> bool:
        if not self._engine.read(bulk.anything_running):
            return False
        # None: other processes are working on all of them.
        return self._engine.bulk.step(self._batch) is not None
