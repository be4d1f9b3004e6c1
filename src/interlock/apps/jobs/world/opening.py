"""The values of the world: companies, their openings, and the boards that show them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from html import escape
from typing import Any, Literal

from interlock.apps.jobs.finder.identity.keys import fold

HEADINGS = {
    "en": ("What you will do", "What you bring", "Nice to have"),
    "de": ("Deine Aufgaben", "Das bringst du mit", "Das wäre schön"),
}
PER_NAMES = {"year": "a year", "hour": "an hour", "month": "a month"}


@dataclass(frozen=True, slots=True)
class Place:
    """A place of work. `country` is an ISO code of two letters."""

    city: str
    region: str
    country: str
    country_name: str

    @property
    def name(self) -> str:
        """As an American board writes it: "Portland, OR"; elsewhere with the country."""
        return f"{self.city}, {self.region}" if self.country == "US" else f"{self.city}, {self.country_name}"


@dataclass(frozen=True, slots=True)
class Pay:
    low: int
    high: int
    currency: str = "USD"
    per: Literal["hour", "month", "year"] = "year"

    @property
    def words(self) -> str:
        sign = {"USD": "$", "EUR": "€", "GBP": "£"}.get(self.currency)
        low, high = f"{self.low:,}", f"{self.high:,}"
        amounts = f"{sign}{low} to {sign}{high}" if sign else f"{low} to {high} {self.currency}"
        return f"The pay range is {amounts} {PER_NAMES[self.per]}."


@dataclass(frozen=True, slots=True)
class FormQuestion:
    """A question of an application form."""

    key: str
    label: str
    kind: Literal["text", "long", "choice", "flag"] = "text"
    required: bool = True
    options: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Opening:
    """One job that a company wants to fill. A board, a feed or a page shows it in its own shape."""

    key: str
    """Its name in the world; every id that a board gives it is made from it."""
    title: str
    department: str
    places: tuple[Place, ...]
    workplace: Literal["remote", "hybrid", "onsite"]
    intro: str
    duties: tuple[str, ...]
    wanted: tuple[str, ...]
    preferred: tuple[str, ...] = ()
    closing: str = ""
    employment: Literal["full_time", "part_time", "contract", "internship"] = "full_time"
    level: Literal["entry", "mid", "senior", "lead"] | None = None
    """The level that a board names in a field of its own."""
    pay: Pay | None = None
    age: int = 5
    """Days since it was published."""
    closes_in: int | None = None
    """Days until it closes; a negative number has passed."""
    language: Literal["en", "de"] = "en"
    listed: bool = True
    employer: str | None = None
    """The employer, where it is not the company of the board."""
    questions: tuple[FormQuestion, ...] = ()

    @property
    def slug(self) -> str:
        return "-".join(re.findall(r"[a-z0-9]+", fold(self.title)))[:60].strip("-")

    def posted(self, began: datetime) -> datetime:
        """When it was published, to the second; `began` is when the world began."""
        minutes = 1 + sum(self.key.encode()) % 60
        return began.replace(microsecond=0) - timedelta(days=self.age, minutes=minutes)

    def closes(self, began: datetime) -> datetime | None:
        if self.closes_in is None:
            return None
        return began.replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=self.closes_in)

    @property
    def headings(self) -> tuple[str, str, str]:
        return HEADINGS[self.language]

    @property
    def end(self) -> str:
        """The last paragraph, which names the pay."""
        return " ".join(part for part in (self.closing, self.pay.words if self.pay else "") if part)

    def html(self) -> str:
        """The whole text."""
        return "\n".join(
            [paragraph(self.intro), *(f"<h3>{escape(name)}</h3>{items(of)}" for name, of in self.lists)]
        ) + (f"\n{paragraph(self.end)}" if self.end else "")

    @property
    def lists(self) -> list[tuple[str, tuple[str, ...]]]:
        """Heading and items of each list that has items."""
        return [
            (name, of) for name, of in zip(self.headings, (self.duties, self.wanted, self.preferred), strict=True) if of
        ]


@dataclass(frozen=True, slots=True)
class Board:
    """A place that shows openings: a board of a system, a feed, a page or an API."""

    kind: str
    """The kind of the source, as the finder names it."""
    name: str
    company: Company
    openings: tuple[Opening, ...]
    options: Mapping[str, Any] = field(default_factory=dict)

    def find(self, key: str | None) -> Opening | None:
        return next((one for one in self.openings if one.key == key), None)


@dataclass(frozen=True, slots=True)
class Company:
    """A company and what its pages say about it."""

    name: str
    slug: str
    tagline: str
    about: tuple[str, ...]
    mission: str
    culture: tuple[str, ...]
    size: int
    headquarters: Place
    industry: str
    founded: int
    technologies: tuple[str, ...]
    about_path: Literal["about", "about-us", "company"] = "about"


def paragraph(text: str) -> str:
    return f"<p>{escape(text, quote=False)}</p>"


def items(texts: tuple[str, ...]) -> str:
    return "<ul>" + "".join(f"<li>{escape(text, quote=False)}</li>" for text in texts) + "</ul>"
