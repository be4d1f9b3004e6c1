"""What a contract carries; the PDF, its text and the comparison lie in artifacts, named here by their hash."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from pydantic import BaseModel, ConfigDict, Field


class RejectReason(StrEnum):
    """Why a contract was rejected."""

    REJECTED_IN_REVIEW = "rejected_in_review"
    RETRIES_EXHAUSTED = "retries_exhausted"
    NOT_RETRYABLE = "not_retryable"
    GIVEN_UP = "given_up"
    """By a person, while it waited for a retry."""


class Extracted(BaseModel):
    """One field as the machine read it, with its evidence, and as a person corrected it."""

    model_config = ConfigDict(extra="forbid")

    value: Any = None
    quote: str | None = None
    page: int | None = None
    confidence: float | None = None
    """The estimated probability that the value is right, 0 to 1."""
    corrected: Any = None
    verified: bool = False
    """A person looked at it; what the machine had read stays beside it."""


class Contract(BaseModel):
    """One document on its way through the workflow."""

    model_config = ConfigDict(extra="forbid")

    filename: str = ""
    vertical: str = "commercial"
    pdf: str | None = None
    text: str | None = None
    fields: dict[str, Extracted] = Field(default_factory=dict)
    problems: list[str] = Field(default_factory=list)
    """What validation found; anything here goes to a person, whatever the confidence."""
    final_confidence: int | None = Field(default=None, ge=0, le=100)
    """100 times the estimated probability that every required field is right."""
    calibration: str | None = None
    corrections: dict[str, Any] = Field(default_factory=dict)
    review_note: str = ""
    reject_reason: RejectReason | None = None
    compare_with: str | None = None
    comparison: str | None = None


class ReviewForm(BaseModel):
    """What a reviewer sends along with a decision: new values for the fields that were wrong, and a note."""

    model_config = ConfigDict(extra="forbid")

    corrections: dict[str, Any] = Field(default_factory=dict)
    review_note: str = ""
