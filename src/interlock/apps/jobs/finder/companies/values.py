"""What is known of a company: facts with the words that they were read from. A fact that no page states is None."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict

FIELDS = ("about", "culture", "mission", "size", "headquarters_location", "industry", "founded")
LONGEST_QUOTE = 240


class Fact(BaseModel):
    """A value, and where it was read."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    value: str
    page: str
    """The address of the page."""
    quote: str
    """Words of the page."""
    rule: str
    """The rule that read it, or `model`."""


class Extracted(BaseModel):
    """What the pages of a company say of it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    website: str
    about: Fact | None = None
    culture: Fact | None = None
    mission: Fact | None = None
    size: Fact | None = None
    """In the page's words: "51-200 employees"."""
    people: int | None = None
    """How many people work there; the middle of a range."""
    more_people: bool = False
    """Whether there are more than `people`: "over 1,000"."""
    headquarters_location: Fact | None = None
    industry: Fact | None = None
    founded: Fact | None = None
    """A year."""
    method: Literal["rules", "model"] = "rules"
    note: str = ""
    """Why a configured model was not used, or what of its answer was dropped."""

    @property
    def missing(self) -> tuple[str, ...]:
        """The fields that are unknown."""
        return tuple(name for name in FIELDS if getattr(self, name) is None)

    def said(self, name: str) -> str | None:
        """The value of a field."""
        fact: Fact | None = getattr(self, name)
        return fact.value if fact else None


def quote_of(text: str, start: int = 0, end: int = 0) -> str:
    """The text, cut around a place where it is long."""
    if len(text) <= LONGEST_QUOTE:
        return text
    begin = max(0, min(start - LONGEST_QUOTE // 3, len(text) - LONGEST_QUOTE))
    return text[begin : max(begin + LONGEST_QUOTE, min(end, begin + 2 * LONGEST_QUOTE))].strip()
