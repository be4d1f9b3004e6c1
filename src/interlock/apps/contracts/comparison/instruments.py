"""The amendments in a file: where each starts, its number and its date.

Files of amendments are untidy: they start with the last page of the base, hold two, or repeat an earlier one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date

from rapidfuzz import fuzz

from interlock.apps.contracts.comparison.clauses import Clause, Clauses, shortened
from interlock.apps.contracts.comparison.dates import DATE, dates_in

_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
_NUMBERS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_ORDINAL = "|".join(_ORDINALS)
_NUMBER = r"(?:no\.?|number|nr\.?|#)? ?(?P<number>\d{1,2}\b|" + "|".join(rf"{word}\b" for word in _NUMBERS) + ")"
_TITLE = re.compile(
    rf"(?:(?P<ordinal>{_ORDINAL}|\d{{1,2}}(?:st|nd|rd|th)) )?(?:amendments?|nachtrag|addendum)\b(?: ?{_NUMBER})?",
    re.IGNORECASE,
)
_OPENING = re.compile(
    rf"this (?:is the )?(?:(?P<ordinal>{_ORDINAL}|\d{{1,2}}(?:st|nd|rd|th)) )?(?:amendment|addendum)\b(?: ?{_NUMBER})?",
    re.IGNORECASE,
)
_TAKES_EFFECT = re.compile(r"\b(?:entered|made|effective|dated|executed)\b", re.IGNORECASE)
_NOT_BASE = r"(?:(?!agreement|contract)[^.;])"
_DATED = re.compile(
    rf"amendment\b{_NOT_BASE}{{0,160}}?\b(?:effective|entered|made|dated|executed){_NOT_BASE}{{0,60}}?(?P<date>{DATE})",
    re.IGNORECASE,
)
_SIGNED = re.compile(rf"\bdate:? ?(?P<date>{DATE})", re.IGNORECASE)
TITLE_WORDS = 30
TITLE_LEAD = 90
TITLE_BEFORE_OPENING = 4
"""How many clauses can stand between the title of an amendment and its first sentence."""
SAME_TEXT = 85


@dataclass(frozen=True, slots=True)
class FoundAmendment:
    """One amendment in a file."""

    document: str
    """The key of the file."""
    name: str
    title: str
    number: int | None
    dated: date | None
    clauses: tuple[Clause, ...]
    copies: tuple[FoundAmendment, ...] = ()
    """The same amendment in other files."""

    @property
    def text(self) -> str:
        return " ".join(clause.text for clause in self.clauses)

    def holds(self, document: str, page: int, start: int) -> bool:
        """Whether that character of that page of that file belongs to it."""
        own = self.document == document and any(clause.holds(page, start) for clause in self.clauses)
        return own or any(copy.holds(document, page, start) for copy in self.copies)


def instruments_in(document: str, name: str, clauses: Clauses) -> list[FoundAmendment]:
    """Return the amendments that a file holds; a file that shows none is one amendment as a whole."""
    items = clauses.items
    starts: list[tuple[int, re.Match[str]]] = []
    for index, clause in enumerate(items):
        match = _starts(clause)
        if match is None:
            continue
        if starts and index - starts[-1][0] <= TITLE_BEFORE_OPENING and not _clashes(starts[-1][1], match):
            continue
        starts.append((index, match))
    if not starts:
        return [FoundAmendment(document, name, name, None, _dated(items), items)]
    found = []
    for at, (start, match) in enumerate(starts):
        end = starts[at + 1][0] if at + 1 < len(starts) else len(items)
        own = items[start:end]
        number = _number(match) or next((n for clause in own[:4] if (m := _starts(clause)) and (n := _number(m))), None)
        title = shortened(_title(own), 90)
        found.append(FoundAmendment(document, name, title, number, _dated(own), own))
    return found


def in_order(found: Sequence[FoundAmendment]) -> list[FoundAmendment]:
    """Return different amendments in the order in which they take effect: by date, else by number, else as given."""
    different: list[FoundAmendment] = []
    for one in found:
        twin = next((index for index, other in enumerate(different) if _same(one, other)), None)
        if twin is None:
            different.append(one)
        else:
            known = different[twin]
            different[twin] = replace(known, number=known.number or one.number, copies=(*known.copies, one))
    if all(one.dated for one in different):
        return sorted(different, key=lambda one: (one.dated or date.max, one.number or 0))
    if all(one.number for one in different):
        return sorted(different, key=lambda one: one.number or 0)
    return different


def _starts(clause: Clause) -> re.Match[str] | None:
    opening = _OPENING.match(clause.text)
    if opening and _TAKES_EFFECT.search(clause.text[:600]):
        return opening
    if clause.path or len(clause.text.split()) > TITLE_WORDS:
        return None
    # "[LOGO] AMENDMENT #2 TO THE AGREEMENT" is a title; "Amendment to the License" is a heading inside an amendment.
    title = _TITLE.search(clause.text, 0, TITLE_LEAD) if clause.text.isupper() else _TITLE.match(clause.text)
    if title and (clause.text.isupper() or (_number(title) and clause.text[-1] not in ".;,")):
        return title
    return None


def _clashes(before: re.Match[str], after: re.Match[str]) -> bool:
    first, second = _number(before), _number(after)
    return first is not None and second is not None and first != second


def _number(match: re.Match[str]) -> int | None:
    ordinal, number = match["ordinal"], match["number"]
    for text, names in ((ordinal, _ORDINALS), (number, _NUMBERS)):
        if text and text.lower() in names:
            return names.index(text.lower()) + 1
        digits = re.match(r"\d+", text or "")
        if digits:
            return int(digits.group())
    return None


def _dated(clauses: Sequence[Clause]) -> date | None:
    opening = " ".join(clause.text for clause in clauses[:8])[:4000]
    match = _DATED.search(opening)
    if match:
        return next(iter(dates_in(match["date"])), None)
    signed = [
        found for match in _SIGNED.finditer(" ".join(c.text for c in clauses)) for found in dates_in(match["date"])
    ]
    return max(signed, default=None)


def _same(one: FoundAmendment, other: FoundAmendment) -> bool:
    if one.dated != other.dated or (one.number and other.number and one.number != other.number):
        return False
    return fuzz.partial_ratio(one.text[:1500], other.text[:3000]) >= SAME_TEXT


def _title(clauses: Sequence[Clause]) -> str:
    """Return the title of an amendment; one that goes on in the next line is put together."""
    first = clauses[0].text
    if (
        len(clauses) > 1
        and first.isupper()
        and clauses[1].text.isupper()
        and first.endswith((" TO", " THE", " BETWEEN"))
    ):
        return f"{first} {clauses[1].text}"
    return first
