"""Resume intake data: which of the profile's own facts to show for a posting, and in which order. Nothing is added."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from interlock.apps.jobs.finder.identity.keys import fold
from interlock.apps.jobs.finder.matching.parts import Coverage
from interlock.apps.jobs.finder.postings.demands import ORDER
from interlock.apps.jobs.finder.postings.read_posting import ReadPosting
from interlock.apps.jobs.finder.profiles.seeker import Fact, Seeker

MOST_HIGHLIGHTS = 8
MOST_PROJECTS = 4
_NUMBER = re.compile(r"\d")


class _Chosen(NamedTuple):
    fact: Fact
    skills: frozenset[str]


def resume_intake(posting: ReadPosting, seeker: Seeker, found: Coverage) -> dict[str, Any]:
    """The specification's structure. Texts with words of `never_say` are left out."""
    ranked = sorted(found.matched, key=lambda one: (ORDER[one[0].level], -one[2], one[1]))
    wanted = list(dict.fromkeys(seeker.has[name] for _, name, _ in ranked))
    others = sorted((name for name in seeker.years if name not in wanted), key=lambda name: (-seeker.ranks[name], name))
    weights = {seeker.has[name]: weight for _, name, weight in found.matched}
    highlights = _best(seeker.highlights, weights)
    projects = _best(seeker.projects, weights)
    angles = [one for one in highlights if _NUMBER.search(one.fact.text)]
    return {
        "professionalSummary": _summary(seeker, wanted or others),
        "prioritizedSkills": [*wanted, *others],
        "experienceHighlights": [one.fact.text for one in highlights[:MOST_HIGHLIGHTS]],
        "projectsToInclude": [one.fact.name for one in projects[:MOST_PROJECTS]],
        "achievementAngles": [one.fact.text for one in angles[:MOST_HIGHLIGHTS]],
        "atsKeywords": list(dict.fromkeys(name for _, name, _ in ranked)),
    }


def _best(facts: tuple[Fact, ...], weights: dict[str, float]) -> list[_Chosen]:
    """Facts about matched skills first, by the worth of those; then the others in the profile's order."""
    chosen = [_Chosen(fact, fact.skills & weights.keys()) for fact in facts]
    worth = [sum(sorted(weights[name] for name in one.skills)) for one in chosen]
    order = sorted(range(len(chosen)), key=lambda index: (-worth[index], index))
    return [chosen[index] for index in order]


def _summary(seeker: Seeker, skills: list[str]) -> str:
    profile = seeker.profile
    held = profile.employment[0].title if profile.employment else profile.titles[0] if profile.titles else None
    years = f"{profile.years:g} years of experience" if profile.years else None
    named = skills[:5]
    sentence = " with ".join(one for one in (held, years) if one)
    if named:
        listed = ", ".join(named[:-1]) + (" and " if len(named) > 1 else "") + named[-1]
        sentence = f"{sentence}; works with {listed}" if sentence else listed
    if seeker.never_say is not None and seeker.never_say.search(fold(sentence)):
        return ""
    return f"{sentence}." if sentence else ""
