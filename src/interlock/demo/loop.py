"""The demo's loop: first it plays the past, then something new begins every few seconds and people act."""

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
"""So many of each part begin after the past was played."""
AT_ONCE = 3
"""So many are reacted to in a round, of each state."""
LETTERS, MESSAGES = 6, 40
"""So many dead letters, and messages that nobody delivers, are left to be seen."""


class Demo(Loop):
    """Keeps a small world in motion."""

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
        """Nothing is done before this: a service starts undisturbed."""
        self._luck = random.Random(seed)  # noqa: S311 - only the demo's
        self._parts = parts_of(engine.registry)
        self._stories = stories
        self._open = False

    def wait(self) -> float:
        return self._luck.uniform(2.0, 4.0)

    def once(self) -> bool:
        if self._after is not None and not self._after.wait(0.1):
            return True
        if not self._open:
            return self._begin()
        part = self._luck.choices(self._parts, [part.share for part in self._parts])[0]
        self._try(partial(part.begin, self._engine, self._luck, ""))
        self._react()
        self._tidy()
        return False

    def _begin(self) -> bool:
        """A piece of the past, and in the end what the present begins with; True while there is more."""
        if self._engine.read(mark.is_open):
            self._open = True
            return True
        surroundings.put_up(self._engine, self._parts)
        past = Past(self._engine, self._parts, self._stories)
        while not self.stopping and past.play():
            pass
        if self.stopping:
            return False
        for part in self._parts:
            for _ in range(AT_FIRST):
                part.begin(self._engine, self._luck, "")
        for part in self._parts:
            if part.opening is not None:
                self._try(partial(part.opening, self._engine, self._luck))
        self._engine.store.write(mark.opened)
        return True

    def _react(self) -> None:
        for part in self._parts:
            if part.each is not None:
                self._try(partial(part.each, self._engine, self._luck))
            for (machine, state), left in part.waiting.items():
                waiting = oldest(self._engine, machine, state, left + AT_ONCE)
                for found in waiting[: max(0, len(waiting) - left)]:
                    self._try(partial(part.react, self._engine, found, self._luck))

    def _tidy(self) -> None:
        """Nothing grows for ever: what is more than a page shows is dealt with."""
        engine = self._engine
        for letter in self._beyond(tables.dead_letter, "open", LETTERS):
            self._try(partial(engine.dead_letters.discard, letter, actor=IVO, note="seen"))
        for message in self._beyond(tables.outbox, "waiting", MESSAGES):
            self._try(partial(engine.outbox.discard, message, actor=MARA, note="nobody delivers it here"))

    def _beyond(self, table: sa.Table, status: str, left: int) -> list[UUID]:
        """Some of those that are older than the newest."""
        query = sa.select(table.c.id).where(table.c.status == status).order_by(table.c.id.desc())
        return self._engine.read(lambda conn: list(conn.execute(query.offset(left).limit(AT_ONCE)).scalars()))

    def _try(self, deed: Callable[[], object]) -> None:
        """A person or a worker may be first, and the database may be busy: then it is not done."""
        try:
            deed()
        except StoreClosed:
            raise
        except (EngineError, StoreError):
            return
