"""A worker: the loops of one process, started and stopped together."""

from __future__ import annotations

import logging
import os
import platform
import threading
import time
from collections.abc import Callable, Sequence
from datetime import timedelta
from uuid import UUID, uuid4

import sqlalchemy as sa

from interlock.engine import Engine, picking, workers
from interlock.engine.creating import route
from interlock.machine import InterlockError
from interlock.worker.claimer import Claimer
from interlock.worker.heartbeat import Heartbeat
from interlock.worker.loop import Identity, Loop
from interlock.worker.sweeper import Sweeper
from interlock.worker.watcher import Watcher

log = logging.getLogger("interlock.worker")


def _nothing() -> None:
    return None


class Worker:
    """Claims work and runs handlers until it is stopped. Each start uses a new id."""

    def __init__(
        self,
        engine: Engine,
        *,
        queues: Sequence[str] | None = None,
        concurrency: int = 16,
        host: str | None = None,
        lease: timedelta = workers.WORKER_LEASE,
        sweep_every: float = 1.0,
        loop_patience: float = 5.0,
    ) -> None:
        self.engine = engine
        self.host = host or platform.node()
        named = list(queues) if queues is not None else sorted({m.queue for m in engine.registry})
        if not named:
            raise InterlockError("a worker needs at least one queue, but the registry has no machine; register one")
        engine.registry.check_handlers(named)
        self.queues = [*named, *(route(queue, self.host) for queue in named)]
        self._concurrency, self._lease = concurrency, lease
        self._sweep_every, self._loop_patience = sweep_every, loop_patience
        self._me = Identity(uuid4())
        self._lock_file: str | None = None
        self._leave: Callable[[], None] = _nothing
        self._stop_lock = threading.Lock()
        self._stopped = False

    @property
    def id(self) -> UUID:
        return self._me.id

    def start(self) -> Worker:
        engine = self.engine
        self._enter()
        self.heartbeat = Heartbeat(engine, self._me, self._lease, self._enter)
        self.claimer = Claimer(engine, self._me, self.queues, self._concurrency, self.heartbeat.trusted)
        self.watcher = Watcher(engine, self._me, self.claimer, loop_patience=self._loop_patience)
        self.sweeper = Sweeper(engine, self._me, self._sweep_every)
        self._loops: list[Loop] = [self.heartbeat, self.sweeper, self.watcher, self.claimer]
        engine.store.listen()
        self._leave = engine.store.subscribe(self._hinted)
        self._stopped = False
        for loop in self._loops:
            loop.start()
        return self

    def _enter(self) -> None:
        """Register under a new id. Others detect its end by its lock or its heartbeat."""
        engine, old = self.engine, self._lock_file
        made = uuid4()
        lock_file = engine.store.take_lock(made)
        engine.store.write(
            lambda conn: workers.start(
                conn,
                engine.clock.now(),
                made,
                host=self.host,
                pid=os.getpid(),
                queues=self.queues,
                lock_file=lock_file,
                lease=self._lease,
            ),
            name="start",
        )
        engine.core.claims_in_place = engine.read(workers.all_know_claims_in_place)
        self._me.id, self._lock_file = made, lock_file
        if old is not None:
            engine.store.drop_lock(old)

    def _hinted(self, queues: frozenset[str]) -> None:
        if not queues or not queues.isdisjoint(self.queues):
            self.claimer.wake()

    def wait_until_idle(self, timeout: float = 60.0) -> None:
        """Wait until nothing is ready or running here, for scripts and examples. Raises TimeoutError."""
        deadline = time.monotonic() + timeout
        while self.engine.read(self._has_work):
            if time.monotonic() > deadline:
                raise TimeoutError(f"there is still work after {timeout:g} seconds; wait longer or check the handlers")
            time.sleep(0.002)

    def _has_work(self, conn: sa.Connection) -> bool:
        """Checked in one snapshot, where an instance is either ready, claimed or done."""
        core = self.engine.core
        claimed = workers.claimed_by(conn, self.id)
        return bool(claimed) or picking.anything_ready(core, conn, core.clock.now(), self.queues)

    def drain(self) -> None:
        """Claim no more work. Running handlers continue."""
        self.claimer.draining = True

    def stop(self, timeout: float = 30.0) -> None:
        """Stop: no new claims, `timeout` seconds for running handlers, and the rest is given back without a lost
        attempt. A second call waits for the first.
        """
        self.drain()
        with self._stop_lock:
            if not self._stopped:
                self._stop(timeout)
            self._stopped = True

    def _stop(self, timeout: float) -> None:
        self._quietly(lambda: self.engine.store.write(lambda conn: workers.mark(conn, self.id, "draining")))
        deadline = time.monotonic() + timeout
        while self.claimer.busy and time.monotonic() < deadline:
            self.claimer.wake()
            time.sleep(0.005)
        self.claimer.stop()
        self.claimer.join(5.0)
        left = self.claimer.unfinished()
        self._quietly(self.claimer.write_rest)
        returned = not left or self._quietly(lambda: self.engine.give_back(left))
        self._leave()
        for loop in (self.sweeper, self.watcher, self.heartbeat):
            loop.stop()
            loop.join(5.0)
        self.claimer.runner.close()
        if returned:  # otherwise other workers must find it lost, with its claims
            self._quietly(lambda: self.engine.store.write(lambda conn: workers.mark(conn, self.id, "stopped")))
        if self._lock_file is not None:
            self.engine.store.drop_lock(self._lock_file)

    def _quietly(self, job: Callable[[], object]) -> bool:
        """Run a job and log its error. Other workers find out later what could not be written now."""
        try:
            job()
        except Exception as error:
            log.warning("while stopping: %s", error)
            return False
        return True

    def __enter__(self) -> Worker:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()
