"""The client for agents: programs that apply for jobs over HTTP, beside many others.

`Client` and `AsyncClient` find jobs, claim them and report on them. A claim is a `with` block. Inside it nobody else
works on the job, the lease is renewed in the background, and leaving the block reports how it ended.
The package needs neither a database nor the engine.
"""

from interlock.machine import extras

extras.require("agents", "httpx2")

from interlock.apps.jobs.agents.aio import AsyncClaim, AsyncClient, AsyncPace
from interlock.apps.jobs.agents.answers import Added, CrawledJob, Job, Lease, Run
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
    "CrawledJob",
    "Job",
    "Lease",
    "LeaseLost",
    "NotAllowed",
    "NotClaimable",
    "Pace",
    "Refused",
    "Run",
    "RunOver",
    "Unavailable",
    "UnknownJob",
]
