"""The data of a contract. The file, its text, its fields and the comparison are artifacts, named by their hash."""

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
    """By a person, during the wait for a retry."""


class Contract(BaseModel):
    """One document on its way through the workflow."""

    model_config = ConfigDict(extra="forbid")

    filename: str = ""
    vertical: str = "commercial"
    drive: bool = True
    """Whether the worker runs all steps, or each step waits for its endpoint."""
    media_type: str = "application/pdf"
    size: int = 0
    pdf: str | None = None
    """The original file."""
    text: str | None = None
    """The document: its pages with their text."""
    pages: int | None = None
    extraction: str | None = None
    """The extraction, before scoring."""
    fields: str | None = None
    """The fields with their evidence and confidence, by the machine or corrected by a person."""
    values: dict[str, Any] = Field(default_factory=dict)
    """The required fields, shortened for lists."""
    parties: list[str] = Field(default_factory=list)
    """The names of the parties as the document writes them, for titles and lists."""
    problems: list[str] = Field(default_factory=list)
    """Validation errors; any of them needs a person, whatever the confidence."""
    reasons: list[str] = Field(default_factory=list)
    """Why a review is needed, and what capped the confidence."""
    needs_review: bool | None = None
    final_confidence: int | None = Field(default=None, ge=0, le=100)
    """100 times the estimated probability that every required field is right."""
    calibration: str | None = None
    """The version of the calibration table behind the confidence."""
    decisions: list[FieldDecision] = Field(default_factory=list)
    """A person's decisions about single fields."""
    review_note: str = ""
    reject_reason: RejectReason | None = None
    compare_with: str | None = None
    """A workflow's id, `template` or `offers`; default: that of the vertical."""
    comparison: str | None = None
    comparison_kind: str | None = None
    verdict: str = ""
    """The comparison in one line."""
    origin: str | None = None
    """The workflow that this one reprocesses."""


class Evidence(BaseModel):
    """The evidence on a page: characters of the page's text, or a rectangle in points from the top left."""

    model_config = ConfigDict(extra="forbid")

    page: int = Field(ge=1)
    start: int | None = Field(None, ge=0)
    end: int | None = Field(None, ge=0)
    box: tuple[float, float, float, float] | None = None


class FieldDecision(BaseModel):
    """A reviewer's decision about one field."""

    model_config = ConfigDict(extra="forbid")

    field: str = Field(max_length=100)
    action: Literal["accept", "correct", "clear", "absent"]
    value: Any = None
    evidence: Evidence | None = None


class ReviewForm(BaseModel):
    """The form of a review: decisions about fields, and a note."""

    model_config = ConfigDict(extra="forbid")

    decisions: list[FieldDecision] = Field(default_factory=list, max_length=500)
    review_note: str = Field("", max_length=10_000)


Contract.model_rebuild()
