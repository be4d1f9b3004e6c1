"""What a contract carries. The file, its text, its fields and the comparison lie in artifacts, named by their hash."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field


class RejectReason(StrEnum):
    """Why a contract was rejected."""

    REJECTED_IN_REVIEW = "rejected_in_review"
    RETRIES_EXHAUSTED = "retries_exhausted"
    NOT_RETRYABLE = "not_retryable"
    GIVEN_UP = "given_up"
    """By a person, while it waited for a retry."""


class Contract(BaseModel):
    """One document on its way through the workflow."""

    model_config = ConfigDict(extra="forbid")

    filename: str = ""
    vertical: str = "commercial"
    drive: bool = True
    """Whether the worker goes on by itself, or each step waits for whoever drives it."""
    media_type: str = "application/pdf"
    size: int = 0
    pdf: str | None = None
    """The file as it came, whatever its type."""
    text: str | None = None
    """The document: its pages with their text."""
    pages: int | None = None
    extraction: str | None = None
    """What was read, before it was scored."""
    fields: str | None = None
    """The fields with their evidence and confidence, as the machine left them or as a person corrected them."""
    values: dict[str, Any] = Field(default_factory=dict)
    """The required fields in short, for lists."""
    problems: list[str] = Field(default_factory=list)
    """What validation found; anything here goes to a person, whatever the confidence."""
    reasons: list[str] = Field(default_factory=list)
    """Why a person must look, and what capped the confidence."""
    needs_review: bool | None = None
    final_confidence: int | None = Field(default=None, ge=0, le=100)
    """100 times the estimated probability that every required field is right."""
    calibration: str | None = None
    """The version of the table that the confidence was made with."""
    decisions: list[FieldDecision] = Field(default_factory=list)
    """What a person said about single fields."""
    review_note: str = ""
    reject_reason: RejectReason | None = None
    compare_with: str | None = None
    """A workflow's id, `template` or `offers`; else what is usual for the vertical."""
    comparison: str | None = None
    comparison_kind: str | None = None
    verdict: str = ""
    """The comparison in one line."""
    origin: str | None = None
    """The workflow that this one does again."""


class Evidence(BaseModel):
    """Where on a page a reviewer saw it: characters of the page's text, or a rectangle in points from the top left."""

    model_config = ConfigDict(extra="forbid")

    page: int = Field(ge=1)
    start: int | None = Field(None, ge=0)
    end: int | None = Field(None, ge=0)
    box: tuple[float, float, float, float] | None = None


class FieldDecision(BaseModel):
    """What a reviewer says about one field."""

    model_config = ConfigDict(extra="forbid")

    field: str = Field(max_length=100)
    action: Literal["accept", "correct", "clear", "absent"]
    value: Any = None
    evidence: Evidence | None = None


class ReviewForm(BaseModel):
    """What a reviewer sends along with a decision: a word on each field that needs one, and a note."""

    model_config = ConfigDict(extra="forbid")

    decisions: list[FieldDecision] = Field(default_factory=list, max_length=500)
    review_note: str = Field("", max_length=10_000)


Contract.model_rebuild()
