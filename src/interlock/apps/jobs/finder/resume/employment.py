"""Posts: title, company, place, dates, what was done."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from interlock.apps.jobs.finder.reading.document import Document
from interlock.apps.jobs.finder.reading.skills import skills_of
from interlock.apps.jobs.finder.reading.values import Source
from interlock.apps.jobs.finder.resume.dates import Period
from interlock.apps.jobs.finder.resume.entries import Entry, entries_of, is_place, paragraphs
from interlock.apps.jobs.finder.resume.lines import Line

LONGEST_HIGHLIGHT = 1000
MOST_HIGHLIGHTS = 30
_TITLE = re.compile(
    r"\b(?:engineer|developer|programmer|architect|manager|lead|director|head of|analyst|scientist|designer|consultant|"
    r"administrator|admin|intern|trainee|apprentice|assistant|officer|specialist|owner|scrum master|(?:co-?)?founder|"
    r"c[teof]o|vp|president|tester|sre|researcher|technician|teacher|tutor|lecturer|nurse|chef|cook|accountant|clerk|"
    r"advisor|coordinator|representative|freelancer?|contractor|supervisor|associate|editor|writer|mentor|fellow|"
    r"full[- ]stack|backend|frontend|devops|student assistant|working student|\w*entwickler(?:in)?|\w*ingenieur(?:in)?|"
    r"\w*leiter(?:in)?|\w*leitung|\w*berater(?:in)?|werkstudent(?:in)?|praktikant(?:in)?|praktikum|auszubildende[r]?|"
    r"\w*mitarbeiter(?:in)?|\w*referent(?:in)?|\w*architekt(?:in)?|\w*administrator(?:in)?|\w*informatiker(?:in)?|"
    r"\w*techniker(?:in)?|\w*kaufmann|\w*kauffrau|sachbearbeiter(?:in)?|geschäftsführer(?:in)?|\w*programmierer(?:in)?|"
    r"hilfskraft|selbstständig|freiberufler(?:in)?|d[ée]veloppeu(?:r|se)|ing[ée]nieure?|responsable|"
    r"chef(?:fe)? de projet|alternante?|stagiaire|technicien(?:ne)?|(?:co)?fondat(?:eur|rice)|"
    r"chercheu(?:r|se)|desarrollador[a]?|programador[a]?|ingenier[oa]|analista|jefe de|"
    r"becari[oa]|desenvolvedor[a]?|engenheir[oa]|cientista|gerente|"
    r"estagi[áa]ri[oa]|t[ée]cnic[oa]|ontwikkelaar|medewerker|projectleider|stagiair|beheerder|adviseur)(?:in)?\b",
    re.IGNORECASE,
)
_AT = re.compile(r"^(?P<title>.{3,80}?),? (?:at|@|bei(?: der| dem)?|chez|bij) (?P<company>.{2,80})$", re.IGNORECASE)
_LEGAL_FORM = re.compile(
    r"(.{2,80}?\b(?:GmbH(?: ?& ?Co\.? ?KG)?|AG|SE|KG|Inc\.?|LLC|Ltd\.?|Limited|Corp\.?|PLC|S\.?A\.?|B\.?V\.?)), "
    r"([^\W\d_][\w ,.-]{1,40})$"
)
"""A company with its legal form, and the place behind it, known or not."""
_TECHNOLOGIES = re.compile(
    r"^(?:technolog(?:y|ies|ien)(?: used)?|tech(?:nology)? ?stack|stack|tools|environment|skills|"
    r"eingesetzte technologien|werkzeuge|umgebung)(?: (?:and|und|&) \w+)?\s*:\s*",
    re.IGNORECASE,
)


class Post(NamedTuple):
    """A post that somebody held."""

    title: str | None
    company: str | None
    location: str | None
    period: Period
    skills: tuple[str, ...]
    highlights: tuple[str, ...]
    line: Line


def posts_of(lines: Sequence[Line]) -> list[Post]:
    """The posts of a section, in their order."""
    found: list[Post] = []
    for entry in entries_of(lines, complete=_complete):
        title, company, location = _named(entry)
        if company is None and found and title is not None:
            # Several titles at one company name it once.
            company = found[-1].company
        texts = list(_highlights(entry))
        whole = "\n".join([title or "", *paragraphs(entry.body)])
        found.append(
            Post(
                title,
                company,
                location,
                entry.period,
                technologies_in(whole),
                tuple(texts[:MOST_HIGHLIGHTS]),
                entry.line,
            )
        )
    return found


def _highlights(entry: Entry) -> Iterator[str]:
    for text in paragraphs(entry.body):
        if not _TECHNOLOGIES.match(text) and len(text) >= 5:
            yield text[:LONGEST_HIGHLIGHT]


def technologies_in(text: str) -> tuple[str, ...]:
    """The technologies of the vocabulary that a text names, in their order."""
    found = skills_of(Document(Source("", text)))
    return tuple(
        one.name for one in found if one.weight >= 0.5 and one.category not in ("concept", "method", "standard")
    )


def _complete(parts: Sequence[str]) -> bool:
    """Whether parts name a title and a company, each by itself."""
    for part in parts:
        both = _AT.match(part)
        if both and (_TITLE.search(both["title"]) or _LEGAL_FORM.match(f"{both['company']}, X")):
            return True
    rest = [part for part in parts if not is_place(part)]
    if len(rest) > 1:
        return any(_TITLE.search(part) for part in rest)
    return any(_TITLE.search(part) and _LEGAL_FORM.match(f"{part}, X") for part in rest)


def _named(entry: Entry) -> tuple[str | None, str | None, str | None]:
    """Title, company and place of a header."""
    parts = [part for line in entry.parts for part in line]
    location = next((part for part in parts if is_place(part)), None)
    rest = [part for part in parts if part != location]
    for part in rest:
        both = _AT.match(part)
        if both and (_TITLE.search(both["title"]) or _LEGAL_FORM.match(f"{both['company']}, X")):
            employer, where = _without_place(both["company"])
            return both["title"].strip(" ,"), employer, location or where
    title = next((part for part in rest if _TITLE.search(part)), None)
    others = [part for part in rest if part is not title]
    if title is None and len(others) > 1:
        # Without a word that only titles have, the first line is taken for the title.
        title, others = others[0], others[1:]
    company = others[0] if others else None
    if title is not None and company is None and ", " in title:
        left, right = title.split(", ", 1)
        if _TITLE.search(left) and not _TITLE.search(right):
            title, company = left, right
        elif _TITLE.search(right) and not _TITLE.search(left):
            title, company = right, left
    if company is not None:
        company, beside = _without_place(company)
        location = location or beside
    if company is None and location is not None and title is not None and len(parts) == 2:
        company, location = _without_place(location)
    return title, company or None, location


def is_job_title(text: str) -> bool:
    """Whether a text has a word that only titles have."""
    return _TITLE.search(text) is not None


def _without_place(company: str) -> tuple[str, str | None]:
    """ "Acme Corp, Portland, OR" apart; "Acme (Berlin)" too."""
    legal = _LEGAL_FORM.match(company)
    if legal:
        return legal[1], legal[2]
    found = re.fullmatch(r"(.{2,80}?) \(([^()]{2,40})\)?", company)
    if found and is_place(found[2]):
        return found[1], found[2]
    pieces = company.split(", ")
    for cut in range(1, len(pieces)):
        place = ", ".join(pieces[cut:])
        if is_place(place):
            return ", ".join(pieces[:cut]), place
    return company, None
