"""What can go wrong between an agent and the service, as types; each says what helps."""

from __future__ import annotations

from typing import ClassVar

from interlock.machine import InterlockError


class AgentError(InterlockError):
    """The root of what a client raises; `status` is the service's answer, if there was one."""

    remedy: ClassVar[str] = ""

    def __init__(self, detail: str, *, status: int | None = None) -> None:
        super().__init__(f"{detail}; {self.remedy}" if self.remedy else detail)
        self.detail, self.status = detail, status


class Unavailable(AgentError):
    """The service cannot be reached or fails; it was asked several times, and asking again later is safe."""

    remedy = "try again later"


class NotAllowed(AgentError):
    """The token is none, was revoked, or may not do this."""

    remedy = "use an agent's token with the scope `claims`"


class BadRequest(AgentError):
    """Something that was sent is not what it should be; `fields` names the places."""

    def __init__(self, detail: str, *, status: int | None = None, fields: tuple[str, ...] = ()) -> None:
        super().__init__(detail, status=status)
        self.fields = fields


class BadAnswer(AgentError):
    """Whoever answers there is not this service, or is one that has no jobs."""

    remedy = "check the url"


class Refused(AgentError):
    """It cannot be done as things are."""


class UnknownJob(Refused):
    """There is no such job."""

    remedy = "add it first, or take one that `find` gives"


class AlreadyClaimed(Refused):
    """Somebody else is at this job."""

    remedy = "take another job"


class NotClaimable(Refused):
    """The job is not to be claimed: somebody has applied for it, or it was put aside."""

    remedy = "take another job"


class LeaseLost(Refused):
    """The run does not hold its job any more; somebody else may be at it."""

    remedy = "stop, and send nothing: somebody else may have the job by now"


class RunOver(Refused):
    """It was said before how this run ended."""

    remedy = "claim the job anew if it has to go on"
