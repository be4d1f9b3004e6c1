"""Resumes and letters as values. A line is made of pieces, and each piece names its source."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from interlock.apps.jobs.finder.profiles.profile import Profile
from interlock.apps.jobs.finder.reading.language import language_of
from interlock.apps.jobs.finder.sources.cleaning import UNSEEN

if TYPE_CHECKING:
    from interlock.apps.jobs.autoapply.documents.claim_finding import ClaimFinding

Language = Literal["en", "de"]
"""Languages that headings and letters are written in."""
_MONTH = re.compile(r"(\d{4})-(\d{2})")
_INDEX = re.compile(r"(\w+)\[(\d+)\]")


class Piece(NamedTuple):
    """A part of a line."""

    text: str
    source: str | None = None
    """The path of the value in the profile, such as `employment[0].company`, or `posting.title`; None for our words."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a document."""

    pieces: tuple[Piece, ...]

    @property
    def text(self) -> str:
        return "".join(one.text for one in self.pieces)

    @property
    def sources(self) -> tuple[str, ...]:
        """The paths of all values in it, each once."""
        return tuple(dict.fromkeys(one.source for one in self.pieces if one.source is not None))

    def __bool__(self) -> bool:
        return bool(self.text.strip())


EMPTY = Line(())


@dataclass(frozen=True, slots=True)
class Entry:
    """A post, a school or a project: its heading, its dates and its bullets."""

    source: str
    heading: Line
    dates: Line = EMPTY
    bullets: tuple[Line, ...] = ()


@dataclass(frozen=True, slots=True)
class Difference:
    """How a tailored resume differs from the base resume, which is the whole profile in its own order."""

    kind: Literal["left_out", "moved", "headline"]
    source: str
    text: str
    reason: Literal["never_say", "length", "less_related", "more_related", "title"]
    before: int | None = None
    """Its place in its list, and the new one, from 0."""
    after: int | None = None


@dataclass(frozen=True, slots=True)
class DroppedText:
    """What a model wrote and the claim check refused. The rules' text stands in its place."""

    text: str
    findings: tuple[ClaimFinding, ...]

    @property
    def named(self) -> str:
        """The words that were found, in one line."""
        return ", ".join(dict.fromkeys(f"{one.kind} {one.words[:60]!r}" for one in self.findings[:5]))


@dataclass(frozen=True, slots=True)
class TailoredResume:
    """A resume for one posting."""

    language: Language
    name: Line
    contact: tuple[Line, ...]
    headline: Line = EMPTY
    summary: Line = EMPTY
    skills: tuple[Line, ...] = ()
    employment: tuple[Entry, ...] = ()
    projects: tuple[Entry, ...] = ()
    education: tuple[Entry, ...] = ()
    differences: tuple[Difference, ...] = ()
    method: Literal["rules", "model"] = "rules"
    """Who chose what it shows first. Every fact in it is the profile's either way."""
    dropped: DroppedText | None = None
    """The summary that a model wrote, if it was refused."""

    def lines(self) -> Iterator[Line]:
        """Every line, in the order of the document."""
        yield self.name
        yield from filter(None, (self.headline, *self.contact, self.summary))
        yield from self.skills
        for entry in (*self.employment, *self.projects, *self.education):
            yield from filter(None, (entry.heading, entry.dates, *entry.bullets))

    @property
    def text(self) -> str:
        return "\n".join(one.text for one in self.lines())


@dataclass(frozen=True, slots=True)
class Letter:
    """A cover letter."""

    language: Language
    name: Line
    contact: tuple[Line, ...]
    salutation: Line
    paragraphs: tuple[Line, ...]
    facts: tuple[Line, ...]
    """Facts of the profile that match the posting; they stand after the first paragraph."""
    closing: Line
    method: Literal["rules", "model"] = "rules"
    note: str = ""
    """Why the rules' letter is used although a model is configured."""
    subject: Line = field(default=EMPTY)
    disclosure: Line = EMPTY
    """The sentence that says that a model wrote it; the operator's own words."""
    dropped: DroppedText | None = None
    """The letter that a model wrote, if it was refused."""

    def body(self) -> Iterator[Line]:
        """The lines from the salutation to the name at the end."""
        yield self.salutation
        yield from self.paragraphs[:1]
        yield from self.facts
        yield from self.paragraphs[1:]
        yield from filter(None, (self.disclosure,))
        yield self.closing
        yield self.name

    def lines(self) -> Iterator[Line]:
        yield self.name
        yield from self.contact
        yield from filter(None, (self.subject,))
        yield from self.body()

    @property
    def text(self) -> str:
        return "\n".join(one.text for one in self.body())


def clean(text: str, most: int = 2000) -> str:
    """One line without control characters and marks that hide or reverse text."""
    return " ".join(UNSEEN.sub("", text[:most].replace("\n", " ").replace("\t", " ")).split())


def shown(value: Any) -> str:
    """A value of the profile as documents show it: 2021-03 is 03/2021, and 8.0 is 8."""
    if isinstance(value, float):
        return f"{value:g}"
    text = clean(str(value))
    month = _MONTH.fullmatch(text)
    return f"{month[2]}/{month[1]}" if month else text


def value_at(profile: Profile, path: str) -> Any:
    """The value at a path of the profile, such as `employment[0].highlights[2]`."""
    found: Any = profile
    for step in path.split("."):
        indexed = _INDEX.fullmatch(step)
        found = getattr(found, indexed[1])[int(indexed[2])] if indexed else getattr(found, step)
    return found


def of(profile: Profile, path: str) -> Piece:
    """A piece that is copied from the profile."""
    return Piece(shown(value_at(profile, path)), path)


def joined(pieces: Iterable[Piece], between: str, last: str | None = None) -> tuple[Piece, ...]:
    """Pieces with words between them; `last` stands before the last one."""
    given = tuple(pieces)
    found: list[Piece] = []
    for index, piece in enumerate(given):
        if index:
            found.append(Piece(last if last is not None and index == len(given) - 1 else between))
        found.append(piece)
    return tuple(found)


def language_for(profile: Profile) -> Language:
    """The language that the profile is written in, because its sentences are copied."""
    said = [text for post in profile.employment for text in post.highlights]
    said += [text for project in profile.projects for text in project.highlights]
    said += [one.description for one in profile.projects if one.description]
    return "de" if language_of(" ".join(said)[:5000].lower()) == "de" else "en"
