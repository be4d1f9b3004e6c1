"""The section `[jobs]` of the configuration."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from interlock.config import Table


class JobsSettings(Table):
    """How jobs are found."""

    profile: Path = Field(Path("profile.yaml"), description="Your profile, a YAML file.")
