"""The agent kit: what a program needs that applies for jobs, over HTTP, beside many others.

`Client` and `AsyncClient` find jobs, claim them and report on them. A claim is a `with` block: inside it nobody else is
at the job, the lease is renewed in the background, and however the block is left, the service is told what is true.
The package needs no database and nothing of the engine.
"""

from interlock.machine import extras

extras.require("agents", "httpx2")

from interlock.apps.jobs.agents.aio import AsyncClaim, AsyncClient, AsyncPace
from interlock.apps.jobs.agents.answers import Added, Job, Lease, Run, Seen
from interlock.apps.jobs.agents.client import Claim, Client, Pace
from interlock.apps.jobs.agents.errors import (
    AgentError,
    AlreadyClaimed,
    BadAnswer,
    BadRequest,
    LeaseLost,
    NotAllowed,
    NotClaimable,
    Refused,
    RunOver,
    Unavailable,
    UnknownJob,
)

__all__ = [
    "Added",
    "AgentError",
    "AlreadyClaimed",
    "AsyncClaim",
    "AsyncClient",
    "AsyncPace",
    "BadAnswer",
    "BadRequest",
    "Claim",
    "Client",
    "Job",
    "Lease",
    "LeaseLost",
    "NotAllowed",
    "NotClaimable",
    "Pace",
    "Refused",
    "Run",
    "RunOver",
    "Seen",
    "Unavailable",
    "UnknownJob",
]
