"""The demo's loop: it writes the past, then starts something every few seconds and lets people act."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from functools import partial
from uuid import UUID

import sqlalchemy as sa

from interlock.demo import mark, surroundings
from interlock.demo.part import IVO, MARA, oldest
from interlock.demo.parts import parts_of
from interlock.demo.past import STORIES, Past
from interlock.engine import Engine, EngineError
from interlock.store import StoreClosed, StoreError, tables
from interlock.worker.loop import Loop

AT_FIRST = 1
"""How many instances of each part begin once the past is written."""
AT_ONCE = 3
"""How many instances of each state get a reaction in a round."""
LETTERS, MESSAGES = 6, 40
"""How many dead letters and undelivered messages are left on the pages."""


class Demo(Loop):
    """Keeps the demo moving."""

    name = "demo"
    pause = 3.0

    def __init__(
        self,
        engine: Engine,
        *,
        after: threading.Event | None = None,
        stories: int = STORIES,
        seed: int | None = None,
    ) -> None:
        super().__init__()
        self._engine = engine
        self._after = after
        """The loop waits for this event, so that the service starts undisturbed."""
        self._rng = random.Random(seed)  # noqa: S311 - only the demo's
        self._parts = parts_of(engine.registry)
        self._stories = stories
        self._started = False
        self._ready = False

    def wait(self) -> float:
        return self._rng.uniform(2.0, 4.0)

    def once(self) -> bool:
        if self._after is not None and not self._after.wait(0.1):
            return True
        if not self._started:
            for part in self._parts:
                if part.start is not None:
                    part.start(self._engine)
            self._started = True
        if not self._ready:
            return self._begin()
        part = self._rng.choices(self._parts, [part.share for part in self._parts])[0]
        self._try(partial(part.begin, self._engine, self._rng, ""))
        self._react()
        self._tidy()
        return False

    def _begin(self) -> bool:
        """Write the past, then start the present. Returns whether to go on at once."""
        if self._engine.read(mark.is_ready):
            self._ready = True
            return True
        surroundings.set_up(self._engine, self._parts)
        past = Past(self._engine, self._parts, self._stories)
        while not self.stopping and past.write_next():
            pass
        if self.stopping:
            return False
        for part in self._parts:
            for _ in range(AT_FIRST):
                part.begin(self._engine, self._rng, "")
        for part in self._parts:
            if part.opening is not None:
                self._try(partial(part.opening, self._engine, self._rng))
        if self._engine.core.audit_keys is not None:  # the past is dated back, so it would look long unsigned
            self._try(self._engine.checkpoint)
        self._engine.store.write(mark.set_ready)
        return True

    def _react(self) -> None:
        for part in self._parts:
            if part.each is not None:
                self._try(partial(part.each, self._engine, self._rng))
            for (machine, state), left in part.waiting.items():
                waiting = oldest(self._engine, machine, state, left + AT_ONCE)
                for found in waiting[: max(0, len(waiting) - left)]:
                    self._try(partial(part.react, self._engine, found, self._rng))

    def _tidy(self) -> None:
        """Discard dead letters and messages beyond what a page shows, so that nothing grows forever."""
        engine = self._engine
        for letter in self._older(tables.dead_letter, "open", LETTERS):
            self._try(partial(engine.dead_letters.discard, letter, actor=IVO, note="seen"))
        for message in self._older(tables.outbox, "waiting", MESSAGES):
            self._try(partial(engine.outbox.discard, message, actor=MARA, note="nobody delivers it here"))

    def _older(self, table: sa.Table, status: str, left: int) -> list[UUID]:
        """Some rows older than the newest `left`."""
        query = sa.select(table.c.id).where(table.c.status == status).order_by(table.c.id.desc())
        return self._engine.read(lambda conn: list(conn.execute(query.offset(left).limit(AT_ONCE)).scalars()))

    def _try(self, action: Callable[[], object]) -> None:
        """Ignore a refusal: a person or a worker may be first, or the database busy."""
        try:
            action()
        except StoreClosed:
            raise
        except (EngineError, StoreError):
            return
