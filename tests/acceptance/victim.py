"""The process that is killed: a real worker, people beside it, and a hook that ends it at a named point of a commit."""

from __future__ import annotations

import itertools
import logging
import time
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from interlock.engine import Engine, claim_batches
from interlock.store import StoreError
from interlock.worker import Worker
from tests.acceptance.world import Ledger, People, machines, regardless
from tests.support.killing import die_at


@dataclass(frozen=True)
class Orders:
    """What a victim does, and where it dies."""

    url: str
    folder: Path
    batch: int
    """Which parcels it creates."""
    point: str = ""
    """Such as `finish:before`; empty: it goes on until somebody else kills it."""
    times: int = 1
    """It dies when it comes there for the so manieth time."""
    lives: float = 2.0


def opened(url: str, ledger: Ledger) -> Engine:
    """An engine, as soon as there is a database."""
    while True:
        try:
            return Engine(url, machines(ledger))
        except StoreError:
            time.sleep(0.05)


def run(orders: Orders) -> None:
    logging.disable()
    if orders.point:
        die_at(orders.point, orders.times)
    claim_batches.SMALLEST = 2  # this worker claims up to four at once: one as a lease, more in place
    ledger = Ledger(orders.folder)
    engine = opened(orders.url, ledger)
    people = People(engine, ledger)
    worker = Worker(engine, concurrency=4, lease=timedelta(seconds=orders.lives), sweep_every=0.05)
    begun = False
    while not begun:
        with regardless():
            worker.start()
            begun = True
    for turn in itertools.count():
        people.create(orders.batch)
        if turn % 4 == 0:
            people.pause_one(orders.batch)
            people.take_by_hand(worker.id)
            people.borrow_dock()
        people.look_after()
        time.sleep(0.02)
