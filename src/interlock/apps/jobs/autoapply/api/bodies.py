"""What callers send to auto-apply's endpoints."""

from __future__ import annotations

from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import AwareDatetime, Field, StringConstraints, model_validator

from interlock.apps.jobs.autoapply.answers import Scope
from interlock.apps.jobs.autoapply.models import FailureKind
from interlock.apps.jobs.finder.api.bodies import Body, InWorkspace, Line

Hash = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
AnswerValue = (
    bool | int | float | Annotated[str, Field(max_length=100_000)] | Annotated[list[Line], Field(max_length=300)]
)


class EnqueueBody(InWorkspace):
    """A posting to apply for; without one, the rules decide about the matches that wait."""

    posting_id: UUID | None = Field(None, examples=["01890a5d-ac96-774b-bcce-b302099a8057"])
    rule_id: UUID | None = Field(None, description="Only this rule decides.")
    again: Line = Field("", description="Why you apply once more for an opening that was applied for.")
    require_user_approval: bool = True


class OfApplication(Body):
    """A body about one application."""

    application_id: UUID = Field(examples=["01890a5d-ac96-774b-bcce-b302099a8057"])
    reason: Line = ""


class SubmitBody(OfApplication):
    """An approval of exactly one packet, or the outcome of a submission: by hand, or one that was not known."""

    packet_hash: Hash | None = Field(None, description="Approve this packet; a worker sends it.")
    outcome: Literal["submitted", "failed"] | None = Field(None, description="How your submission by hand ended.")
    proof: Annotated[str, Field(max_length=2000)] = ""
    kind: FailureKind | None = None
    retry: bool = True
    arrived: bool | None = Field(None, description="Whether a submission with an unknown outcome arrived.")

    @model_validator(mode="after")
    def _one(self) -> SubmitBody:
        if sum(one is not None for one in (self.packet_hash, self.outcome, self.arrived)) != 1:
            raise ValueError("give one of packet_hash (approve it), outcome (sent by hand) and arrived (verify it)")
        return self


class ScheduleBody(OfApplication):
    """When an application is sent."""

    at: AwareDatetime | None = Field(
        None, description="The time; none sends it as soon as possible.", examples=["2026-12-01T08:30:00+01:00"]
    )
    packet_hash: Hash | None = Field(None, description="The packet that is approved with it, where one waits for you.")


class PauseBody(InWorkspace):
    """What to pause or resume: an application, a rule with its applications, or everything."""

    application_id: UUID | None = None
    rule_id: UUID | None = None
    all: bool = Field(False, examples=[True])
    reason: Line = ""

    @model_validator(mode="after")
    def _one(self) -> PauseBody:
        if sum((self.application_id is not None, self.rule_id is not None, self.all)) != 1:
            raise ValueError('give one of application_id, rule_id and "all": true')
        return self


class SweepBody(InWorkspace):
    """The workspace to sweep."""

    application_id: UUID | None = Field(
        None, description="Retry this failed one now.", examples=["01890a5d-ac96-774b-bcce-b302099a8057"]
    )


class GivenAnswer(Body):
    """An answer to a question of a form."""

    key: Annotated[str, Field(min_length=1, max_length=500)]
    value: AnswerValue
    scope: Scope = Scope.EVERYWHERE


class AnswersBody(Body):
    """Answers to questions of an application's form."""

    answers: Annotated[
        list[GivenAnswer],
        Field(min_length=1, max_length=300, examples=[[{"key": "notice", "value": "4 weeks", "scope": "everywhere"}]]),
    ]


class RuleBody(InWorkspace):
    """A rule: its criteria, limits and approval."""

    rule: dict[str, Any] = Field(examples=[{"name": "remote Python", "skills": ["Python"], "locations": ["remote"]}])


class RuleChange(Body):
    """Criteria of a rule."""

    rule: dict[str, Any] = Field(examples=[{"min_score": 70}])
