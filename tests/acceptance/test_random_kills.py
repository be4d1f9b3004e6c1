"""Workers are killed at random: two on one SQLite file, and several while PostgreSQL is restarted under them."""

from __future__ import annotations

import os
import random
import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from interlock.engine import Engine
from interlock.worker import Worker
from interlock.worker.loop import Loop
from tests.acceptance.worker_processes import WorkerProcesses
from tests.acceptance.world import machines
from tests.support.servers import Postgres
from tests.support.waiting import eventually

ROUNDS = 300 if os.environ.get("INTERLOCK_SOAK") else 10


@pytest.fixture
def dice(request: pytest.FixtureRequest) -> random.Random:
    """Different each time; INTERLOCK_SEED repeats one that was shown."""
    seed = int(os.environ.get("INTERLOCK_SEED", time.time_ns() % 1_000_000))
    print(f"INTERLOCK_SEED={seed} repeats {request.node.name}")
    return random.Random(seed)


def test_two_processes_on_one_sqlite_file_killed_at_random_lose_and_double_nothing(
    sqlite_url: str, tmp_path: Path, dice: random.Random
) -> None:
    with WorkerProcesses(sqlite_url, tmp_path) as workers:
        for batch in range(2 + ROUNDS):
            workers.start(batch=batch)
            if batch >= 2:
                time.sleep(dice.uniform(0.1, 0.7))
                workers.kill(dice.choice(workers.alive))
    workers.finish(2 + ROUNDS)


@pytest.fixture
def own_postgres(server_folder: Path) -> Iterator[Postgres]:
    """A server of this test's own, that it may crash."""
    options = "-c fsync=off -c max_connections=200"
    with Postgres(Path(tempfile.mkdtemp(prefix="pg-", dir=server_folder)), options=options) as server:
        yield server


@pytest.mark.soak
def test_workers_killed_at_random_while_postgresql_is_restarted_lose_and_double_nothing(
    own_postgres: Postgres, tmp_path: Path, dice: random.Random
) -> None:
    """One worker survives it all; each of its loops comes back by itself, every time."""
    workers = WorkerProcesses(own_postgres.url(), tmp_path)
    engine = Engine(own_postgres.url(), machines(workers.ledger))
    survivor = Worker(engine, concurrency=4, lease=timedelta(seconds=2), sweep_every=0.05)
    with engine, survivor, workers:
        for batch in range(2 + ROUNDS):
            workers.start(batch=batch)
            if batch >= 2:
                time.sleep(dice.uniform(0.1, 0.7))
                workers.kill(dice.choice(workers.alive))
            if batch % 4 == 3:
                own_postgres.stop(dice.choice(["immediate", "fast"]))
                time.sleep(dice.uniform(0.0, 1.0))
                own_postgres.start()
                for loop in loops_of(survivor):
                    eventually(went_on(loop, loop.rounds), what=loop.name)
    workers.finish(2 + ROUNDS)


def loops_of(worker: Worker) -> list[Loop]:
    return [worker.heartbeat, worker.sweeper, worker.watcher, worker.claimer]


def went_on(loop: Loop, before: int) -> Callable[[], bool]:
    return lambda: loop.rounds > before and not loop.troubles
