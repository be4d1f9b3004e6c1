"""Claims: many agents, one application per job.

A `job` is claimed by a `run`, which holds the lease named `lock:apply:{board}:{job_id}` while its agent works. Only
the run that holds the lease may write. A run whose lease expires is lost, unless it had reported `submitted`: then
something may have been sent, and the job stays claimed until a person verifies it.
"""

from interlock.apps.jobs.claims import followers  # noqa: F401 - it registers
from interlock.apps.jobs.claims.machine import job, run

__all__ = ["job", "run"]
