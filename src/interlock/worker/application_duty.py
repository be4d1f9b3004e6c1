"""A duty of an application: every process that works has its loop, and a named lease lets one of them do it.

The lease is renewed while the duty runs and kept between two runs, so a duty that runs every few seconds costs a write
every 15. When its process dies, another takes over within 30 seconds.
"""

from __future__ import annotations

import logging
import os
import platform
import threading
from contextlib import suppress
from datetime import timedelta
from uuid import uuid4

import sqlalchemy as sa

from interlock.engine import Engine, LeaseTaken, leases
from interlock.engine.leases import Lease
from interlock.machine import Duty, InterlockError
from interlock.store import SECOND
from interlock.worker.loop import Loop

log = logging.getLogger("interlock.worker")
LEASE = timedelta(seconds=30)
LEASE_PREFIX = "duty:"


class ApplicationDuty(Loop):
    """Runs the duty when it is due and no other process runs it."""

    def __init__(self, engine: Engine, duty: Duty) -> None:
        super().__init__()
        self.name, self.pause = duty.name, duty.every.total_seconds()
        self._engine, self._duty = engine, duty
        self._holder = f"{platform.node()} {os.getpid()} {uuid4().hex[:8]}"
        self._held: Lease | None = None

    @property
    def longest_wait(self) -> float:
        """One that keeps failing is not tried more often than it would run, or every five seconds."""
        return max(self.pause, super().longest_wait)

    def once(self) -> bool:
        if not self._take():
            return False
        done = threading.Event()
        renewing = threading.Thread(target=self._renew, args=(done,), name=f"interlock-{self.name}-lease", daemon=True)
        renewing.start()
        try:
            return self._duty.run(self._engine)
        finally:
            done.set()

    def _take(self) -> bool:
        engine, name, now = self._engine, f"{LEASE_PREFIX}{self.name}", self._engine.clock.now()
        if self._held is not None and self._held.until - now > LEASE.total_seconds() * SECOND / 2:
            return True
        other = engine.read(lambda conn: leases.find(conn, now, name))
        if other is not None and other.holder != self._holder:
            return False
        try:
            self._held = engine.store.write(
                lambda conn: leases.take(conn, engine.clock.now(), name, self._holder, LEASE), name="lease"
            )
        except LeaseTaken:
            return False
        return True

    def _renew(self, done: threading.Event) -> None:
        while not done.wait(LEASE.total_seconds() / 3):
            try:
                self._held = self._engine.store.write(self._renewed, name="lease")
            except InterlockError as error:
                log.warning("the lease of the duty %s could not be renewed: %s", self.name, error)

    def _renewed(self, conn: sa.Connection) -> Lease:
        assert self._held is not None
        return leases.renew(conn, self._engine.clock.now(), self._held, LEASE)

    def _run(self) -> None:
        super()._run()
        if self._held is not None:
            held = self._held
            with suppress(InterlockError):
                self._engine.store.write(lambda conn: leases.release(conn, held), name="lease")
