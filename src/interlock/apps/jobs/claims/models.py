"""What is known of a job and of a run; ids are scoped by board everywhere."""

from __future__ import annotations

from datetime import date
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, SerializerFunctionWrapHandler, model_serializer


class Job(BaseModel):
    """A posting that somebody may apply for, once."""

    model_config = ConfigDict(extra="forbid")

    board: str = ""
    job_id: str = ""
    url: str = ""
    title: str = ""
    company: str = ""
    location: str = ""
    tags: list[str] = Field(default_factory=list)
    posted_date: date | None = None
    match_id: str | None = None
    match_score: int | None = None
    run_id: str | None = None
    """The run that claimed it last."""


class Artifacts(BaseModel):
    """What was actually submitted; each report of the agent adds to it and takes nothing away."""

    model_config = ConfigDict(extra="allow")

    resume_url: str | None = None
    cover_letter: str | None = None
    answers: dict[str, Any] = Field(default_factory=dict)
    confirmation_url: str | None = None
    notes: str | None = None

    @model_serializer(mode="wrap")
    def _what_was_said(self, plain: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Without the fields that nobody has filled."""
        return {name: value for name, value in plain(self).items() if value not in (None, {})}


class Run(BaseModel):
    """One agent's attempt at one job."""

    model_config = ConfigDict(extra="forbid")

    run_id: str = ""
    board: str = ""
    job_id: str = ""
    agent: str = ""
    variant_id: str | None = None
    artifacts: Artifacts = Field(default_factory=Artifacts)
    error: str | None = None
    requires_verification: bool = False
    """Its agent vanished after it had reported a submission: a person has to find out whether it went out."""


class Verified(BaseModel):
    """What a person found out about an application that its agent left in the open."""

    model_config = ConfigDict(extra="forbid")

    confirmation_url: str | None = Field(None, max_length=2000, title="Where it is confirmed")
    notes: str | None = Field(None, max_length=10_000, title="How you know")
    error: str | None = Field(None, max_length=2000, title="What went wrong, if it did not go out")

    @model_serializer
    def _as_a_report(self) -> dict[str, Any]:
        """In the words of the run, so that it lies among what the agent had said."""
        shown = {"confirmation_url": self.confirmation_url, "notes": self.notes}
        return {"artifacts": {name: value for name, value in shown.items() if value}, "error": self.error}
