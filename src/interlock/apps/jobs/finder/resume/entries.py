"""Entries of a section: what stands around a range of dates. Posts, schools and projects have this shape.

The dates may stand right or left of a title, below it, or alone above it. How many lines stand above the dates of the
first entry tells it for all of them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from interlock.apps.jobs.finder.identity.keys import fold
from interlock.apps.jobs.finder.reading.places import city_of, country_of
from interlock.apps.jobs.finder.resume.dates import Period, period_in, without_dates
from interlock.apps.jobs.finder.resume.lines import BULLET, Line

LONGEST_HEADER = 110
MOST_ABOVE = 2
MOST_BELOW = 2
MOST_WORDS = 8
_APART = re.compile(r" [|·•/] | ?[\u2013\u2014] | - |\t")
_NOT_A_PLACE = re.compile(
    r"\b(?:gmbh|inc|ltd|llc|ag|universi\w+|college|school|institute|hogeschool|escuela|instituto|école)\b",
    re.IGNORECASE,
)
_LEGAL = re.compile(
    r"\b(?:inc|ltda?|co|corp|bros|e\.v|jr|sr|s\.l|s\.a|s\.a\.s|s\.r\.l|b\.v|n\.v|e\.k)\.$", re.IGNORECASE
)
_TWO_SENTENCES = re.compile(r"\w{2}\. [A-Z][a-z]+ [a-z]{3}")
_REMOTE = re.compile(r"\(?(?:fully )?(?:remote|hybrid|on-?site|home ?office)\)?", re.IGNORECASE)


class Entry(NamedTuple):
    """One entry."""

    period: Period
    parts: tuple[tuple[str, ...], ...]
    """The texts of its header, by line, without dates; what a gap or a bar divides is divided."""
    body: tuple[Line, ...]
    line: Line
    """The line with the dates."""


def entries_of(
    lines: Sequence[Line], *, singles: bool = False, complete: Callable[[Sequence[str]], bool] | None = None
) -> list[Entry]:
    """The entries of a section, in their order. With `singles`, one date is enough.

    A header goes on below its dates until `complete` says that its parts are all there.
    """
    anchors = [index for index, line in enumerate(lines) if _dated(line, singles) is not None]
    if not anchors:
        return []
    above = _above(lines, anchors)
    starts = [_start(lines, anchors, at, above) for at in range(len(anchors))]
    found = []
    for at, anchor in enumerate(anchors):
        stop = starts[at + 1] if at + 1 < len(anchors) else len(lines)
        period = _dated(lines[anchor], singles)
        assert period is not None
        below = anchor + 1
        header = [*lines[starts[at] : anchor + 1]]
        if len([part for line in header for part in _parts(line)]) < 2 or not above:
            while below < stop and below - anchor <= MOST_BELOW and _is_below(lines[below]):
                parts = [part for line in header for part in _parts(line)]
                if len(parts) >= 3 or (complete is not None and complete(parts)):
                    break
                header.append(lines[below])
                below += 1
        named = tuple(found_parts for line in header if (found_parts := _parts(line)))
        found.append(Entry(period, named, tuple(lines[below:stop]), lines[anchor]))
    return found


def _dated(line: Line, singles: bool) -> Period | None:
    if line.is_bullet or len(line.text) > 2 * LONGEST_HEADER:
        return None
    period = period_in(line.text)
    if period is None or (period.single and not singles):
        return None
    rest = without_dates(line.text)
    first = line.text.lstrip("([").startswith(period.text)
    return period if len(rest) <= LONGEST_HEADER and (first or not _ends_sentence(rest)) else None


def _ends_sentence(text: str) -> bool:
    """Whether a text ends as sentences do. "Lantern Maps Inc." is too short for one."""
    if _TWO_SENTENCES.search(text):
        return True
    return text.endswith((";", ":")) or (text.endswith(".") and len(text.split()) > 5 and not _LEGAL.search(text))


def _is_header(line: Line) -> bool:
    text = line.text
    if line.is_bullet or len(text) > LONGEST_HEADER or _ends_sentence(text):
        return False
    return text[:1].isupper() or text[:1].isdecimal()


def _is_below(line: Line) -> bool:
    """Whether a line below the dates may belong to the header: a name is shorter than what was done."""
    return _is_header(line) and len(line.text.split()) <= MOST_WORDS and ";" not in line.text


def _above(lines: Sequence[Line], anchors: Sequence[int]) -> int:
    """How many lines of a header stand above its dates."""
    first = anchors[0]
    count = 0
    while count < min(first, MOST_ABOVE) and _is_header(lines[first - 1 - count]):
        count += 1
    return count


def _start(lines: Sequence[Line], anchors: Sequence[int], at: int, above: int) -> int:
    anchor = anchors[at]
    least = anchors[at - 1] + 1 if at else 0
    start = anchor
    while start > least and anchor - start < above and _is_header(lines[start - 1]):
        start -= 1
    return start


def _parts(line: Line) -> tuple[str, ...]:
    found = []
    for cell in line.cells:
        bare = without_dates(cell)
        found += [_trimmed(one) for one in _APART.split(bare)]
    return tuple(one for one in found if any(map(str.isalpha, one)))


def _trimmed(text: str) -> str:
    """Without commas and brackets around it, and without a full stop that ends no abbreviation."""
    bare = text.strip(" ,;|").strip()
    if bare.count("(") != bare.count(")"):
        bare = bare.strip("()")
    return bare.removesuffix(".") if not _LEGAL.search(bare) and not bare.endswith("o.o.") else bare


def is_place(text: str) -> bool:
    """Whether a text is a place, or says only that the work is remote."""
    if _REMOTE.fullmatch(text.strip()):
        return True
    if len(text) > 50 or _NOT_A_PLACE.search(text) or len(text.split()) > 5:
        return False
    pieces = [one.strip() for one in text.split(",")]
    if len(pieces) == 1:
        place = city_of([text])[0]
        known = place is not None and fold(place.name) in fold(text)
        return known or (country_of([text]) is not None and len(text) > 3)
    first = city_of([pieces[0]])[0]
    if first is not None and fold(first.name) == fold(pieces[0]):
        return True
    return len(pieces) <= 3 and len(pieces[0].split()) <= 2 and country_of([pieces[-1]]) is not None


def paragraphs(lines: Sequence[Line]) -> list[str]:
    """The texts of a body: a bullet each, or a sentence each; lines that were broken are joined."""
    found: list[str] = []
    for line in lines:
        text = line.text
        if line.is_bullet:
            found.append(text.removeprefix(BULLET))
        elif found and (text[:1].islower() or not found[-1].endswith((".", "!", "?", ":"))):
            found[-1] = _joined(found[-1], text)
        else:
            found.append(text)
    return found


def _joined(first: str, second: str) -> str:
    if first.endswith("-") and second[:1].islower():
        return first[:-1] + second
    return f"{first} {second}"
