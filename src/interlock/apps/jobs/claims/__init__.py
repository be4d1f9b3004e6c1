"""Claims: many agents, one application per job.

A `job` is claimed by a `run`, which holds the lease named `lock:apply:{board}:{job_id}` while its agent works. Only
the run that holds the lease may write. A run whose lease runs out is lost, unless it had reported `submitted`: then
something may have left the house, and the job stays claimed until somebody verifies it.
"""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

from interlock.apps.jobs.claims import followers
from interlock.apps.jobs.claims.machine import job, run
from interlock.machine import Duty, Registry


def _shows() -> tuple[Mapping[str, Any], Sequence[Any]]:
    from interlock.apps.jobs.claims import api, pages

    return {job.name: pages.JobView(), run.name: pages.RunView()}, [api.router]


registry = Registry(
    [job, run],
    shows=_shows,
    duties=[Duty("claims", timedelta(seconds=2), followers.sweep)],
)

__all__ = ["job", "registry", "run"]
