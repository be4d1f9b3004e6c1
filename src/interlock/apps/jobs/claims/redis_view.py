"""The same lock in Redis, for agents that know only that."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from interlock.apps.jobs.claims.machine import DISCOVERED, QUEUED, job, run
from interlock.apps.jobs.claims.steps import LEASE, LIVE
from interlock.engine import Engine


@dataclass(frozen=True, slots=True)
class Shown:
    """A lock as it is shown to others; the database decides, this only keeps them away."""

    engine: Engine
    workspace: str
    name: str
    run_id: str

    def take(self) -> str | None:
        """The other holder, if it may be one: not a run that is known to be over, nor one for a job that is."""
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
        """Who asks for such a job shows a key until they are refused; others would take that for an application."""
        found = self.engine.find(job.name, self.name.partition(":apply:")[2], workspace=self.workspace)
        return found is not None and found.state not in {DISCOVERED, QUEUED}

    def give_back(self) -> None:
        """The claim came to nothing: show whoever has it instead."""
        mirror = self.engine.leases.mirror
        assert mirror is not None
        held = self.engine.leases.find(self.name)
        if held is None:
            mirror.release(self.name, self.run_id)
        elif held.holder != self.run_id:
            left = timedelta(microseconds=held.until - self.engine.clock.now())
            mirror.replace(self.name, self.run_id, held.holder, left)
