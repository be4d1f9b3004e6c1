"""What is read out of a posting: values with the words they were read from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

Level = Literal["required", "preferred", "mentioned"]
Section = Literal["requirements", "preferred", "duties", "benefits", "pay", "company", "legal", "other"]

FIELDS = (
    "seniority",
    "workArrangement",
    "timezone",
    "timezoneFlexible",
    "city",
    "salaryMin",
    "salaryMax",
    "experienceMin",
    "experienceMax",
    "technologies",
    "roleTypes",
    "employmentType",
    "isManagement",
    "isLead",
    "isContract",
    "includesEquity",
    "relocationRequired",
    "isRepost",
)
"""The values of a reading, by the names under which they are measured."""


@dataclass(frozen=True, slots=True)
class Source:
    """A posting as it came: its text may be HTML, and whatever is missing is empty."""

    title: str
    text: str = ""
    company: str = ""
    locations: Sequence[str] = ()
    salary: str = ""
    """The board's own salary field, as text."""
    posted: str = ""


@dataclass(frozen=True, slots=True)
class Value:
    """One value, the quote it was read from, and the rule that read it. None and "unknown" say that no rule did."""

    value: Any
    rule: str
    quote: str = ""

    @property
    def known(self) -> bool:
        return self.value is not None and self.value != "unknown"


@dataclass(frozen=True, slots=True)
class Skill:
    """A technology or method that the posting names, and how much it wants it."""

    name: str
    category: str
    level: Level
    section: Section
    quote: str
    weight: float = 1.0
    implies: tuple[str, ...] = ()

    @property
    def is_technology(self) -> bool:
        """False for methods, concepts, standards and office tools, and for what only the company says of itself."""
        return (
            self.section != "company" and self.weight >= 0.5 and self.category not in {"concept", "method", "standard"}
        )


@dataclass(frozen=True, slots=True)
class Salary:
    """Pay as the posting states it. A year's pay is there only where the period is known."""

    low: float | None
    high: float | None
    currency: str | None
    period: Literal["hour", "day", "week", "month", "year"] | None
    origin: Literal["board", "text"]
    rule: str
    quote: str
    on_target: bool = False
    """Commission is included ("on-target earnings")."""

    def annual(self) -> tuple[int | None, int | None]:
        times = YEAR.get(self.period or "")
        if times is None:
            return None, None
        low, high = (None if amount is None else round(amount * times) for amount in (self.low, self.high))
        return low, high


YEAR = {"hour": 2080, "day": 260, "week": 52, "month": 12, "year": 1}
"""How often a period is worked and paid in a year of full-time work."""


@dataclass(frozen=True, slots=True)
class Reading:
    """All that rules read out of one posting."""

    values: Mapping[str, Value]
    skills: tuple[Skill, ...]
    salary: Salary | None
    language: str
    """ISO 639-1, or "unknown"."""
    understood: bool
    """False where the language has no rules of its own: only names and numbers were read then."""
    sections: Mapping[Section, str] = field(default_factory=dict)
    text: str = ""
    """The lines that were read, without markup."""

    def __getitem__(self, name: str) -> Any:
        return self.values[name].value
