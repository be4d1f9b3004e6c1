"""A loop that store hints can wake early. Polling remains authoritative."""

from __future__ import annotations

from collections.abc import Callable

from interlock.engine import Engine
from interlock.worker.loop import Loop


class HintedLoop(Loop):
    """Listens for one name among the store's hints, from its start until it is stopped."""

    hint: str

    def __init__(self, engine: Engine) -> None:
        super().__init__()
        self._engine = engine
        self._leave: Callable[[], None] | None = None

    def start(self) -> None:
        self._engine.store.listen()
        self._leave = self._engine.store.subscribe(self._hinted)
        super().start()

    def stop(self) -> None:
        leave, self._leave = self._leave, None
        if leave is not None:
            leave()
        super().stop()

    def _hinted(self, names: frozenset[str]) -> None:
        # SQLite sends hints without names at each commit; the next poll covers those.
        if self.hint in names:
            self.wake()
