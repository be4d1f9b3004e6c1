"""Dates as amendments and signatures write them: `July 5, 2011`, `15th day of July 1998`, `1. Januar 1999`."""

from __future__ import annotations

import re
from datetime import date

_MONTHS = {
    name: number
    for number, names in enumerate(
        (
            "january januar jan",
            "february februar feb",
            "march märz mar",
            "april apr",
            "may mai",
            "june juni jun",
            "july juli jul",
            "august aug",
            "september sept sep",
            "october oktober oct okt",
            "november nov",
            "december dezember dec dez",
        ),
        1,
    )
    for name in names.split()
}
_MONTH = "|".join(sorted(_MONTHS, key=len, reverse=True))
DATE = (
    rf"(?:(?:{_MONTH})\.? \d{{1,2}}(?:st|nd|rd|th)? ?,? ?\d{{4}}"
    rf"|\d{{1,2}}(?:st|nd|rd|th|\.)?(?: day)?(?: of)? (?:{_MONTH})\.?,? \d{{4}}"
    r"|\d{4}-\d{2}-\d{2}|\d{1,2}/\d{1,2}/\d{2,4}|\d{1,2}\.\d{1,2}\.\d{4})"
)
_FOUND = re.compile(DATE, re.IGNORECASE)
_NAME = re.compile(rf"\b(?:{_MONTH})\b", re.IGNORECASE)


def dates_in(text: str) -> list[date]:
    """Return all dates in a text, in order; dates that do not exist are left out."""
    return [found for match in _FOUND.finditer(text) if (found := _read(match.group()))]


def _read(text: str) -> date | None:
    numbers = [int(number) for number in re.findall(r"\d+", text)]
    month = _NAME.search(text)
    if month:
        day, year, number = numbers[0], numbers[1], _MONTHS[month.group().lower()]
    elif "-" in text:
        year, number, day = numbers
    elif "/" in text:
        number, day, year = numbers
    else:
        day, number, year = numbers
    if year < 100:
        year += 2000 if year < 70 else 1900
    try:
        return date(year, number, day)
    except ValueError:
        return None
