"""The data of a job and of a run; ids are scoped by board."""

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
    """What was actually submitted. Each report adds to it; nothing is removed."""

    model_config = ConfigDict(extra="allow")

    resume_url: str | None = None
    cover_letter: str | None = None
    answers: dict[str, Any] = Field(default_factory=dict)
    confirmation_url: str | None = None
    notes: str | None = None

    @model_serializer(mode="wrap")
    def _without_empty_fields(self, plain: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Without empty fields."""
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
    """Its agent vanished after reporting a submission: a person has to verify whether it was sent."""


class Verified(BaseModel):
    """What a person found out about an application whose agent vanished."""

    model_config = ConfigDict(extra="forbid")

    confirmation_url: str | None = Field(None, max_length=2000, title="Where it is confirmed")
    notes: str | None = Field(None, max_length=10_000, title="How you know")
    error: str | None = Field(None, max_length=2000, title="What went wrong, if it did not go out")

    @model_serializer
    def _as_report(self) -> dict[str, Any]:
        """The same fields as an agent's report, so that they are stored with it."""
        shown = {"confirmation_url": self.confirmation_url, "notes": self.notes}
        return {"artifacts": {name: value for name, value in shown.items() if value}, "error": self.error}
