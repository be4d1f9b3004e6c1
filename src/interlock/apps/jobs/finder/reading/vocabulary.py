"""The vocabulary: terms with their aliases, and one automaton that finds them and the cues in a single pass."""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from operator import itemgetter
from typing import Any, Literal, NamedTuple

import ahocorasick

from interlock.apps.jobs.finder.reading.cues import CUES


@dataclass(frozen=True, slots=True)
class Term:
    """One row of vocabulary.csv."""

    name: str
    category: str
    aliases: tuple[str, ...]
    doubtful: frozenset[str]
    """Aliases that count only beside other terms in a list, as "js": marked with a "?" in the table."""
    case: Literal["", "exact", "list"]
    """Which spellings count: any; the name's own case; only beside other terms in a list."""
    implies: tuple[str, ...]
    parallels: tuple[str, ...]
    weight: float
    blockers: tuple[str, ...]


class Hit(NamedTuple):
    """A term or a cue at a place of the text."""

    start: int
    end: int
    key: str
    """The term's name or the cue's."""


class Spotted(NamedTuple):
    """A term's spelling at a place, before its surroundings are judged."""

    start: int
    end: int
    term: Term | None
    """None for a blocker: a phrase in which the term is only a word."""
    sure: bool
    """The spelling means the term wherever it stands."""


@cache
def terms() -> dict[str, Term]:
    """The terms by name."""
    found = {}
    lines = (files(__package__) / "vocabulary.csv").read_text(encoding="utf-8").splitlines()
    for row in csv.DictReader(lines):
        case: Any = row["case"]
        aliases = _several(row["aliases"])
        found[row["canonical"]] = Term(
            row["canonical"],
            row["category"],
            tuple(alias.removesuffix("?") for alias in aliases),
            frozenset(alias.removesuffix("?") for alias in aliases if alias.endswith("?")),
            case,
            _several(row["implies"]),
            _several(row["parallels"]),
            float(row["weight"]),
            _several(row["blockers"]),
        )
    return found


def _several(text: str) -> tuple[str, ...]:
    return tuple(one for one in text.split("|") if one)


@cache
def automaton() -> Any:
    """Each spelling in lower case, with what it may mean: (length, term spellings, cues)."""
    meanings: dict[str, tuple[list[tuple[Term | None, bool]], list[str]]] = {}

    def entry(spelling: str) -> tuple[list[tuple[Term | None, bool]], list[str]]:
        return meanings.setdefault(spelling.lower(), ([], []))

    for term in terms().values():
        if term.name not in _LETTERS:
            entry(term.name)[0].append((term, not term.case or _is_longer(term)))
        for alias in term.aliases:
            # A short alias is as doubtful as the name; one of several words or with a digit or dot says it all.
            sure = not term.case or not alias.isalpha() or alias.startswith(term.name.lower())
            entry(alias)[0].append((term, sure and alias not in term.doubtful))
        for blocker in term.blockers:
            entry(blocker)[0].append((None, True))
    for cue, phrases in CUES.items():
        for phrase in phrases:
            entry(phrase)[1].append(cue)
    built = ahocorasick.Automaton()
    for spelling, (spellings, cues) in meanings.items():
        built.add_word(spelling, (len(spelling), spellings[0] if spellings else None, tuple(cues)))
    built.make_automaton()
    return built


def _is_longer(term: Term) -> bool:
    """Whether the doubt is about an alias, such as "next" for Next.js, and the name says more than that word."""
    words = re.findall(r"\w+", term.name.lower())
    return len(words) > 1 and any(alias in words for alias in term.aliases)


_LETTERS = {"C", "R"}
_LETTER = re.compile(r"[CR](?![\w+#&'-])(?<![\w&'.+(-][CR])")
_PLACE = itemgetter(0, 1)


def spot(text: str, low: str) -> tuple[list[Spotted], dict[str, list[Hit]]]:
    """Terms by place, and cues by name. Where spellings overlap, the longest counts."""
    found: list[tuple[int, int, Term | None, bool]] = []
    cues: list[tuple[int, int, tuple[str, ...]]] = []
    size = len(low)
    for last, (length, spelling, names) in automaton().iter(low):
        end = last + 1
        start = end - length
        if start and low[start].isalnum() and low[start - 1].isalnum() and not _camel(text, start, length):
            continue
        if end < size and low[last].isalnum() and low[end].isalnum() and not _camel(text, end, length):
            continue
        if spelling is not None:
            found.append((start, -length, *spelling))
        if names:
            cues.append((start, -length, names))
    found.extend((one.start(), -1, terms()[one.group()], False) for one in _LETTER.finditer(text))
    found.sort(key=_PLACE)
    cues.sort(key=_PLACE)
    spotted, covered = [], 0
    for start, negative, term, sure in found:
        if start >= covered:
            covered = start - negative
            spotted.append(Spotted(start, covered, term, sure))
    by_name: dict[str, list[Hit]] = {}
    covered = 0
    for start, negative, names in cues:
        if start >= covered:
            covered = start - negative
            for name in names:
                by_name.setdefault(name, []).append(Hit(start, covered, name))
    return spotted, by_name


def _camel(text: str, at: int, length: int) -> bool:
    """Two words that lost the space between them: "StackVue.js"."""
    return length > 4 and text[at].isupper() and text[at - 1].islower()
