"""The past: histories of the last day, written with a clock that is set back, a few stories per transaction.

A story creates an instance, runs its acts and lets people act, at times between then and now. It is one transaction,
so the workers of the service see only the result. A story claims only its own work: what earlier stories left is due
later than any time that a story reaches.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from uuid import UUID, uuid5

import sqlalchemy as sa

from interlock.demo import mark
from interlock.demo.part import Part
from interlock.engine import Claim, Engine, EngineError, Instance, Result, lineage, workers
from interlock.engine.unit import load
from interlock.machine import Fail, Kind, Outcome
from interlock.store import SECOND, Micros, SystemClock
from interlock.store import tables as t
from interlock.worker.port import EnginePort
from interlock.worker.task import make_task

I = t.instance  # noqa: E741
STORIES = 170
"""Random stories, in addition to the scenes."""
HOURS = 26.0
HOUR = 3600 * SECOND
RECENT = 120 * SECOND
"""Stories end at least this long ago."""
LONGEST_STEP = 20.0
"""Seconds; four of them fit between the last claim and now."""
MOST_ROUNDS = 80
WORKER = uuid5(UUID(int=0), "interlock demo: the worker of the past")


class PastClock:
    """The time within the current story."""

    def __init__(self) -> None:
        self._at: Micros = 0

    def now(self) -> Micros:
        return self._at

    def steady(self) -> float:
        return self._at / SECOND

    def begin(self, at: Micros) -> None:
        self._at = at

    def to(self, at: Micros) -> None:
        self._at = max(self._at, at)


@dataclass(frozen=True, slots=True)
class Story:
    """An instance of a part, from its start some hours ago."""

    part: Part
    hours_ago: float
    seed: str
    """Its own seed: the stories of a part do not depend on which other parts there are."""
    fate: str = ""
    left: bool = False


def stories(parts: Sequence[Part], count: int, seed: int = 7) -> list[Story]:
    """The scenes and `count` more, oldest first; always the same ones."""
    parts = [part for part in parts if part.past]
    rng = random.Random(seed)  # noqa: S311 - only the demo's
    found = [
        Story(part, s.hours_ago, f"{part.name} scene {n}", s.fate, s.left)
        for part in parts
        for n, s in enumerate(part.scenes)
    ]
    shares = [part.share for part in parts]
    found += [
        Story(part, 0.1 + HOURS * rng.random() ** 1.3, f"{part.name} {n}", left=rng.random() < 0.06)
        for n, part in enumerate(rng.choices(parts, shares, k=count))
    ]
    return sorted(found, key=lambda story: -story.hours_ago)


class Past:
    """Writes the stories one after the other. Another process, or a later start, continues where this one stopped."""

    def __init__(self, engine: Engine, parts: Sequence[Part], count: int = STORIES) -> None:
        self._store = engine.store
        self._present = SystemClock()
        self._clock = PastClock()
        self._engine = Engine(
            engine.store, engine.registry, clock=self._clock, migrate_schema=False, register=False, seed=1
        )
        self._engine.core.settings = engine.core.settings
        self._stories = stories(parts, count)
        self._queues = sorted({engine.registry[name].queue for part in parts for name in part.acts})

    def write_next(self, batch: int = 4) -> bool:
        """Write the next few stories in one transaction; returns whether there are more."""
        return self._store.write(lambda conn: self._write_next(conn, batch), name="demo")

    def _write_next(self, conn: sa.Connection, batch: int) -> bool:
        number = mark.stories_written(conn)
        if number == 0:
            self._add_past_worker(conn)
        now = self._present.now()
        for story in self._stories[number : number + batch]:
            # Seeded: the transaction may run twice and must do the same again.
            _StoryRun(self, conn, story, random.Random(story.seed), now).run()  # noqa: S311
        mark.set_stories_written(conn, max(number, min(number + batch, len(self._stories))))
        return number + batch < len(self._stories)

    def _add_past_worker(self, conn: sa.Connection) -> None:
        """Register the worker that did the work of the past, as stopped."""
        began = self._present.now() - round(HOURS * HOUR)
        workers.start(conn, began, WORKER, host="demo", pid=0, queues=self._queues, lock_file=None)
        workers.mark(conn, WORKER, "stopped")


class _StoryRun:
    """Runs one story."""

    def __init__(self, past: Past, conn: sa.Connection, story: Story, rng: random.Random, now: Micros) -> None:
        self._clock = past._clock
        self._engine = past._engine.within(conn)
        self._story, self._rng = story, rng
        self._latest = now - RECENT
        self._clock.begin(min(now - round(story.hours_ago * HOUR), self._latest))

    def run(self) -> None:
        root = self._story.part.begin(self._engine, self._rng, self._story.fate)
        for _ in range(MOST_ROUNDS):
            now = self._clock.now()
            tree = self._tree(root)
            # Only the queues with ready work: asking all of them took more than half of the time.
            ready = {one.queue for one in tree if one.wake == "work" and (one.due_at or 0) <= now}
            if now > self._latest or not (self._work(ready) if ready else self._next(tree)):
                return

    def _work(self, queues: set[str]) -> bool:
        claims = self._engine.claim(WORKER, sorted(queues), 4, turn=1)
        for claim in claims:
            self._clock.to(self._clock.now() + round(self._rng.uniform(0.4, LONGEST_STEP) * SECOND))
            self._engine.finish([Result(claim, self._outcome(claim))])
        return bool(claims)

    def _outcome(self, claim: Claim) -> Outcome:
        act = self._story.part.acts[claim.machine.name][claim.state]
        try:
            return act(make_task(claim, EnginePort(self._engine, claim)), self._rng)
        except Exception as error:
            return Fail(error)

    def _tree(self, root: UUID) -> list[Instance]:
        query = sa.select(I).where(lineage.family(root)).order_by(I.c.id)
        return self._engine.read(lambda conn: load(conn, conn.execute(query).all()))

    def _next(self, tree: list[Instance]) -> bool:
        """Advance to the next time at which something is due or somebody acts; False when that is too recent."""
        moments = [at for one in tree for at in (one.due_at, one.timer_at) if at is not None]
        due = min(moments, default=None)
        waiting = [] if self._story.left else [one for one in tree if self._waits(one)]
        usual = self._story.part.minutes * 60 * SECOND
        acts_at = self._clock.now() + round(self._rng.lognormvariate(0.0, 0.8) * usual) if waiting else None
        if due is not None and (acts_at is None or due <= acts_at):
            if due > self._latest:
                return False
            self._clock.to(due)
            self._engine.tick()
            return True
        if acts_at is None or acts_at > self._latest:
            return False
        self._clock.to(acts_at)
        with suppress(EngineError):  # refused: the next round does something else
            self._story.part.react(self._engine, self._rng.choice(waiting), self._rng)
        return True

    def _waits(self, one: Instance) -> bool:
        """Whether somebody may act on it; what has failed for good is left for the present."""
        state = self._engine.registry[one.machine].states[one.state]
        return state.kind is not Kind.FAILED and (one.machine, one.state) in self._story.part.waiting
