"""Dates of a resume: months and years, and ranges of them, in the six languages that rules know."""

from __future__ import annotations

import re
from datetime import date
from typing import NamedTuple

_MONTHS = {
    1: "january jan januar jän jänner janvier janv enero ene janeiro januari",
    2: "february feb februar février fevrier févr fevr fév febrero fevereiro fev februari",
    3: "march mar märz mär maerz mars marzo março marco maart mrt",
    4: "april apr avril avr abril abr",
    5: "may mai mayo maio mei",
    6: "june jun juni juin junio junho",
    7: "july jul juli juillet juil julio julho",
    8: "august aug août aout agosto ago augustus",
    9: "september sept sep septembre septiembre setiembre setembro set",
    10: "october oct oktober okt octobre octubre outubro out",
    11: "november nov novembre noviembre novembro",
    12: "december dec dezember dez décembre decembre déc diciembre dic dezembro",
}
_NUMBERS = {name: number for number, names in _MONTHS.items() for name in names.split()}
_MONTH = "|".join(sorted(_NUMBERS, key=len, reverse=True))
_YEAR = r"(?:19[5-9]|20[0-4])\d"


def _one(which: int) -> str:
    """A month and year, or a year."""
    return (
        rf"(?:(?:\d{{1,2}}\.)?(?:(?P<mn{which}>0?[1-9]|1[0-2])[./]|(?P<mw{which}>{_MONTH})\.?,? ?'?)"
        rf"(?:de |del )?(?P<ya{which}>{_YEAR})"
        rf"|(?P<yb{which}>{_YEAR})[.-](?P<mi{which}>0[1-9]|1[0-2])(?!\d)"
        rf"|(?:(?P<mx{which}>0?[1-9]|1[0-2])/|(?P<my{which}>{_MONTH})\.? ['\u2019])(?P<yd{which}>\d\d)(?![/\d])"
        rf"|(?:(?:summer|spring|fall|autumn|winter) )?(?P<yc{which}>{_YEAR}))(?!\d)"
    )


_NOW = (
    r"(?P<now>presente?|now|today|current(?:ly)?|ongoing|to date|heute|jetzt|aktuell|dato|laufend"
    r"|(?:\u00e0 )?ce jour|aujourd['\u2019]hui|pr\u00e9sent|actuel(?:lement)?|en cours|(?:la )?actualidad"
    r"|actual(?:mente)?|(?:o )?momento(?: ac?tual)?|atual(?:mente)?|hoje|hoy|heden|nu)"
)
_TO = r" ?(?:-|\u2013|\u2014|\u2212|to|until|till|through|bis(?: zum| zu)?|/|\u00e0|au|a|al|hasta|at\u00e9|tot|t/m) ?"
RANGE = re.compile(
    rf"(?<![\w./])(?:(?P<since>since|seit|ab|depuis|sinds|desde) )?(?:from |von |de |du |van )?{_one(1)}"
    rf"(?:{_TO}(?:{_NOW}|{_one(2)}))?",
    re.IGNORECASE,
)
_CENTURY = 50
"""A year of two digits below it is of this century."""
_OPEN = re.compile(r"[ ]?[-\u2013\u2014] ?$")


class Period(NamedTuple):
    """From a month to a month, as the profile writes them: 2021-03, or 2021 where the month is not said."""

    start: str
    end: str | None
    """None for what goes on."""
    single: bool
    """Whether only one date is said."""
    text: str

    def months(self, today: date) -> tuple[int, int]:
        """First and last month, counted from the year 0. A year alone is counted from its January to its December."""
        first = _month(self.start, 1)
        last = today.year * 12 + today.month - 1 if self.end is None else _month(self.end, 12)
        return first, max(first, min(last, today.year * 12 + today.month - 1))


def _month(text: str, missing: int) -> int:
    year, _, month = text.partition("-")
    return int(year) * 12 + (int(month) if month else missing) - 1


def period_in(text: str) -> Period | None:
    """The first range of dates in a text; a single date where there is no range."""
    best: Period | None = None
    for found in RANGE.finditer(text[:400]):
        one = _period(found, text)
        if not one.single:
            return one
        if not found["yd1"]:  # "05/23" alone may be anything
            best = best or one
    return best


def _period(found: re.Match[str], text: str) -> Period:
    start = _date(found, "1")
    has_end = any(found[f"{name}2"] for name in ("ya", "yb", "yc", "yd"))
    open_end = bool(found["now"]) or (not has_end and bool(found["since"] or _OPEN.fullmatch(text[found.end() :])))
    if open_end:
        return Period(start, None, False, found[0])
    if has_end:
        end = _date(found, "2")
        return (
            Period(min(start, end), max(start, end), False, found[0])
            if end[:4] < start[:4]
            else Period(start, end, False, found[0])
        )
    return Period(start, start, True, found[0])


def _date(found: re.Match[str], which: str) -> str:
    short = found[f"yd{which}"]
    year = found[f"ya{which}"] or found[f"yb{which}"] or found[f"yc{which}"]
    if short:
        year = f"{'20' if int(short) < _CENTURY else '19'}{short}"
    word = found[f"mw{which}"] or found[f"my{which}"]
    number = found[f"mn{which}"] or found[f"mi{which}"] or found[f"mx{which}"]
    month = _NUMBERS[word.lower()] if word else int(number or 0)
    return f"{year}-{month:02d}" if month else year


def without_dates(text: str) -> str:
    """The text without its dates and what only joined them."""
    bare = RANGE.sub(" ", text)
    bare = re.sub(r"\( *\)|\[ *\]", " ", bare)
    bare = re.sub(r"(?i)\((?:\d+ (?:years?|yrs?|months?|mos?|jahre?|monate?)[ ,]*)+\)", " ", bare)
    return re.sub(r"^[\s|,;:\u00b7\u2013\u2014-]+|[\s|,;:\u00b7\u2013\u2014-]+$", "", " ".join(bare.split()))
