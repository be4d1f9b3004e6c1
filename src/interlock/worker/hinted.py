"""A loop that is woken when its own kind of work was written down; polling stays the truth."""

from __future__ import annotations

from collections.abc import Callable

from interlock.engine import Engine
from interlock.worker.loop import Loop


class HintedLoop(Loop):
    """Listens for one name among the hints of the store, from its start until it is stopped."""

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
        # SQLite hints without names at each commit of anybody: those are left to the next look.
        if self.hint in names:
            self.wake()
