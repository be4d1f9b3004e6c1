"""A process that delivers, schedules or does bulk actions, and is killed at a named point of a commit."""

from __future__ import annotations

import logging
import os
import signal
from dataclasses import dataclass
from pathlib import Path

import psycopg

from interlock.engine import Engine
from interlock.engine.outbox import OutboxMessage
from interlock.store import failpoints, open_store
from interlock.worker.bulker import Bulker
from interlock.worker.deliverer import Deliverer
from interlock.worker.loop import Loop
from interlock.worker.scheduler import Scheduler
from tests.support.forking import PROCESSES
from tests.support.killing import die_at
from tests.support.machines import PARCEL
from tests.support.waiting import eventually


class Book:
    """A channel that writes each recipient into a file, so that what was really delivered outlives the process."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def deliver(self, message: OutboxMessage) -> str:
        handle = os.open(self._path, os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o644)
        try:
            os.write(handle, f"{message.recipient}\n".encode())
        finally:
            os.close(handle)
        return "written"

    def lines(self) -> list[str]:
        return self._path.read_text().split() if self._path.exists() else []


@dataclass(frozen=True)
class Orders:
    """Which loop runs, and where and when it dies."""

    url: str
    loop: str
    point: str
    times: int
    book: Path


def loop_of(name: str, engine: Engine, book: Path) -> Loop:
    if name == "deliverer":
        return Deliverer(engine, {"mail": Book(book)})
    return Scheduler(engine) if name == "scheduler" else Bulker(engine, batch=10)


def run(orders: Orders) -> None:
    logging.disable()
    die_at(orders.point, orders.times)
    engine = Engine(open_store(orders.url, wakeup="poll"), [PARCEL])
    loop = loop_of(orders.loop, engine, orders.book)
    loop.start()
    loop.join(60)


def die(orders: Orders) -> None:
    """Start it, and see it dead, with its transaction: PostgreSQL notices a moment later than the system."""
    before = connections(orders.url)
    process = PROCESSES.Process(target=run, args=(orders,), daemon=True)
    process.start()
    process.join(30)
    assert process.exitcode == -signal.SIGKILL, f"{orders.point} was not reached: {process.exitcode}"
    process.close()
    assert failpoints.hook is None, "only the other process dies"
    eventually(lambda: connections(orders.url) <= before)


def connections(url: str) -> frozenset[int]:
    """The processes that serve connections to this database. SQLite has none."""
    if not url.startswith("postgresql"):
        return frozenset()
    with psycopg.connect(url) as conn:
        rows = conn.execute(
            "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
            " AND backend_type = 'client backend'"
        )
        return frozenset(pid for (pid,) in rows)
