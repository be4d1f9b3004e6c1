"""The processes that are killed while sandboxes are borrowed and given back, and what must hold afterwards."""

from __future__ import annotations

import logging
import threading
from dataclasses import dataclass
from datetime import timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any
from uuid import UUID

import sqlalchemy as sa

from interlock.apps.sessions import registry
from interlock.apps.sessions.allocator import pool
from interlock.apps.sessions.allocator.standalone import create_app
from interlock.apps.sessions.machine import loan, session
from interlock.apps.sessions.settings import SessionSettings
from interlock.apps.sessions.tables import sandbox_borrow as B
from interlock.apps.sessions.tables import sandbox_loan
from interlock.config import Settings
from interlock.engine import Engine
from interlock.engine.application import instances
from interlock.http.server import InThread
from interlock.http.service import Service
from interlock.store import Store, open_store
from interlock.testing import START, broken_laws
from tests.apps.sessions.loans.world import REPO, SessionWorld, make_repository
from tests.support.killing import die_at

SIZE = 2


@dataclass(frozen=True)
class Orders:
    """What a victim does, and where it dies."""

    url: str
    folder: Path
    turn: int
    """Each victim lives an hour after the one before."""
    point: str = ""
    times: int = 1
    subscriber: str = ""
    """The address that is notified of borrows and returns."""


def write_done(tree: Path) -> None:
    (tree / "done.txt").write_text("done\n")


def world_of(orders: Orders, store: Store) -> SessionWorld:
    """The world as the victim before left it; its worker is declared lost."""
    given: dict[str, Any] = {"pool_size": SIZE, "repos": {REPO: str(make_repository(orders.folder / "source"))}}
    if orders.subscriber:
        notified = {"subscribers": {"it": {"post": orders.subscriber, "must_succeed": True}}}
        given["allocator"] = {"borrow": notified, "give_back": notified}
    start = START + timedelta(hours=orders.turn)
    world = SessionWorld(store, orders.folder, SessionSettings.model_validate(given), start=start)
    world.agent = write_done
    before = orders.folder / "worker"
    if before.exists():
        world.lose(UUID(before.read_text()))
    before.write_text(str(world.worker))
    return world


def run(orders: Orders) -> None:
    """Finish what the victim before left behind, then take one session through its life until the point comes.

    Each loan therefore loses one worker: three would be poison.
    """
    logging.disable()
    with open_store(orders.url, durability="normal", wakeup="poll") as store, world_of(orders, store) as world:
        if not orders.point.startswith("fill_pool"):
            world.go_on(150)
        die_at(orders.point, orders.times)
        world.begin()
        world.go_on(150)


def conserved(store: Store) -> None:
    """What holds at every moment, also while a victim lies dead: every item is counted, and has one borrower."""
    (counts,) = store.read(pool.all_counts) or [pool.Counts("local")]
    assert counts.total in {0, SIZE}
    assert store.read(pool.miscounted) == []
    assert lent_twice(store) == []


def lent_twice(store: Store) -> list[UUID]:
    """Items that had two borrowers at the same time."""
    rows = store.read(lambda conn: conn.execute(sa.select(B).order_by(B.c.item_id, B.c.borrowed_at)).all())
    return [
        a.item_id
        for a, b in pairwise(rows)
        if a.item_id == b.item_id and (a.ended_at or b.borrowed_at + 1) > b.borrowed_at
    ]


def all_is_well(orders: Orders, sessions: int) -> None:
    """A survivor finishes everything: no sandbox is lost, no session is stuck, and all work is on its branch."""
    with open_store(orders.url, durability="normal", wakeup="poll") as store, world_of(orders, store) as world:
        world.go_on(300)
        conserved(store)
        found = store.read(lambda conn: instances(conn, session.name, limit=1000))
        assert len(found) >= sessions
        assert {one.state for one in found} == {"needs_review_ip_returned"}
        assert {one.state for one in store.read(lambda conn: instances(conn, loan.name, limit=1000))} == {"returned"}
        open_rows = sa.select(sandbox_loan.c.loan_id).where(sandbox_loan.c.ended_at.is_(None))
        assert store.read(lambda conn: conn.execute(open_rows).all()) == []
        assert (world.counts().free, world.counts().total) == (SIZE, SIZE)
        assert world.engine.dead_letters.find() == []
        assert {world.show(one.id, "done.txt") for one in found} == {"done"}
        assert broken_laws(world.engine) == []


# -- the allocator as a process of its own


@dataclass(frozen=True)
class Serving:
    """An allocator that listens on a port, and where it dies."""

    url: str
    port: int
    point: str = ""


TOKEN = "the-token-of-the-tests"


def serve(orders: Serving) -> None:
    logging.disable()
    with open_store(orders.url, durability="normal", wakeup="poll") as store:
        engine = Engine(store, registry)
        service = Service(engine, Settings())
        if not store.read(pool.all_counts):
            engine.write(lambda unit: [pool.add(unit, "local", pool.canonical({"n": n})) for n in range(SIZE)])
        die_at(orders.point, 1)
        with InThread(create_app(service, TOKEN), service, port=orders.port):
            threading.Event().wait()
