"""Schools and degrees, and projects."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from interlock.apps.jobs.finder.resume.dates import period_in, without_dates
from interlock.apps.jobs.finder.resume.employment import technologies_in
from interlock.apps.jobs.finder.resume.entries import entries_of, is_place, paragraphs
from interlock.apps.jobs.finder.resume.lines import Line

_SCHOOL = re.compile(
    r"\b(?:university|universit\w+|college|school|institute|academy|polytechnic|bootcamp|\w*hochschule|\w*schule|"
    r"gymnasium|akademie|berufskolleg|hogeschool|lycée|faculté|escuela|instituto|facultad|faculdade|escola|insa|iut|"
    r"tu|fh|eth|mit|th|uc|école|universidade?|politecnico)\b",
    re.IGNORECASE,
)
_DEGREE = re.compile(
    r"(?P<degree>\b(?:b\.? ?sc\.?|m\.? ?sc\.?|b\.? ?a\.?|m\.? ?a\.?|b\.? ?eng\.?|m\.? ?eng\.?|"
    r"[bm]\.? ?s\.?|[bm]\.? ?(?:comp|tech|phil|ed)\.?|mba|ph\.? ?d\.?|"
    r"dr\. ?\w*|bachelor(?:'s)?(?: of (?:science|arts|engineering))?|"
    r"master(?:'s)?(?: of (?:science|arts|engineering))?|"
    r"associate(?:'s)?(?: degree)?|diploma|diplom(?:-\w+)?|abitur|fachabitur|mittlere reife|high school diploma|"
    r"(?:ausbildung|lehre) (?:zum|zur|als) [^,;|]{3,60}|staatsexamen|doctorate|promotion|certificate|"
    r"licence|dut|bts|doctorat|grado|licenciatura|m[áa]ster universitario|doctorado|mestrado|bacharelado|"
    r"doutorado)(?!\w))"
    r"(?: degree)?(?: \(hons\.?\))?(?:,? (?:(?:in|of|im fach|in der|en|em) )?(?P<field>[^,;|()]{2,70}))?",
    re.IGNORECASE,
)
_URL = re.compile(r"(?:https?://|www\.)[^\s|,;()]{3,200}|\b(?:github|gitlab)\.(?:com|io)/[\w./-]{2,100}", re.IGNORECASE)
_NAMED = re.compile(r"[\w.+#-]{2,40}(?:: | [\u2013\u2014|-] )")
LONGEST_NAME = 100


def has_degree(text: str) -> bool:
    """Whether a text names a degree."""
    return _DEGREE.search(text) is not None


class School(NamedTuple):
    """A school, and what was learnt there."""

    school: str | None
    degree: str | None
    field: str | None
    start: str | None
    end: str | None
    line: Line


def schools_of(lines: Sequence[Line]) -> list[School]:
    """The schools of a section, in their order."""
    found = []
    for entry in entries_of(lines, singles=True):
        parts = [part for line in entry.parts for part in line]
        degree = field = held = None
        for part in parts:
            match = _DEGREE.search(part)
            if match:
                held = part
                degree, field = match["degree"].strip(" .,"), (match["field"] or "").strip(" .,") or None
                break
        school = next((part for part in parts if part is not held and _SCHOOL.search(part)), None)
        if school is None and held is not None and _SCHOOL.search(held):
            school, degree, field = _apart(held)
        if school is None:
            others = [part for part in parts if part is not held and not is_place(part)]
            school = others[0] if others else None
        if school is not None and ", " in school:
            head, tail = school.split(", ", 1)
            # A campus is a part of the name.
            school = head if is_place(tail) and not head.lower().startswith("university of") else school
        if field is not None and _SCHOOL.search(field):
            field = None
        period = entry.period
        start = None if period.single else period.start
        found.append(School(school, degree, field, start, period.end, entry.line))
    return found


def _apart(text: str) -> tuple[str | None, str | None, str | None]:
    """School, degree and field of "BSc Computer Science, Cascade University"."""
    pieces = [one.strip() for one in text.split(",")]
    school = next((one for one in pieces if _SCHOOL.search(one) and not _DEGREE.match(one)), None)
    match = _DEGREE.search(", ".join(one for one in pieces if one != school))
    if match is None:
        return school, None, None
    return school, match["degree"].strip(" .,"), (match["field"] or "").strip(" .,") or None


class Made(NamedTuple):
    """A project."""

    name: str
    description: str | None
    url: str | None
    skills: tuple[str, ...]
    line: Line


def projects_of(lines: Sequence[Line]) -> list[Made]:
    """The projects of a section: a short line names one, and what follows describes it."""
    found: list[tuple[Line, list[Line]]] = []
    bullets = any(line.is_bullet for line in lines)
    named_by_bullets = bullets and all(line.is_bullet for line in lines if line.text[:1].isupper() or line.is_bullet)
    for line in lines:
        begins = line.is_bullet if named_by_bullets else _names_project(line)
        if begins or not found:
            found.append((line, []))
        else:
            found[-1][1].append(line)
    return [one for head, body in found if (one := _project(head, body))]


def _names_project(line: Line) -> bool:
    text = without_dates(line.text)
    if line.is_bullet or _NAMED.match(text):
        return not line.is_bullet
    return len(text) <= LONGEST_NAME and not text.endswith(".") and text[:1].isupper()


def _project(head: Line, body: Sequence[Line]) -> Made | None:
    text = head.text.removeprefix("• ")
    url = next((found[0] for line in (text, *(one.text for one in body)) if (found := _URL.search(line))), None)
    bare = _URL.sub("", without_dates(text) if period_in(text) else text).strip(" |,;:()-\u2013\u2014")
    name, _, rest = _cut(bare)
    if not name or len(name) > LONGEST_NAME:
        return None
    said = [one for one in [rest.strip(), *paragraphs(body)] if one and not _URL.fullmatch(one)]
    description = " ".join(said)[:1000] or None
    return Made(name, description, url, technologies_in(f"{bare}\n{description or ''}"), head)


def _cut(text: str) -> tuple[str, str, str]:
    found = re.search(r": | [\u2013\u2014|-] |, ", text)
    return (text[: found.start()].strip(), found[0], text[found.end() :]) if found else (text, "", "")
