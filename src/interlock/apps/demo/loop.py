"""The demo's loop: first it tells the past, then something new begins every few seconds and people act."""

from __future__ import annotations

import random
from collections.abc import Callable

import sqlalchemy as sa

from interlock.apps.demo import claims, mark, surroundings
from interlock.apps.demo.part import IVO, MARA
from interlock.apps.demo.parts import PART_OF, parts_of
from interlock.apps.demo.past import STORIES, Past
from interlock.engine import Engine, EngineError, Instance
from interlock.engine.unit import load
from interlock.store import StoreClosed, StoreError, tables
from interlock.worker.loop import Loop

I = tables.instance  # noqa: E741
AT_FIRST = 2
"""So many of each part begin when the past is told."""
AT_ONCE = 3
"""So many are reacted to in a round, of each state."""
LETTERS, MESSAGES = 6, 40
"""So many dead letters, and messages that nobody delivers, are left to be seen."""


class Demo(Loop):
    """Keeps a small world in motion."""

    name = "demo"
    pause = 3.0

    def __init__(self, engine: Engine, *, stories: int = STORIES, seed: int | None = None) -> None:
        super().__init__()
        self._engine = engine
        self._luck = random.Random(seed)  # noqa: S311 - only the demo's
        self._parts = parts_of(engine.registry)
        self._past = Past(engine, self._parts, stories)
        self._told = False

    def wait(self) -> float:
        return self._luck.uniform(2.0, 4.0)

    def once(self) -> bool:
        if not self._told:
            return self._begin()
        part = self._luck.choices(self._parts, [part.share for part in self._parts])[0]
        self._try(lambda: part.begin(self._engine, self._luck, ""))
        self._react()
        self._tidy()
        return False

    def _begin(self) -> bool:
        """A piece of the past, and in the end what the present begins with; True while there is more."""
        if self._engine.read(mark.is_open):
            self._told = True
            return True
        surroundings.put_up(self._engine, {name for part in self._parts for name in part.acts})
        while not self.stopping and self._past.tell():
            pass
        if self.stopping:
            return False
        for part in self._parts:
            for _ in range(AT_FIRST):
                part.begin(self._engine, self._luck, "")
        self._claim_some()
        self._engine.store.write(mark.opened)
        return True

    def _claim_some(self) -> None:
        """Agents at work from the first moment, so that leases are held."""
        for number, found in enumerate(self._oldest("job", claims.DISCOVERED, len(claims.AGENTS))):
            run_id = f"r{self._luck.randrange(36**6):010}"
            self._try(lambda job=found, n=number, r=run_id: claims.claim(self._engine, job, claims.AGENTS[n], r))  # type: ignore[misc]

    def _react(self) -> None:
        for part in self._parts:
            for (machine, state), left in part.waiting.items():
                waiting = self._oldest(machine, state, left + AT_ONCE)
                for found in waiting[: max(0, len(waiting) - left)]:
                    self._try(lambda one=found, of=part: of.react(self._engine, one, self._luck))  # type: ignore[misc]

    def _oldest(self, machine: str, state: str, count: int) -> list[Instance]:
        """Those that have been in the state for longest, of the demo's own making."""
        query = sa.select(I).where(I.c.machine == machine, I.c.state == state, I.c.paused_at.is_(None))
        query = query.order_by(I.c.entered_at).limit(count)
        return self._engine.read(lambda conn: load(conn, conn.execute(query).all()))

    def _tidy(self) -> None:
        """Nothing grows for ever: what is more than a page shows is dealt with."""
        letters = self._engine.dead_letters.find(limit=LETTERS + AT_ONCE)
        for letter in letters[LETTERS:]:
            if letter.machine in PART_OF:
                self._try(lambda one=letter: self._engine.dead_letters.discard(one.id, actor=IVO, note="seen"))  # type: ignore[misc]
        O = tables.outbox  # noqa: N806, E741
        query = sa.select(O.c.id).where(O.c.status == "waiting").order_by(O.c.id.desc()).offset(MESSAGES).limit(AT_ONCE)
        for message in self._engine.read(lambda conn: list(conn.execute(query).scalars())):
            self._try(lambda one=message: self._engine.outbox.discard(one, actor=MARA, note="nobody delivers it here"))  # type: ignore[misc]

    def _try(self, deed: Callable[[], object]) -> None:
        """A person or a worker may be first, and the database may be busy: then it is not done."""
        try:
            deed()
        except StoreClosed:
            raise
        except (EngineError, StoreError):
            return


