"""What is known of a job and of a run; ids are scoped by board everywhere."""

from __future__ import annotations

from datetime import date
from typing import Any

from pydantic import BaseModel, ConfigDict, Field


class Job(BaseModel):
    """A posting that somebody may apply for, once."""

    model_config = ConfigDict(extra="forbid")

    board: str = ""
    job_id: str = ""
    url: str = ""
    title: str = ""
    company: str = ""
    location: str = ""
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
