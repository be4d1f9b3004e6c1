"""Skills with their years: named in the section of skills, or shown by posts, whose months are counted once."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date
from typing import NamedTuple

from interlock.apps.jobs.finder.profiles.seeker import skill_name
from interlock.apps.jobs.finder.reading.vocabulary import terms
from interlock.apps.jobs.finder.resume.employment import Post, technologies_in
from interlock.apps.jobs.finder.resume.lines import BULLET, Line

MOST = 80
LONGEST = 40
_LABEL = re.compile(r"^[^:,]{2,40}:\s*")
_APART = re.compile(r"[,;|•·/]\s+|\s+[|•·/\u2013\u2014]\s+|[,;|•·]|\s{2,}")
_YEARS = re.compile(r"\(?(?P<years>\d{1,2})\+? ?(?:years?|yrs?|jahre?n?|y)\b\)?", re.IGNORECASE)
_LEVEL = re.compile(
    r"\(?\b(?:expert|advanced|intermediate|basic|beginner|proficient|fluent|native|experte|fortgeschritten|grundkenntnisse|"
    r"sehr gut|gut|basics?|senior|good|very good|familiar|strong)\b\)?",
    re.IGNORECASE,
)


class Known(NamedTuple):
    """A skill. Years are None where no post shows it and nothing is said."""

    name: str
    years: float | None
    last_used: str | None
    line: Line


def skills_known(lines: Sequence[Line], posts: Sequence[Post], today: date) -> list[Known]:
    """The skills, those of the most years first."""
    named: dict[str, tuple[Line, float | None]] = {}
    for line in lines:
        for name, years in _listed(line):
            before = named.get(name)
            named[name] = (line, max(years or 0, (before[1] or 0) if before else 0) or None)
    found: list[Known] = []
    shown = {name for post in posts for name in post.skills}
    for name in dict.fromkeys([*named, *shown]):
        used = [post for post in posts if name in post.skills]
        line, said = named[name] if name in named else (used[0].line, None)
        years = said if said is not None else years_of(used, today) or None
        ends = [post.period.end or f"{today:%Y-%m}" for post in used]
        found.append(Known(name, years, max(ends, default=None), line))
    order = {name: at for at, name in enumerate(named)}
    found.sort(key=lambda one: (-(one.years or 0), order.get(one.name, len(order)), one.name))
    return found[:MOST]


def years_of(posts: Sequence[Post], today: date) -> float:
    """The years of posts together. Months in two of them count once; the result is in steps of half a year."""
    months: set[int] = set()
    for post in posts:
        first, last = post.period.months(today)
        months.update(range(first, min(last, first + 12 * 60) + 1))
    return round(len(months) / 6) / 2


def _listed(line: Line) -> list[tuple[str, float | None]]:
    """The skills that a line of the section lists: terms of the vocabulary, and other short entries as they are."""
    cells = line.cells
    if len(cells) > 1 and "," not in cells[0] and any("," in cell for cell in cells[1:]):
        cells = cells[1:]  # the first one names a group
    text = _LABEL.sub("", ", ".join(cells).removeprefix(BULLET))
    found: dict[str, float | None] = {}
    for piece in _APART.split(text):
        years = _YEARS.search(piece)
        count = float(years["years"]) if years else None
        bare = _LEVEL.sub("", _YEARS.sub("", piece)).strip(" ()-\u2013\u2014:").rstrip(".")
        if not bare:
            continue
        technical = technologies_in(bare)
        name = skill_name(bare)
        if name in terms():
            found.setdefault(name, count)
        elif technical:
            for one in technical:
                found.setdefault(one, count)
        elif len(bare) <= LONGEST and len(bare.split()) <= 3 and bare[0].isalnum() and len(bare) > 1:
            found.setdefault(bare, count)
    if len(found) == 1 and len(text.split()) > 6:
        return [(name, None) for name in technologies_in(text)]
    return list(found.items())
