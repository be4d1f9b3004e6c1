"""The errors of the agents' client, by type; each says what to do."""

from __future__ import annotations

from typing import ClassVar

from interlock.machine import InterlockError


class AgentError(InterlockError):
    """The base of all errors that a client raises; `status` is the HTTP status, if there was an answer."""

    remedy: ClassVar[str] = ""

    def __init__(self, detail: str, *, status: int | None = None) -> None:
        super().__init__(f"{detail}; {self.remedy}" if self.remedy else detail)
        self.detail, self.status = detail, status


class Unavailable(AgentError):
    """The service cannot be reached or fails, also after several attempts. Trying again later is safe."""

    remedy = "try again later"


class NotAllowed(AgentError):
    """The token is invalid, revoked, or lacks the scope."""

    remedy = "use an agent's token with the scope `claims`"


class BadRequest(AgentError):
    """The service refused a value; `fields` names where."""

    def __init__(self, detail: str, *, status: int | None = None, fields: tuple[str, ...] = ()) -> None:
        super().__init__(detail, status=status)
        self.fields = fields


class BadAnswer(AgentError):
    """The server that answered is not Interlock, or has no jobs application."""

    remedy = "check the url"


class Refused(AgentError):
    """The service refused the request in its present state."""


class UnknownJob(Refused):
    """There is no such job."""

    remedy = "add it first, or take one that `find` gives"


class AlreadyClaimed(Refused):
    """Another agent has claimed this job."""

    remedy = "take another job"


class NotClaimable(Refused):
    """The job cannot be claimed: somebody has applied for it, or it expired or was rejected."""

    remedy = "take another job"


class LeaseLost(Refused):
    """The run no longer holds its job; somebody else may work on it."""

    remedy = "stop, and send nothing: somebody else may have the job by now"


class RunOver(Refused):
    """The run has already ended."""

    remedy = "claim the job again to continue"
