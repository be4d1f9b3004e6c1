"""Worker processes on one database, which are started and killed, and a ledger of what they did."""

from __future__ import annotations

import signal
from datetime import timedelta
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Any

from interlock.engine import Engine
from interlock.worker import Worker
from tests.acceptance import victim
from tests.acceptance.victim import Orders
from tests.acceptance.world import BATCH, Ledger, People, all_is_well, machines, nothing_lost, unfinished
from tests.support.forking import PROCESSES
from tests.support.waiting import eventually


class WorkerProcesses:
    """Starts and kills them, and in the end checks that all is well."""

    def __init__(self, url: str, folder: Path) -> None:
        self.url, self.folder = url, folder
        self.ledger = Ledger(folder)
        self.alive: list[ForkServerProcess] = []

    def start(self, **orders: Any) -> ForkServerProcess:
        chosen = Orders(self.url, self.folder, **orders)
        process = PROCESSES.Process(target=victim.run, args=(chosen,), daemon=True)
        process.start()
        self.alive.append(process)
        return process

    def kill(self, process: ForkServerProcess) -> None:
        process.kill()
        self.add_dead_letter(process)

    def add_dead_letter(self, process: ForkServerProcess) -> None:
        process.join(10)
        assert process.exitcode == -signal.SIGKILL
        self.alive.remove(process)
        process.close()

    def __enter__(self) -> WorkerProcesses:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def end(self) -> None:
        for process in list(self.alive):
            self.kill(process)

    def finish(self, batches: int) -> None:
        """A fresh worker, and people who see to the rest; then all must be well."""
        with Engine(self.url, machines(self.ledger)) as engine:
            nothing_lost(engine, self.ledger)
            people = People(engine, self.ledger)
            with Worker(engine, concurrency=8, lease=timedelta(seconds=20), sweep_every=0.05):
                for batch in range(batches):
                    people.create(batch)
                eventually(lambda: self._done(people, batches), within=60 + batches, what=lambda: self._left(engine))
            all_is_well(engine, self.ledger, batches * BATCH)

    def _done(self, people: People, batches: int) -> bool:
        people.look_after()
        return unfinished(people.engine) == 0

    def _left(self, engine: Engine) -> str:
        query = "SELECT machine, state, wake, holder, paused_at, last_error FROM instance WHERE finished_at IS NULL"
        return "\n".join(str(row) for row in engine.read(lambda conn: conn.exec_driver_sql(query).all()))
