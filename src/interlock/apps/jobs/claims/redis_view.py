"""The same lock in Redis, for agents that look only there."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from interlock.apps.jobs.claims.machine import DISCOVERED, QUEUED, job, run
from interlock.apps.jobs.claims.steps import LEASE, LIVE
from interlock.engine import Engine


@dataclass(frozen=True, slots=True)
class RedisLock:
    """A lock as Redis shows it. The database decides; this only keeps others away."""

    engine: Engine
    workspace: str
    name: str
    run_id: str

    def take(self) -> str | None:
        """Take the lock; returns another holder whose run may still be open."""
        mirror = self.engine.leases.mirror
        assert mirror is not None
        other = mirror.take(self.name, self.run_id, LEASE)
        if other is None or self._settled():
            return None
        if not self._over(other):
            return other
        return None if mirror.replace(self.name, other, self.run_id, LEASE) else "another agent"

    def _over(self, holder: str) -> bool:
        found = self.engine.find(run.name, holder.removeprefix("verify:"), workspace=self.workspace)
        return found is not None and found.state not in LIVE

    def _settled(self) -> bool:
        """Whether the job is decided. A key in Redis for such a job belongs to a claim that is about to be refused."""
        found = self.engine.find(job.name, self.name.partition(":apply:")[2], workspace=self.workspace)
        return found is not None and found.state not in {DISCOVERED, QUEUED}

    def give_back(self) -> None:
        """Undo `take` after a refused claim; show the real holder instead."""
        mirror = self.engine.leases.mirror
        assert mirror is not None
        held = self.engine.leases.find(self.name)
        if held is None:
            mirror.release(self.name, self.run_id)
        elif held.holder != self.run_id:
            left = timedelta(microseconds=held.until - self.engine.clock.now())
            mirror.replace(self.name, self.run_id, held.holder, left)
