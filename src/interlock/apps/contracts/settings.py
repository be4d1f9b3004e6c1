"""The section `[contracts]` of the configuration."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

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
    remind_before: list[Annotated[int, Field(ge=0, le=3650)]] = Field(
        default_factory=lambda: [30, 7],
        max_length=20,
        description="Days before a contract ends, and before its last day for notice, when a reminder is sent.",
    )
    remind: list[str] = Field(
        default_factory=list,
        description="Who is reminded, such as mail:who@example.org; unless set, those of `notify`.",
    )
    wait: float = Field(110.0, ge=0, le=3600, description="Seconds that a step's endpoint waits before it answers 202.")
