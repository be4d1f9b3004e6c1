"""How many people work at a company: numbers, ranges and words, as pages write them."""

from __future__ import annotations

import re
from typing import NamedTuple

from interlock.apps.jobs.finder.reading.experience import NUMBER_WORDS

WORDS = {word: number for word, number in NUMBER_WORDS.items() if number > 1} | {
    "eleven": 11,
    "twenty": 20,
    "thirty": 30,
    "forty": 40,
    "fifty": 50,
    "sechs": 6,
    "sieben": 7,
    "acht": 8,
    "neun": 9,
    "zehn": 10,
    "zwölf": 12,
    "zwanzig": 20,
    "dreißig": 30,
    "fünfzig": 50,
}
MOST = 5_000_000
"""No employer has as many people."""
_ONE = r"(?:\d{1,3}(?:[.,'\u2019 ]\d{3}){1,2}|\d{1,7})(?![\d%])(?: ?k\b)?"
MORE = (
    r"(?:over|more than|upwards of|at least|über|mehr als|rund|etwa|ca\.|circa|about|around|some|nearly|almost|roughly|"
    r"approximately|approx\.|currently|now|aktuell|derzeit|fast|knapp)"
)
NUMBER = (
    rf"(?P<more>{MORE} ){{0,2}}(?P<low>{_ONE}|\b(?:{'|'.join(WORDS)})\b)"
    rf"(?: ?(?:-|\u2013|\u2014|to|bis|and) ?(?P<high>{_ONE}))?(?P<plus> ?\+| or more| plus| und mehr)?"
)
_WHOLE = re.compile(rf"\W*{NUMBER}(?: [^\W\d_][\w ]{{0,40}})?\W*", re.IGNORECASE)
_AT_LEAST = re.compile(r"(?:over|more than|upwards of|at least|über|mehr als)\b", re.IGNORECASE)


class People(NamedTuple):
    """A number of people."""

    number: int
    more: bool
    """Whether it is the least."""


def people_in(found: re.Match[str]) -> People | None:
    """The number of people of a match with the groups of `NUMBER`."""
    low = _value(found["low"])
    high = _value(found["high"]) if found["high"] else None
    if low is None or not 1 <= low <= MOST:
        return None
    if high is not None and low < high <= MOST:
        return People((low + high) // 2, False)
    return People(low, bool(found["plus"]) or bool(found["more"] and _AT_LEAST.match(found["more"])))


def people_of(text: str) -> People | None:
    """The number that a short text is: "51-200", "1.200 Mitarbeiter", "10,001+"."""
    found = _WHOLE.fullmatch(text) if len(text) <= 80 else None
    return people_in(found) if found else None


def _value(text: str) -> int | None:
    low = text.lower()
    if low in WORDS:
        return WORDS[low]
    digits = re.sub(r"\D", "", low)
    return int(digits) * (1000 if low.endswith("k") else 1) if digits else None
