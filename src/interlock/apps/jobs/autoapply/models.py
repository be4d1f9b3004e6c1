"""The data of an application. Resume and cover letter are artifacts, named here by their hash."""

from __future__ import annotations

from enum import StrEnum

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, model_validator

from interlock.apps.jobs.finder.identity.keys import company_key, fold


class WithdrawReason(StrEnum):
    """Why an application was withdrawn; success rates distinguish these."""

    USER = "user"
    REJECTED_IN_REVIEW = "rejected_in_review"
    RETRIES_EXHAUSTED = "retries_exhausted"
    JOB_CLOSED = "job_closed"
    INVALID_URL = "invalid_url"
    ALREADY_APPLIED = "already_applied"
    """Somebody applied for the same opening meanwhile, through auto-apply, an agent or by hand."""


class ReviewReason(StrEnum):
    """What a person is asked about an application."""

    APPROVE_PACKET = "approve_packet"
    VERIFY_SUBMISSION = "verify_submission"
    SUBMIT_BY_HAND = "submit_by_hand"


class FailureKind(StrEnum):
    """Why a submission by hand failed, as the person says."""

    SITE_DOWN = "site_down"
    FORM_BROKEN = "form_broken"
    JOB_CLOSED = "job_closed"
    LOGIN_NEEDED = "login_needed"
    OTHER = "other"


class Application(BaseModel):
    """One application of one user for one posting."""

    model_config = ConfigDict(extra="forbid")

    user_id: str = ""
    seeker: str = ""
    """Whose limits it counts against: the workspace, which has one seeker."""
    rule_id: str | None = None
    posting_id: str | None = None
    board: str = ""
    job_id: str = ""
    job_url: str = ""
    title: str = ""
    company: str = ""
    company_key: str = ""
    """The company as limits compare it, without its legal form."""
    again: str = ""
    """Why a person applies for an opening that was applied for before."""
    run_id: str | None = None
    """The run that holds the claim on the job."""

    require_user_approval: bool = True
    daily_limit: int = 10
    rule_daily_limit: int = 10
    weekly_limit: int = 70

    resume: str | None = None
    cover_letter: str | None = None
    packet_inputs: str | None = None
    """Hash of the profile and the posting that the packet was made from; the same inputs reuse the packet."""
    packet_hash: str | None = None
    approved_packet: str | None = None
    """Hash of the packet that the user approved. The approval is valid for this packet only."""
    doubts: list[str] = Field(default_factory=list)
    """Why a person has to look at the packet, whatever the rule says."""
    open_questions: int = 0
    """Questions of the form that the user has to answer before anything is sent."""
    knockouts: int = 0
    adapter: str = ""
    """How it is sent; `assisted` is by hand."""

    review_reason: ReviewReason | None = None
    withdraw_reason: WithdrawReason | None = None
    confirmation_url: str | None = None
    reference: str | None = None
    """The site's own id of the application."""
    scheduled_for: AwareDatetime | None = None
    """When it is to be sent, if its user chose a time."""

    @model_validator(mode="after")
    def _counted(self) -> Application:
        self.seeker = self.seeker or self.user_id
        if not self.company_key and self.company:
            self.company_key = company_key(self.company) or fold(self.company)
        return self


class ReviewForm(BaseModel):
    """What the user sends along with a decision."""

    model_config = ConfigDict(extra="forbid")

    approved_packet: str | None = None


class ByHandForm(BaseModel):
    """What the user sends along with the outcome of a submission by hand."""

    model_config = ConfigDict(extra="forbid")

    proof: str = Field("", max_length=2000, description="An address or a text that shows that it arrived.")
    kind: FailureKind | None = Field(None, description="Why it failed.")
    retry: bool = Field(True, description="Whether a failed one is tried again later.")
