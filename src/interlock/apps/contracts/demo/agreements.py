"""The contracts of the demo's world: what the parties agreed on, and how it is written down. Nobody's names."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from datetime import date, timedelta
from functools import lru_cache
from importlib.resources import files
from string import Template

COMMERCIAL, ENERGY = "commercial", "energy"
MISSING, BLANK, TWICE = "missing", "blank", "twice"
DOUBTS = (MISSING, BLANK, TWICE)
"""What makes a paper one that nobody can be sure of: something required is missing, a day is blank, two days differ."""
LATER = "later"
"""Marks what only a later version has."""
FIRMS = (
    ("Brightwater Systems, Inc.", "a Delaware corporation"),
    ("Castell Logistics LLC", "a Nevada limited company"),
    ("Dunmore Analytics Ltd.", "a company of England"),
    ("Ferro Castings GmbH", "a company of Germany"),
    ("Granite Ridge Foods, Inc.", "an Ohio corporation"),
    ("Halyard Shipping Corp.", "a Texas corporation"),
    ("Ivory Lane Media LLC", "a Florida limited company"),
    ("Juniper Hill Pharma, Inc.", "a New Jersey corporation"),
)
LAWS = ("New York", "Delaware", "California", "Texas", "Illinois")
KINDS = (
    ("Master Services Agreement", "the services that each work order describes"),
    ("Distribution Agreement", "the products of the catalogue, within the territory"),
    ("Software License Agreement", "the software and its updates, for its own business"),
    ("Supply Agreement", "the goods that its purchase orders name"),
)
SUPPLIERS = ("Nordwind Energie GmbH", "Rheinstrom Vertrieb AG", "Solveig Kraft GmbH", "Tidewater Energy GmbH")
CUSTOMERS = ("Bäckerei Lindqvist", "Hafen Kühlhaus KG", "Atelier Moreau", "Druckerei Kessler", "Olive & Thyme OHG")
TARIFFS = ("Strom Natur 12", "Strom Fix 24", "Gewerbe Plus", "Öko Basis")
COUNTS = {30: "thirty", 60: "sixty", 90: "ninety"}


@dataclass(frozen=True, slots=True)
class Terms:
    """What was agreed on. The same number is always the same agreement."""

    number: int
    vertical: str
    german: bool
    title: str
    subject: str
    parties: tuple[str, str]
    about: tuple[str, str]
    dated: date
    law: str
    years: int
    notice: int
    fee: int
    price: float
    base: float
    consumption: int
    made: str
    version: int = 1

    @property
    def values(self) -> dict[str, str]:
        """The required fields as a person writes them who knows what was agreed on."""
        if self.vertical == ENERGY:
            day = f"{self.dated:%d.%m.%Y}"
            return {"provider": self.parties[0], "working_price": f"{_comma(self.price)} ct", "start_date": day}
        return {
            "parties": "; ".join(self.parties),
            "agreement_date": _english(self.dated),
            "governing_law": self.law,
        }


def terms(number: int) -> Terms:
    """The agreement of this number."""
    rng = random.Random(number)  # noqa: S311 - only the demo's
    energy, german = rng.random() < 0.4, rng.random() < 0.6
    (first, about_first), (second, about_second) = rng.sample(FIRMS, 2)
    title, subject = rng.choice(KINDS)
    if energy:
        first, second, subject = rng.choice(SUPPLIERS), rng.choice(CUSTOMERS), rng.choice(TARIFFS)
        title = "Stromliefervertrag" if german else "Electricity Supply Contract"
    return Terms(
        number=number,
        vertical=ENERGY if energy else COMMERCIAL,
        german=german,
        title=title,
        subject=subject,
        parties=(first, second),
        about=(about_first, about_second),
        dated=date(2025, 3, 1) + timedelta(days=rng.randrange(560)),
        law=rng.choice(LAWS),
        years=rng.randint(1, 3),
        notice=rng.choice(list(COUNTS)),
        fee=rng.randrange(8, 240) * 1000,
        price=round(rng.uniform(24.0, 39.0), 2),
        base=round(rng.uniform(7.0, 16.0), 2),
        consumption=rng.randrange(18, 90) * 100,
        made=rng.choice(("entered into", "made and entered into", "made")),
    )


def renewed(agreed: Terms) -> Terms:
    """The next version of an agreement: longer, for another fee, with another notice."""
    notice = 60 if agreed.notice != 60 else 90
    return replace(agreed, years=agreed.years + 1, fee=agreed.fee + 5000, notice=notice, version=agreed.version + 1)


def written(agreed: Terms, doubt: str = "") -> list[str]:
    """The agreement as the lines of its paper."""
    electricity = "strom" if agreed.german else "electricity"
    name = electricity if agreed.vertical == ENERGY else "commercial"
    marks = {doubt, LATER if agreed.version > 1 else ""}
    return [*_filled(name, agreed, doubt, marks), "", f"{agreed.number:06}"]


def amendment(agreed: Terms) -> list[str]:
    """A first amendment over the agreement: another fee, some weeks later."""
    return [*_filled("amendment", agreed, "", set()), "", f"{agreed.number:06}"]


def _filled(name: str, agreed: Terms, doubt: str, marks: set[str]) -> list[str]:
    """The text with the terms; `?mark` begins a line that only a marked one has, `!mark` one that it has not."""
    lines, values = [], _words(agreed, doubt)
    for line in _text(name):
        mark, _, rest = line[1:].partition(" ")
        if not line.startswith(("?", "!")):
            lines.append(line)
        elif (mark in marks) == (line[0] == "?"):
            lines.append(rest)
    return [Template(line).substitute(values) for line in lines]


@lru_cache
def _text(name: str) -> tuple[str, ...]:
    return tuple(
        files("interlock.apps.contracts.demo").joinpath("texts", f"{name}.txt").read_text("utf-8").splitlines()
    )


def _words(agreed: Terms, doubt: str) -> dict[str, str]:
    day, blank = agreed.dated, doubt == BLANK
    opening = f"____________, {day.year}" if blank else _english(day)
    months = agreed.notice // 30
    return {
        "TITLE": agreed.title.upper(),
        "title": agreed.title,
        "subject": agreed.subject,
        "made": agreed.made,
        "first": agreed.parties[0],
        "second": agreed.parties[1],
        "about_first": agreed.about[0],
        "about_second": agreed.about[1],
        "opening": opening,
        "signed": _english(day + timedelta(days=41)) if doubt == TWICE else opening,
        "amended": _english(day + timedelta(days=45)),
        "law": agreed.law,
        "fee": f"{agreed.fee:,}",
        "more": f"{agreed.fee + 12_000:,}",
        "most": f"{2 * agreed.fee:,}",
        "years": f"{('one', 'two', 'three', 'four')[agreed.years - 1]} ({agreed.years}) year{'s' * (agreed.years > 1)}",
        "notice": f"{COUNTS[agreed.notice]} ({agreed.notice}) days",
        "days": str(agreed.notice),
        "frist": f"{months} Monat{'e' * (months > 1)}",
        "months": str(12 * agreed.years),
        "begins": f"____________ {day.year}" if blank else f"{day:%d %B %Y}",
        "beginn": f"__.__.{day.year}" if blank else f"{day:%d.%m.%Y}",
        "price": _comma(agreed.price),
        "base": _comma(agreed.base),
        "base_year": _comma(agreed.base * (13 if doubt == TWICE else 12)),
        "consumption": f"{agreed.consumption:,}",
        "verbrauch": f"{agreed.consumption:,}".replace(",", "."),
    }


def _english(day: date) -> str:
    return f"{day:%B} {day.day}, {day.year}"


def _comma(value: float) -> str:
    return f"{value:.2f}".replace(".", ",")
