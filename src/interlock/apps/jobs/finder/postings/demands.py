"""Demands: the technologies that a posting asks for, with those of which one will do taken together."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal

from interlock.apps.jobs.finder.identity.keys import words
from interlock.apps.jobs.finder.postings.posting import Evidence
from interlock.apps.jobs.finder.reading import Skill
from interlock.apps.jobs.finder.reading.skills import EXAMPLES
from interlock.apps.jobs.finder.reading.vocabulary import terms

Level = Literal["primary", "required", "preferred", "mentioned"]
ORDER: dict[Level, int] = {"primary": 0, "required": 1, "preferred": 2, "mentioned": 3}
_CLAUSE = re.compile(r" and | und | et | y | with |[;.] ")
_TOKEN = re.compile(r"[\s,;()]+")
_BEGINNING = 3000
"""Characters in which the first requirement is looked for."""
_OR = (" or ", "and/or", " oder ", " ou ")


@dataclass(frozen=True, slots=True)
class Demand:
    """One technology, or several of which one will do, and how much the posting wants it.

    `primary` is required in the title or in the first requirement.
    """

    names: tuple[str, ...]
    level: Level
    quote: str
    parallels: frozenset[str]
    weight: float

    @property
    def name(self) -> str:
        return " or ".join(self.names)

    @property
    def evidence(self) -> Evidence:
        return Evidence(source="text", quote=self.quote)


def demands_of(
    skills: Sequence[Skill], title: str, title_words: frozenset[str], requirements: str
) -> tuple[Demand, ...]:
    """The demands of a posting: its technologies by their levels. `requirements` is the text of that section."""
    first = _first_requirement(skills, requirements)
    groups: dict[tuple[str, ...], list[Skill]] = {}
    clauses: dict[tuple[str, ...], str] = {}
    titled = {one.name for one in skills if _in_title(one, title, title_words)}
    sentences: dict[str, _Sentence] = {}
    for skill in skills:
        said = sentences.get(skill.quote) or sentences.setdefault(skill.quote, _Sentence(skill.quote))
        # A title names what it needs; everywhere else "Java or Kotlin" is one demand.
        clause = None if skill.name in titled else said.alternatives(skill.name.lower())
        key: tuple[str, ...] = (skill.level, skill.quote, skill.name if clause is None else f"\n{clause}")
        groups.setdefault(key, []).append(skill)
        if clause is not None:
            clauses[key] = clause
    made = []
    for where, group in groups.items():
        primary = group[0].quote == first or any(one.name in titled for one in group)
        names = [one.name for one in group]
        if where in clauses:
            # An alternative that another sentence has named before is one here too.
            named = frozenset(words(clauses[where]))
            names += [one.name for one in skills if one.name not in names and _name_words(one.name) <= named]
        made.append(_demand(group, names, primary))
    return tuple(made)


def _demand(group: Sequence[Skill], names: Sequence[str], primary: bool) -> Demand:
    lead = group[0]
    level: Level = "primary" if primary and lead.level == "required" else lead.level
    known = terms()
    parallels = frozenset(other for name in names if name in known for other in known[name].parallels)
    return Demand(tuple(names), level, lead.quote, parallels, max(one.weight for one in group))


def _in_title(skill: Skill, title: str, title_words: frozenset[str]) -> bool:
    if _name_words(skill.name) <= title_words:
        return True
    return len(skill.quote) > len(skill.name) + 2 and skill.quote in title


def _first_requirement(skills: Sequence[Skill], requirements: str) -> str | None:
    """The first sentence under requirements that names a technology."""
    asked = {one.quote for one in skills if one.level == "required" and one.section == "requirements"}
    found = [(at, quote) for quote in asked if (at := requirements.find(quote, 0, _BEGINNING)) >= 0]
    return min(found)[1] if found else None


@cache
def _name_words(name: str) -> frozenset[str]:
    """The words of a vocabulary's name, of which there are about a thousand."""
    return frozenset(words(name))


class _Sentence:
    """A sentence that names technologies, and which of them are alternatives."""

    def __init__(self, quote: str) -> None:
        low = quote.lower()
        self.examples = low if any(word in low for word in EXAMPLES) else None
        has_or = "/" in low or any(word in f" {low} " for word in _OR)
        self.clauses = _CLAUSE.split(low) if has_or and self.examples is None else ()

    def alternatives(self, name: str) -> str | None:
        """The part of the sentence that names alternatives to a technology; None where it stands for itself."""
        for clause in self.clauses:
            if name not in clause:
                continue
            if any(word in f" {clause} " for word in _OR):
                return clause
            for token in _TOKEN.split(clause) if "/" in clause else ():
                if "/" in token and name in token.split("/"):
                    return token
        return self.examples
