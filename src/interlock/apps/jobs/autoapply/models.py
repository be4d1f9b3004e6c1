"""The data of an application. Résumé and cover letter are artifacts, named here by their hash."""

from __future__ import annotations

from enum import StrEnum

from pydantic import BaseModel, ConfigDict


class WithdrawReason(StrEnum):
    """Why an application was withdrawn; success rates distinguish these."""

    USER = "user"
    REJECTED_IN_REVIEW = "rejected_in_review"
    RETRIES_EXHAUSTED = "retries_exhausted"
    JOB_CLOSED = "job_closed"
    INVALID_URL = "invalid_url"


class ReviewReason(StrEnum):
    """What a person is asked about an application."""

    APPROVE_PACKET = "approve_packet"
    VERIFY_SUBMISSION = "verify_submission"


class Application(BaseModel):
    """One application of one user for one posting."""

    model_config = ConfigDict(extra="forbid")

    user_id: str = ""
    rule_id: str | None = None
    board: str = ""
    job_id: str = ""
    job_url: str = ""
    title: str = ""
    company: str = ""
    run_id: str | None = None
    """The run that holds the claim on the job."""

    require_user_approval: bool = True
    daily_limit: int = 10
    weekly_limit: int = 70

    resume: str | None = None
    cover_letter: str | None = None
    packet_inputs: str | None = None
    """Hash of the profile and the posting that the packet was made from; the same inputs reuse the packet."""
    packet_hash: str | None = None
    approved_packet: str | None = None
    """Hash of the packet that the user approved. The approval is valid for this packet only."""

    review_reason: ReviewReason | None = None
    withdraw_reason: WithdrawReason | None = None
    confirmation_url: str | None = None


class ReviewForm(BaseModel):
    """What the user sends along with a decision."""

    model_config = ConfigDict(extra="forbid")

    approved_packet: str | None = None
