"""Claims: many agents, one application per job.

A `job` is claimed by a `run`, which holds the lease named `lock:apply:{board}:{job_id}` while its agent works. Only
the run that holds the lease may write. A run whose lease expires is lost, unless it had reported `submitted`: then
something may have been sent, and the job stays claimed until a person verifies it.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from interlock.apps.jobs.claims.machine import job, run

__all__ = ["job", "run"]


def __getattr__(name: str) -> Any:
    """The machines with their followers, which need the engine; `machine` alone does not."""
    if name in __all__:
        from interlock.apps.jobs.claims import followers, machine  # noqa: F401 - it registers

        return getattr(machine, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
