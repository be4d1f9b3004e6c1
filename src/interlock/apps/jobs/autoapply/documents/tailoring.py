"""Tailoring: which of the profile's own sentences and skills a resume shows for a posting, and in which order.

Posts and schools keep the order of the profile. Bullets, projects and skills are ordered by how much they overlap with
what the posting asks for. What does not fit on the pages is left out, the least related first.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil, inf
from typing import Any, Literal

from interlock.apps.jobs.autoapply.documents.relevance import Relevance
from interlock.apps.jobs.autoapply.documents.values import (
    EMPTY,
    Difference,
    DroppedText,
    Entry,
    Language,
    Line,
    Piece,
    TailoredResume,
    joined,
    language_for,
    of,
    shown,
)
from interlock.apps.jobs.autoapply.documents.wording import PHRASES, UNTIL
from interlock.apps.jobs.finder.identity.keys import words
from interlock.apps.jobs.finder.matching import MatchResult
from interlock.apps.jobs.finder.postings.read_posting import ReadPosting
from interlock.apps.jobs.finder.profiles.seeker import Seeker, skill_name
from interlock.machine import InterlockError

LINES_OF_A_PAGE = 50
CHARACTERS_OF_A_LINE = 100
MOST_BULLETS = 6
"""Of one post or project."""
MOST_PROJECTS = 4
MOST_SKILLS = 40
MOST_SCHOOLS = 6
SUMMARY_SKILLS = 5
_FIXED_LINES = 14
"""Lines for the name, contacts, summary and headings."""


@dataclass(frozen=True, slots=True)
class Choice:
    """What somebody who read the posting would show first: paths of the profile. It can add no fact."""

    headline: str = ""
    skills: tuple[str, ...] = ()
    highlights: tuple[str, ...] = ()
    projects: tuple[str, ...] = ()
    summary: str = ""
    """A summary that passed the claim check; without one the rules write it."""
    dropped: DroppedText | None = None
    """A summary that did not pass."""


class NoName(InterlockError):
    """The profile has no name, so no document can be made."""


def tailor(
    posting: ReadPosting,
    seeker: Seeker,
    match: MatchResult,
    *,
    pages: Literal[1, 2] = 2,
    fill: float = 1.0,
    choice: Choice | None = None,
) -> TailoredResume:
    """The resume for a posting. `fill` below 1 leaves more out, where a first version had too many pages.

    What a `choice` names comes first, in its order; everything else follows by relevance.
    """
    profile = seeker.profile
    if profile.identity is None:
        raise NoName("the profile has no identity; add identity.name, and an e-mail address to be reached at")
    work = _Work(posting, seeker, match, language_for(profile), choice)
    budget = int(LINES_OF_A_PAGE * pages * fill) - _FIXED_LINES
    return work.resume(budget)


class _Work:
    """One tailoring: what is left out or moved is collected on the way."""

    def __init__(
        self, posting: ReadPosting, seeker: Seeker, match: MatchResult, language: Language, choice: Choice | None
    ) -> None:
        self.posting, self.seeker, self.match, self.language = posting, seeker, match, language
        self.choice = choice or Choice()
        self.method: Literal["rules", "model"] = "rules" if choice is None else "model"
        chosen = (self.choice.skills, self.choice.highlights, self.choice.projects)
        self.places = {path: place for paths in chosen for place, path in reversed(list(enumerate(paths)))}
        self.profile = seeker.profile
        self.say = PHRASES[language]
        self.relevance = Relevance(posting, seeker)
        self.differences: list[Difference] = []

    def resume(self, budget: int) -> TailoredResume:
        education = self._education()
        employment = self._employment()
        skills = self._skills()
        projects = self._projects()
        budget -= sum(2 + _height(one.heading) for one in education)
        budget -= ceil(sum(len(one.text) + 3 for one in skills) / CHARACTERS_OF_A_LINE)
        employment, projects = self._fitted(employment, projects, budget)
        return TailoredResume(
            self.language,
            Line((of(self.profile, "identity.name"),)),
            contact_of(self.seeker),
            self._headline(),
            self._summary(skills),
            skills,
            employment,
            projects,
            education,
            tuple(self.differences),
            self.method,
            self.choice.dropped,
        )

    def _place(self, path: str | None) -> float:
        """The place that was chosen for a value; what nobody chose comes after it."""
        return self.places.get(path or "", inf)

    def _may_say(self, source: str, text: str) -> bool:
        if self.seeker.may_say(text):
            return True
        self._left_out(source, text, "never_say")
        return False

    def _left_out(self, source: str, text: str, reason: Any) -> None:
        self.differences.append(Difference("left_out", source, text, reason))

    def _headline(self) -> Line:
        """The title of the profile with the most words of the posting's; of equal ones the present post's."""
        held = [f"employment[{index}].title" for index in range(len(self.profile.employment))]
        wanted = [f"titles[{index}]" for index in range(len(self.profile.titles))]
        best: tuple[float, Piece] | None = None
        for path in (*held, *wanted):
            piece = of(self.profile, path)
            overlap = (
                len(self.posting.title_words & frozenset(words(piece.text))) if path != self.choice.headline else inf
            )
            if self.seeker.may_say(piece.text) and (best is None or overlap > best[0]):
                best = (overlap, piece)
        if best is None:
            return EMPTY
        if best[1].source != "employment[0].title":
            self.differences.append(Difference("headline", best[1].source or "", best[1].text, "title"))
        return Line((best[1],))

    def _summary(self, skills: tuple[Line, ...]) -> Line:
        if self.choice.summary and self.seeker.may_say(self.choice.summary):
            return Line((Piece(self.choice.summary, "model"),))
        pieces: list[Piece] = []
        if self.profile.employment:
            pieces.append(of(self.profile, "employment[0].title"))
        if self.profile.years:
            pieces += [Piece(self.say["with"])] if pieces else []
            pieces += [of(self.profile, "years"), Piece(self.say["years"])]
        named = [one.pieces[0] for one in skills[:SUMMARY_SKILLS]]
        pieces += [Piece(".")] if pieces else []
        if named and pieces:
            # A sentence of its own: the years are not those of each skill.
            pieces += [Piece(self.say["works_with"]), *joined(named, ", ", self.say["and"]), Piece(".")]
        line = Line(tuple(pieces))
        return line if self.seeker.may_say(line.text) else EMPTY

    def _skills(self) -> tuple[Line, ...]:
        """Skills of the profile: those that were chosen, then in the order of the match."""
        order = {name: index for index, name in enumerate(self.match.resume["prioritizedSkills"])}
        given = [(index, one.name) for index, one in enumerate(self.profile.skills)]
        given = [(index, name) for index, name in given if self._may_say(f"skills[{index}]", name)]
        given.sort(key=lambda one: (self._place(f"skills[{one[0]}]"), order.get(skill_name(one[1]), len(order))))
        for index, name in given[MOST_SKILLS:]:
            self._left_out(f"skills[{index}]", name, "length")
        kept = given[:MOST_SKILLS]
        self._moved([(f"skills[{index}]", index, name) for index, name in kept])
        return tuple(Line((of(self.profile, f"skills[{index}].name"),)) for index, _ in kept)

    def _moved(self, given: list[tuple[str, int, str]]) -> None:
        """Remember what changed its place among those that are kept."""
        places = {index: place for place, index in enumerate(sorted(index for _, index, _ in given))}
        for after, (source, index, text) in enumerate(given):
            if places[index] != after:
                reason: Any = "more_related" if after < places[index] else "less_related"
                self.differences.append(Difference("moved", source, shown(text), reason, index, after))

    def _bullets(self, base: str, texts: tuple[str, ...]) -> tuple[Line, ...]:
        paths = [(index, f"{base}.highlights[{index}]") for index in range(len(texts))]
        said = [(index, path) for index, path in paths if self._may_say(path, texts[index])]
        said.sort(key=lambda one: (self._place(one[1]), -self.relevance.of(texts[one[0]]), one[0]))
        for index, path in said[MOST_BULLETS:]:
            self._left_out(path, texts[index], "less_related")
        kept = said[:MOST_BULLETS]
        self._moved([(path, index, texts[index]) for index, path in kept])
        return tuple(Line((of(self.profile, path),)) for _, path in kept)

    def _employment(self) -> tuple[Entry, ...]:
        found = []
        for index, post in enumerate(self.profile.employment):
            base = f"employment[{index}]"
            if not self._may_say(base, f"{post.title}, {post.company} {post.location or ''}"):
                continue
            named = ["title", "company", *(["location"] if post.location else [])]
            heading = Line(joined((of(self.profile, f"{base}.{name}") for name in named), ", "))
            found.append(Entry(base, heading, self._dates(base, post, True), self._bullets(base, post.highlights)))
        return tuple(found)

    def _education(self) -> tuple[Entry, ...]:
        found = []
        for index, one in enumerate(self.profile.education):
            base = f"education[{index}]"
            if not self._may_say(base, " ".join(filter(None, (one.degree, one.field, one.school)))):
                continue
            named = [name for name in ("degree", "field", "school") if getattr(one, name)]
            heading = Line(joined((of(self.profile, f"{base}.{name}") for name in named), ", "))
            found.append(Entry(base, heading, self._dates(base, one, False)))
        for entry in found[MOST_SCHOOLS:]:
            self._left_out(entry.source, entry.heading.text, "length")
        return tuple(found[:MOST_SCHOOLS])

    def _projects(self) -> tuple[Entry, ...]:
        chosen: list[tuple[float, float, int]] = []
        for index, one in enumerate(self.profile.projects):
            text = " ".join((one.name, one.description or "", one.url or "", *one.skills))
            if self._may_say(f"projects[{index}]", text):
                rated = -self.relevance.of(" ".join((text, *one.highlights)))
                chosen.append((self._place(f"projects[{index}]"), rated, index))
        chosen.sort()
        for *_, index in chosen[MOST_PROJECTS:]:
            self._left_out(f"projects[{index}]", self.profile.projects[index].name, "less_related")
        kept = chosen[:MOST_PROJECTS]
        self._moved([(f"projects[{index}]", index, self.profile.projects[index].name) for *_, index in kept])
        found = []
        for *_, index in kept:
            base, one = f"projects[{index}]", self.profile.projects[index]
            pieces = [of(self.profile, f"{base}.name")]
            if one.url:
                pieces += [Piece(" ("), of(self.profile, f"{base}.url"), Piece(")")]
            described = (Line((of(self.profile, f"{base}.description"),)),) if one.description else ()
            found.append(Entry(base, Line(tuple(pieces)), EMPTY, (*described, *self._bullets(base, one.highlights))))
        return tuple(found)

    def _dates(self, base: str, one: Any, present: bool) -> Line:
        given = [of(self.profile, f"{base}.{name}") for name in ("start", "end") if getattr(one, name)]
        if one.start and not one.end and present:
            given.append(Piece(self.say["present"]))
        return Line(joined(given, UNTIL))

    def _fitted(
        self, employment: tuple[Entry, ...], projects: tuple[Entry, ...], budget: int
    ) -> tuple[tuple[Entry, ...], tuple[Entry, ...]]:
        """Leave out until it fits: bullets, projects, then the last posts. A post keeps its best bullet longest."""
        jobs, made = list(employment), list(projects)
        while sum(map(_entry_height, (*jobs, *made))) > budget:
            cut = [
                (len(one.bullets) > 1, place, self._rank(one.bullets[-1]), at, entries)
                for place, entries in ((0, jobs), (1, made))
                for at, one in enumerate(entries)
                if one.bullets
            ]
            several = [one for one in cut if one[0]]
            if several:
                _, _, _, at, entries = max(several, key=lambda one: one[1:4])
            elif made:
                gone = made.pop()
                self._left_out(gone.source, gone.heading.text, "length")
                continue
            elif cut:
                _, _, _, at, entries = max(cut, key=lambda one: one[3])
            elif len(jobs) > 1:
                gone = jobs.pop()
                self._left_out(gone.source, gone.heading.text, "length")
                continue
            else:
                break
            bullet = entries[at].bullets[-1]
            self._left_out(bullet.sources[0], bullet.text, "length")
            entries[at] = replace(entries[at], bullets=entries[at].bullets[:-1])
        return tuple(jobs), tuple(made)

    def _rank(self, bullet: Line) -> tuple[float, float]:
        """What is left out first ranks highest."""
        return self._place(bullet.sources[0]), -self.relevance.of(bullet.text)


def contact_of(seeker: Seeker) -> tuple[Line, ...]:
    """How the seeker is reached: place, e-mail, telephone, links. `never_say` holds here too."""
    profile = seeker.profile
    assert profile.identity is not None
    home = [f"home.{name}" for name in ("city", "region", "country") if getattr(profile.home, name)]
    found = [Line(joined((of(profile, path) for path in home), ", "))] if profile.home.city else []
    found += [
        Line((of(profile, f"identity.{name}"),)) for name in ("email", "phone") if getattr(profile.identity, name)
    ]
    found += [Line((of(profile, f"identity.links[{index}]"),)) for index in range(len(profile.identity.links))][:4]
    return tuple(one for one in found if seeker.may_say(one.text))


def _height(line: Line) -> int:
    return ceil(len(line.text) / CHARACTERS_OF_A_LINE)


def _entry_height(entry: Entry) -> int:
    return 2 + _height(entry.heading) + sum(map(_height, entry.bullets))
