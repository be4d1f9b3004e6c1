"""Relevance: how much a sentence of the profile has to do with what a posting asks for."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

from interlock.apps.jobs.finder.identity.keys import word_list, words
from interlock.apps.jobs.finder.postings.demands import Level
from interlock.apps.jobs.finder.postings.read_posting import ReadPosting
from interlock.apps.jobs.finder.profiles.seeker import Seeker
from interlock.apps.jobs.finder.reading import Source, read

WORTH: Mapping[Level, float] = {"primary": 4, "required": 3, "preferred": 2, "mentioned": 1}
A_WORD = 0.25
MOST_WORDS = 2.0
"""Words in common, together, count less than a required skill."""
_SMALL = word_list("""
    a an and as at by for from in into is it its of on or our that the their to we with you your
    auf aus bei das dem den der des die ein eine einen einer für im in ist mit oder sich sie und von wir zu zum zur
    experience years work working team teams strong good knowledge skills erfahrung jahre team kenntnisse
""")


class Relevance:
    """Rates sentences for one posting."""

    def __init__(self, posting: ReadPosting, seeker: Seeker) -> None:
        self.posting, self.seeker = posting, seeker
        self._rated: dict[str, float] = {}

    @cached_property
    def _worth(self) -> dict[str, float]:
        found: dict[str, float] = {}
        for demand in self.posting.demands:
            for name in demand.names:
                found[name] = max(found.get(name, 0), WORTH[demand.level] * demand.weight)
        return found

    @cached_property
    def _words(self) -> frozenset[str]:
        sections = self.posting.reading.sections
        asked = [sections.get("requirements", ""), sections.get("preferred", ""), sections.get("duties", "")]
        return frozenset(words(" ".join([self.posting.source.title, *asked]), 20_000)) - _SMALL

    def of(self, text: str) -> float:
        """The worth of its skills that the posting asks for, and a little for each word in common."""
        if text not in self._rated:
            named = {one.name for one in read(Source("", text)).skills}
            common = self._words & frozenset(words(text, 2000))
            worth = sum(sorted(self._worth.get(name, 0) for name in named))
            self._rated[text] = worth + min(MOST_WORDS, A_WORD * len(common))
        return self._rated[text]

    def shows_skill(self, text: str) -> bool:
        """Whether the text shows a skill that the posting asks for."""
        return any(one.name in self._worth for one in read(Source("", text)).skills)

    def asked(self) -> tuple[str, ...]:
        """Skills of the profile that the posting asks for, the most wanted first."""
        found = {self.seeker.has[name]: worth for name, worth in sorted(self._worth.items()) if name in self.seeker.has}
        return tuple(sorted(found, key=lambda name: (-found[name], name)))
