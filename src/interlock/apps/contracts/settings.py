"""The section `[contracts]` of the configuration."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from interlock.config import Table


class ContractSettings(Table):
    """How contracts are processed."""

    verticals: Path | None = Field(None, description="A folder with your own verticals, as YAML files.")
    templates: Path | None = Field(None, description="A folder with your own templates and offers, as YAML files.")
    review_uncalibrated: bool = Field(
        True, description="Contracts of a vertical with too few known answers always go to a person."
    )
    blind_share: float = Field(
        0.05, ge=0, le=1, description="The share of automatically approved contracts that a person still reads."
    )
    notify: list[str] = Field(
        default_factory=list, description="Who is notified of a new review, such as mail:who@example.org."
    )
    wait: float = Field(110.0, ge=0, le=3600, description="Seconds that a step's endpoint waits before it answers 202.")
