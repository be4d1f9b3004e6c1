"""The requirements of a posting against the profile, line by line."""

from __future__ import annotations

from typing import Literal, NamedTuple

from interlock.apps.jobs.finder.postings.demands import ORDER, Demand
from interlock.apps.jobs.finder.postings.read_posting import ReadPosting
from interlock.apps.jobs.finder.profiles.seeker import Seeker
from interlock.apps.jobs.finder.reading.vocabulary import terms

Verdict = Literal["matched", "implied", "parallel", "missing"]
KINDS = {"matched": "done", "implied": "done", "parallel": "wait", "missing": "failed"}
"""Verdict → the kind that colours it."""


class Line(NamedTuple):
    """One requirement and what the profile has for it."""

    name: str
    level: str
    verdict: Verdict
    profile: str
    """What the profile says."""
    sentence: str
    """The words of the posting."""

    @property
    def kind(self) -> str:
        return KINDS[self.verdict]


def lines(posting: ReadPosting, seeker: Seeker) -> list[Line]:
    """Every demand of the posting, the most wanted first."""
    found = [_line(one, seeker) for one in sorted(posting.demands, key=lambda one: ORDER[one.level])]
    years = _years(posting, seeker)
    return [years, *found] if years is not None else found


def _line(demand: Demand, seeker: Seeker) -> Line:
    level = "main requirement" if demand.level == "primary" else demand.level
    name = seeker.matched(demand)
    if name is None:
        if seeker.neutral(demand):
            return Line(demand.name, level, "parallel", _beside(demand, seeker), demand.quote)
        return Line(demand.name, level, "missing", "", demand.quote)
    by = seeker.has[name]
    years = seeker.has_years[name]
    said = f"{years:g} year{'' if years == 1 else 's'}" if years else "in the profile"
    if by == name:
        said = said if name == demand.name else f"{name}, {said}"
        return Line(demand.name, level, "matched", said, demand.quote)
    return Line(demand.name, level, "implied", f"follows from {by}, {said}", demand.quote)


def _beside(demand: Demand, seeker: Seeker) -> str:
    known = terms()
    used = [one for one in sorted(seeker.years) if one in demand.parallels]
    used += [
        one
        for one in sorted(seeker.years)
        if one not in used and one in known and set(demand.names) & set(known[one].parallels)
    ]
    return f"{', '.join(used[:3])} in its place" if used else "something like it"


def _years(posting: ReadPosting, seeker: Seeker) -> Line | None:
    asked = posting.experience
    if asked is None or not asked.value:
        return None
    own = seeker.profile.years
    name = f"{asked.value:g} year{'' if asked.value == 1 else 's'} of experience"
    if own is None:
        return Line(name, "required", "parallel", "the profile names no years", asked.evidence.quote or "")
    verdict: Verdict = "matched" if own >= asked.value else "missing"
    return Line(name, "required", verdict, f"{own:g} years", asked.evidence.quote or "")
