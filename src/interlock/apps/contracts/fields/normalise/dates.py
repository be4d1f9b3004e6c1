"""Dates in the shapes that contracts write them in, blanks included.

A date is `2003-05-06`. Where a part is left blank or taken out, it is `XX` (`2015-XX-XX`, `2000-05-XX`), as EDTF
writes it. `perpetual` is the end of a contract that has none.
"""

from __future__ import annotations

import calendar
import re
from bisect import bisect_left
from dataclasses import dataclass
from datetime import date

PERPETUAL = "perpetual"
_MONTHS = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
]
_GERMAN = {
    "januar": 1,
    "jänner": 1,
    "februar": 2,
    "märz": 3,
    "maerz": 3,
    "mai": 5,
    "juni": 6,
    "juli": 7,
    "oktober": 10,
    "dezember": 12,
}
_ONES = [
    "",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
]
_TENS = ["", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
_ORDINALS = [
    "",
    "first",
    "second",
    "third",
    "fourth",
    "fifth",
    "sixth",
    "seventh",
    "eighth",
    "ninth",
    "tenth",
    "eleventh",
    "twelfth",
    "thirteenth",
    "fourteenth",
    "fifteenth",
    "sixteenth",
    "seventeenth",
    "eighteenth",
    "nineteenth",
    "twentieth",
]


def _ordinal_words() -> dict[str, int]:
    words = {word: number for number, word in enumerate(_ORDINALS) if word}
    words["thirtieth"] = 30
    for tens, name in ((20, "twenty"), (30, "thirty")):
        for ones in range(1, 10):
            if tens + ones <= 31:
                words[f"{name}-{_ORDINALS[ones]}"] = tens + ones
    return words


ORDINALS = _ordinal_words()


def _spaced(word: str) -> str:
    """A word whose letters a bad text layer may have torn apart."""
    return " ?".join(word)


_MONTH_WORDS = "|".join([_spaced(m) for m in _MONTHS] + sorted(_GERMAN, key=len, reverse=True))
_MONTH_SHORT = r"(?:jan|feb|febr|mar|apr|jun|jul|aug|sep|sept|oct|nov|dec|mär|okt|dez)\b\.?"
_MONTH = rf"(?P<month>(?:{_MONTH_WORDS})\b|{_MONTH_SHORT})"
_MONTH_PLAIN = rf"(?P<month>{_MONTH_WORDS}|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec)"
# Atomic, and only at the begin of a run: a long row of blanks is tried once, not once for each of its characters.
_BLANK = (
    r"(?<![._*-])(?<![._*-] )(?>_(?:[_ ]{0,40}_)?|\[[^\]\w]{0,20}\]|\[_{1,20}\]|\*{1,6}|\u2022|(?:\. ?){3,20}|-{2,20}|"
    r"\[ ?(?:date|day|month|insert[a-z ]{0,20}|redacted|omitted) ?\])"
)
_ORDINAL_WORD = "|".join(
    sorted((word.replace("-", r"[- ]{1,2}") for word in ORDINALS), key=len, reverse=True),
)
_DAY = (
    rf"(?P<day>\d ?\d(?! ?\d)|\d|{_ORDINAL_WORD}|{_BLANK})"
    r"(?: ?\(\d{1,2}(?:st|nd|rd|th)?\))?(?: ?(?:s ?t|n ?d|r ?d|t ?h)\b)?_?"
)
_YEAR_WORDS = (
    r"(?:two thousand(?:,? and| ,)?(?: [a-z]{3,9}(?:[- ][a-z]{3,5})?)?|"
    r"nineteen(?: hundred(?: and)?)? (?:eighty|ninety)(?:[- ][a-z]{3,5})?)"
)
_YEAR = (
    r"(?P<year>(?:1 ?9|2 ?0) ?\d ?\d(?!\d)|(?:19|20) ?(?:\d ?_{1,20}|_{1,20}|\[[^\]\w]{0,8}\]|\*{1,4})|"
    rf"'\d\d(?!\d)|{_YEAR_WORDS}|{_BLANK})"
)

_SAYS_DATE = re.compile(
    r"(?:\b(?:dated?|datum|on|of|am|vom|ab|zum|bis|seit|den|until|from|to|and|und)|[-/:,])\W{0,4}$|^\W{0,4}$",
    re.IGNORECASE,
)
_DIGIT = re.compile(r"\d")
_YEAR_WORD = re.compile(r"\b(?:two thousand|nineteen)", re.IGNORECASE)
_SHAPES = [
    # the 6th day of May, 2003; 6 May 2003; sixth (6th) day of May in the year 2003
    re.compile(
        rf"(?<![\w$]){_DAY}[.,]? {{0,2}}(?:calendar )?(?:day ?,? ?)?(?:of |in )?(?:the month of )?"
        rf"(?:{_MONTH}|(?P<blankmonth>{_BLANK})) ?[.,]? {{0,2}}(?:day )?"
        rf"(?:of |in )?(?:the year )?(?:of our lord )?(?:A\.?D\.?,? )?{_YEAR}",
        re.IGNORECASE,
    ),
    # May 6, 2003; May 6th 2003; ___________ __, 2015
    re.compile(rf"\b{_MONTH},? {{0,2}}(?:the )?{_DAY}(?: ?[,.;]| of| A\.?D\.?)*? {{0,2}}{_YEAR}", re.IGNORECASE),
    # ____________, 2015; [***], 2015
    re.compile(rf"(?<!\w)(?P<blankmonth>{_BLANK})(?: ?{_BLANK})? ?, ?(?P<year>(?:19|20)\d\d)(?!\d)", re.IGNORECASE),
    # 6-May-2003
    re.compile(rf"(?<![\w/.-])(?P<day>[0-3]?\d)[-/]{_MONTH_PLAIN}[-/](?P<year>(?:19|20)\d\d)(?![\w/-])", re.IGNORECASE),
    re.compile(r"(?<![\d/.-])(?P<y>(?:19|20)\d\d)([-/])(?P<m>[01]?\d)\2(?P<d>[0-3]?\d)(?![\d/-])"),
    re.compile(r"(?<![\d/.-])(?P<m>[01]?\d) ?/ ?(?P<d>[0-3]?\d) ?/ ?(?P<y>(?:19|20)\d\d|\d\d)(?![\d/])"),
    re.compile(r"(?<![\d/.-])(?P<m>[01]?\d)-(?P<d>[0-3]?\d)-(?P<y>(?:19|20)\d\d|\d\d)(?![\d/-])"),
    re.compile(r"(?<![\d/.-])(?P<d>[0-3]?\d)\. ?(?P<m>[01]?\d)\. ?(?P<y>(?:19|20)\d\d)(?![\d/-])"),
    # 20.3.98, which in most places is the number of a section
    re.compile(r"(?<![\d/.-])(?P<d>[0-3]?\d)\.(?P<m>[01]?\d)\.(?P<y>\d\d)(?![\d/-])(?P<short>)"),
    # May 2003
    re.compile(rf"\b{_MONTH},? {{0,2}}(?:of )?(?P<year>(?:19|20)\d\d)(?!\d)", re.IGNORECASE),
]


@dataclass(frozen=True, slots=True)
class DateFound:
    """A date in a text, and where."""

    value: str
    start: int
    end: int

    @property
    def full(self) -> bool:
        return "X" not in self.value


def find_dates(text: str, start: int = 0, end: int | None = None) -> list[DateFound]:
    """All dates of a text on one line, from left to right; of two that overlap, the fuller one."""
    end = len(text) if end is None else min(end, len(text))
    if not _DIGIT.search(text, start, end) and not _YEAR_WORD.search(text, start, end):
        return []
    found: list[DateFound] = []
    taken: list[tuple[int, int]] = []
    for shape in _SHAPES:
        more: list[tuple[int, int]] = []
        for match in shape.finditer(text, start, end):
            if _overlaps(taken, match.start(), match.end()):
                continue
            if "short" in shape.groupindex and not _SAYS_DATE.search(text, max(match.start() - 14, 0), match.start()):
                continue
            value = _value(match)
            if value is not None:
                found.append(DateFound(value, match.start(), match.end()))
                more.append(match.span())
        if more:
            taken = sorted(taken + more)
    return sorted(found, key=lambda date: date.start)


def _overlaps(taken: list[tuple[int, int]], start: int, end: int) -> bool:
    at = bisect_left(taken, (end, 0))
    return at > 0 and taken[at - 1][1] > start


def parse_date(text: str) -> str | None:
    """The one date that a text has: `2003-05-06`, with `XX` for blanks; `None` without one."""
    text = " ".join(text.split())
    if re.search(r"\bperpetual", text, re.IGNORECASE) and not find_dates(text):
        return PERPETUAL
    found = find_dates(text)
    return found[0].value if found else None


def parse_label_date(text: str) -> str | None:
    """A date as CUAD's answers write it: `5/6/03`, `[]/[]/2015`, `perpetual`."""
    text = text.strip().lower()
    if PERPETUAL in text:
        return PERPETUAL
    match = re.fullmatch(r"(\d{1,2}|\[.{0,3}\])/(\d{1,2}|\[.{0,3}\])/(\d{4}|\d{2}|\[.{0,3}\])", text)
    if match is None:
        return parse_date(text)
    month, day, year = (None if part.startswith("[") else int(part) for part in match.groups())
    return _written(_four(year) if year is not None else None, month, day)


def as_date(value: str) -> date | None:
    """The calendar day of a full date; `None` for one with blanks."""
    try:
        return date.fromisoformat(value)
    except ValueError:
        return None


def add_months(day: date, months: int) -> date:
    """The same day some months later; the last of the month where that day does not exist."""
    total = day.year * 12 + day.month - 1 + months
    year, month = divmod(total, 12)
    if not 1 <= year <= 9999:
        raise ValueError(f"{months} months after {day} is outside the calendar")
    return date(year, month + 1, min(day.day, calendar.monthrange(year, month + 1)[1]))


def _value(match: re.Match[str]) -> str | None:
    parts = match.groupdict()
    if "m" in parts:
        first, second = int(parts["m"]), int(parts["d"])
        if first > 12 and second <= 12:
            first, second = second, first
        return _written(_four(int(parts["y"])), first, second)
    year = _year(parts["year"])
    month_word = parts.get("month")
    month = _month(month_word) if month_word else None
    day_word = parts.get("day")
    day = _day(day_word) if day_word else None
    if month is None and year is None:
        return None
    if month_word is None and day is not None and "blankmonth" in parts and year is None:
        return None
    return _written(year, month, day)


def _written(year: int | None, month: int | None, day: int | None) -> str | None:
    if month is not None and not 1 <= month <= 12:
        return None
    longest = calendar.monthrange(year or 2000, month)[1] if month else 31
    if day is not None and not 1 <= day <= longest:
        return None
    return "-".join(
        [
            f"{year:04d}" if year is not None else "XXXX",
            f"{month:02d}" if month is not None else "XX",
            f"{day:02d}" if day is not None else "XX",
        ]
    )


def _four(year: int) -> int:
    if year >= 100:
        return year
    return 1900 + year if year >= 60 else 2000 + year


def _month(word: str) -> int | None:
    letters = re.sub(r"[^a-zäö]", "", word.lower())
    if letters in _GERMAN:
        return _GERMAN[letters]
    short = {"mär": 3, "okt": 10, "dez": 12}
    if letters in short:
        return short[letters]
    return next((n for n, month in enumerate(_MONTHS, 1) if month.startswith(letters[:3])), None)


def _day(word: str) -> int | None:
    digits = re.sub(r"\s", "", word)
    if digits.isdigit():
        return int(digits)
    return ORDINALS.get(re.sub(r"[- ]+", "-", word.lower()))


def _year(word: str) -> int | None:
    packed = re.sub(r"\s", "", word)
    if packed.isdigit():
        return int(packed)
    if packed.startswith("'"):
        return _four(int(packed[1:]))
    words = re.findall(r"[a-z]+", word.lower())
    if not words:
        return None
    if words[:2] == ["two", "thousand"]:
        rest = [w for w in words[2:] if w != "and"]
        year = 2000
    elif words[0] == "nineteen":
        rest = [w for w in words[1:] if w not in ("hundred", "and")]
        year = 1900
    else:
        return None
    for part in rest:
        if part in _TENS and part:
            year += 10 * _TENS.index(part)
        elif part in _ONES and part:
            year += _ONES.index(part)
        else:
            break
    return year
