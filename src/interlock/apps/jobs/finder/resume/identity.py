"""Who somebody is: name, e-mail, phone, links and home, from the lines at the top and those under "Contact"."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from interlock.apps.jobs.finder.geography.places import place
from interlock.apps.jobs.finder.postings.posting import Location
from interlock.apps.jobs.finder.reading.language import language_of
from interlock.apps.jobs.finder.reading.places import city_of
from interlock.apps.jobs.finder.reading.plain import folded
from interlock.apps.jobs.finder.resume.dates import RANGE
from interlock.apps.jobs.finder.resume.education import has_degree
from interlock.apps.jobs.finder.resume.employment import is_job_title
from interlock.apps.jobs.finder.resume.entries import is_place
from interlock.apps.jobs.finder.resume.lines import Line
from interlock.apps.jobs.finder.resume.sections import Section, heading_kind, is_title

FIRST_LINES = 15
_EMAIL = re.compile(r"(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{2,63}){1,4}")
_PHONE = re.compile(r"(?<![\w/.-])(?:\+|00|\(?0|\(\d|\d)[\d ()/.\u2013-]{6,24}\d(?![\w-])")
_LINK = re.compile(
    r"(?<![@\w.])(?:https?://[^\s|,;<>()]{4,300}|(?:www\.)?(?:linkedin\.com/in|github\.com|gitlab\.com|xing\.com/profile|"
    r"stackoverflow\.com/users|medium\.com|twitter\.com|x\.com)/[\w%./@-]{2,100}"
    r"|(?:www\.)[\w-]{2,60}(?:\.[\w-]{2,30}){1,3}(?:/[\w./-]{0,60})?)",
    re.IGNORECASE,
)
_NAME = re.compile(r"[^\W\d_][\w.'\u2019-]{0,30}(?: [^\W\d_][\w.'\u2019-]{0,30}){1,4}")
_LABELLED_NAME = re.compile(r"(?:name|vor- und (?:nach|zu)name|full name)\s*:?\s+(.{3,60})", re.IGNORECASE)
_DEGREE_BEHIND = re.compile(r",? (?:ph\.?d\.?|m\.?sc\.?|b\.?sc\.?|mba|m\.?a\.?|b\.?a\.?|pmp|cpa)$", re.IGNORECASE)
_LABEL = re.compile(
    r"^(?:address|adresse|anschrift|location|wohnort|ort|city|based in|residence|lives in)\s*:?\s+", re.IGNORECASE
)
_POSTCODE = re.compile(r"\b(?:[A-Z]{1,2}-)?(?P<code>\d{4,5}) (?P<city>[A-ZÄÖÜ][\w.-]+(?: [A-ZÄÖÜ(][\w.)-]+){0,3})")

_STATE_AND_CODE = re.compile(r"(?:^|, )(?P<city>[A-Z][A-Za-z.' -]{1,40}), (?P<state>[A-Z]{2}),? \d{5}\b")
"""The end of an address in the United States."""


class FoundText(NamedTuple):
    """A value and its line."""

    value: str
    line: Line


class Person(NamedTuple):
    """Who somebody is. What is not said is None."""

    name: FoundText | None
    email: FoundText | None
    phone: FoundText | None
    links: tuple[FoundText, ...]
    home: tuple[Location, Line] | None


def person_of(sections: Sequence[Section]) -> Person:
    """The person at the top of a resume."""
    top = [line for one in sections if one.kind in ("top", "contact") for line in one.lines]
    first = [line for one in sections for line in one.lines][:FIRST_LINES]
    lines = [*top, *(line for line in first if line not in top)]
    email = _first(lines, _EMAIL)
    german = language_of(folded("\n".join(line.text for one in sections for line in one.lines))) == "de"
    links: dict[str, FoundText] = {}
    for line in top or first[:6]:
        for found in _LINK.finditer(line.text):
            url = found[0].rstrip(".,;")
            url = url if url.lower().startswith("http") else f"https://{url}"
            links.setdefault(url.lower().rstrip("/"), FoundText(url, line))
    phone = next((one for line in lines for one in _phones(line)), None)
    return Person(_name(lines), email, phone, tuple(links.values())[:10], _home(top or first, german))


def _first(lines: Sequence[Line], pattern: re.Pattern[str]) -> FoundText | None:
    return next((FoundText(found[0], line) for line in lines for found in pattern.finditer(line.text)), None)


def _phones(line: Line) -> Iterator[FoundText]:
    for found in _PHONE.finditer(_LINK.sub(" ", _EMAIL.sub(" ", line.text))):
        digits = re.sub(r"\D", "", found[0])
        # What begins with a date is none; a number may end as a year does.
        if 8 <= len(digits) <= 15 and not RANGE.match(found[0]):
            yield FoundText(" ".join(found[0].split()), line)


def _name(lines: Sequence[Line]) -> FoundText | None:
    for line in lines:
        labelled = _LABELLED_NAME.fullmatch(line.text)
        if labelled and _looks_like_name(labelled[1]):
            return FoundText(labelled[1], line)
    found = [
        (line.size, -index, cell, line)
        for index, line in enumerate(lines[:FIRST_LINES])
        if not line.is_bullet
        for cell in _names_in(lines, index)
        if _looks_like_name(cell)
    ]
    if not found:
        return None
    best = max(found)
    name = best[2].title() if best[2].isupper() else best[2]
    return FoundText(name, best[3])


def _names_in(lines: Sequence[Line], index: int) -> list[str]:
    """What may be a name on a line, without a degree behind it; a name may go on in letters of the same size below."""
    line = lines[index]
    found = [_DEGREE_BEHIND.sub("", cell) for cell in line.cells[:2]]
    after = lines[index + 1] if index + 1 < len(lines) else None
    if after is None or not 0 < line.size < 1.05 * after.size < 1.1 * line.size:
        return found
    if not any(len(one.cells) > 1 or " " in one.text or heading_kind(one.text) for one in (line, after)):
        found.append(f"{line.text} {after.text}")
    return found


def _looks_like_name(text: str) -> bool:
    if not _NAME.fullmatch(text) or heading_kind(text) or is_title(text) or is_place(text):
        return False
    if is_job_title(text) or has_degree(text):
        return False
    words = text.split()
    return all(
        word[0].isupper() or word.lower() in ("van", "von", "de", "der", "den", "la", "zu", "di") for word in words
    )


def _home(lines: Sequence[Line], german: bool) -> tuple[Location, Line] | None:
    for line in lines:
        for cell in line.cells:
            for piece in re.split(r" [|·•/\u2013\u2014] ", cell.removeprefix("• ")):
                where = _LABEL.sub("", piece).strip()
                states = _STATE_AND_CODE.search(where)
                if states:
                    where = f"{states['city']}, {states['state']}"
                code = _POSTCODE.search(where)
                if code:
                    found = place(code["city"].strip("()"))
                    known = city_of([code["city"]])[0]
                    if found is not None:
                        country = found.country or (known.country if known else None)
                        country = country or ("DE" if german and len(code["code"]) == 5 else None)
                        return found.model_copy(update={"country": country or None}), line
                if len(where) <= 60 and not _EMAIL.search(where) and is_place(where):
                    found = place(where)
                    if found is not None and found.city:
                        known = city_of([where])[0]
                        country = found.country or (known.country if known else None)
                        return found.model_copy(update={"country": country or None}), line
    return None
