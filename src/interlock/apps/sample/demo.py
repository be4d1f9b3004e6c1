"""The demo: a small world that moves by itself, so that there is something to look at."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import sqlalchemy as sa

from interlock.apps.sample.machine import parcel
from interlock.engine import Engine, EngineError
from interlock.machine import USER, Actor, Registry
from interlock.store import Store, StoreError, service, tables
from interlock.worker.loop import Loop

MARK = "demo"
CONTENTS = ("tea", "books", "a kettle", "an anvil", "clock parts", "a violin", "two chairs", "seeds", "a grand piano")
SHOPS = ("north", "south", "harbour")
AT_FIRST = 40
OPEN_REVIEWS = 6
"""So many are left for whoever looks; the demo's own reviewer decides the rest."""
REVIEWER = Actor(USER, "demo reviewer")


def is_demo(conn: sa.Connection) -> bool:
    """Whether the database was filled by the demo."""
    return conn.execute(sa.select(service.cursor.c.pos).where(service.cursor.c.name == MARK)).first() is not None


def is_empty(conn: sa.Connection) -> bool:
    return conn.execute(sa.select(tables.instance.c.id).limit(1)).first() is None


def begin(store: Store, registry: Registry) -> None:
    """An empty database becomes the demo's; one that is somebody's is left alone."""

    def mark(conn: sa.Connection) -> None:
        if is_empty(conn) and not is_demo(conn):
            conn.execute(sa.insert(service.cursor).values(name=MARK, xact=0, pos=1))

    if parcel.name not in registry:
        store.write(mark)


class Demo(Loop):
    """Sends a parcel every few seconds, and decides what has waited long enough."""

    name = "demo"
    pause = 3.0

    def __init__(self, engine: Engine) -> None:
        super().__init__()
        self._engine = engine
        self._contents: Iterator[tuple[str, str]] = itertools.cycle(itertools.product(CONTENTS, SHOPS))
        self._begun = False

    def once(self) -> bool:
        if not self._begun and self._engine.read(is_empty):
            for _ in range(AT_FIRST):
                self._send()
        self._begun = True
        self._send()
        self._decide()
        return False

    def _send(self) -> None:
        content, shop = next(self._contents)
        self._engine.create(parcel.name, {"content": content}, labels={"shop": shop}, actor=Actor(USER, f"shop {shop}"))

    def _decide(self) -> None:
        waiting = self._engine.reviews.waiting(limit=50)
        for review in waiting[: max(0, len(waiting) - OPEN_REVIEWS)]:
            try:
                decision = "send back" if review.id.int % 4 == 0 else "clear"
                self._engine.reviews.decide(review.id, decision, actor=REVIEWER, reason="the demo decides by itself")
            except (EngineError, StoreError):
                continue  # somebody was first
