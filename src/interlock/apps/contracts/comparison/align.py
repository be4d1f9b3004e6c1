"""Pairs the clauses of two documents.

Clauses are paired in this order: equal text, number and heading, number, heading that is nearly the same, text that is
similar, place between two neighbours that are already paired. A pair that is out of order was moved. What stays alone
was removed or added. Each step looks at a bounded number of candidates, so the cost grows with the length of the
documents and not with its square.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from rapidfuzz import fuzz
from rapidfuzz.distance import Indel

from interlock.apps.contracts.comparison.clauses import Clause, Clauses, merged
from interlock.apps.contracts.comparison.words import blocks, increasing, tokens

Status = Literal["same", "changed", "moved", "added", "removed"]

SIMILAR = 0.55
"""From this share of equal words on, two clauses with different numbers and headings are one."""
NUMBERED = 0.4
"""For clauses with the same number and no heading."""
HEADED = 0.25
"""For clauses with the same or nearly the same heading."""
NEIGHBOURS = 0.3
"""For clauses that stand at the same place."""
LONGEST = 1500
"""Words of a clause that are looked at for similarity."""
COMMON = 8
"""A run of three words that is in more clauses than this is ignored."""
CANDIDATES = 6
GAP_PAIRS = 400
"""How many pairs are tried in one gap between neighbours."""


@dataclass(frozen=True, slots=True)
class Pair:
    """A clause on both sides, or on one."""

    status: Status
    before: Clause | None
    after: Clause | None

    @property
    def changed(self) -> bool:
        """Whether words differ."""
        return self.before is None or self.after is None or self.before.text != self.after.text


def align(before: Clauses, after: Clauses) -> tuple[Pair, ...]:
    """Pair the clauses of two documents; the pairs come in the order of the second, removed ones where they were."""
    first, second = _same_cuts(before.items, after.items)
    matches = _Matches(first, second)
    matches.equal_text()
    matches.by_key(lambda clause: (clause.number, _key(clause.heading)) if clause.heading else None, HEADED)
    matches.by_key(lambda clause: clause.number or None, NUMBERED)
    matches.by_heading()
    matches.by_text()
    matches.by_place()
    return _ordered(first, second, matches.found)


def _same_cuts(first: Sequence[Clause], second: Sequence[Clause]) -> tuple[list[Clause], list[Clause]]:
    """Undo cuts that only one side has in the middle of words that both have: they are a matter of layout."""
    words_a, starts_a = _stream(first)
    words_b, starts_b = _stream(second)
    joined_a: set[int] = set()
    joined_b: set[int] = set()
    for i, j, size in blocks(words_a, words_b):
        # Only inside the run: at its edge the words around the cut differ, and the cut may be real.
        for offset in range(1, size):
            cut_a, cut_b = starts_a.get(i + offset), starts_b.get(j + offset)
            if cut_a is not None and cut_b is None:
                joined_a.add(cut_a)
            elif cut_b is not None and cut_a is None:
                joined_b.add(cut_b)
    return _joined(first, joined_a), _joined(second, joined_b)


def _stream(clauses: Sequence[Clause]) -> tuple[list[str], dict[int, int]]:
    words: list[str] = []
    starts: dict[int, int] = {}
    for index, clause in enumerate(clauses):
        starts[len(words)] = index
        words += clause.text.split(" ")
    return words, starts


def _joined(clauses: Sequence[Clause], joined: set[int]) -> list[Clause]:
    groups: list[list[Clause]] = []
    for index, clause in enumerate(clauses):
        if index in joined and groups:
            groups[-1].append(clause)
        else:
            groups.append([clause])
    return [merged(group, index) for index, group in enumerate(groups)]


class _Matches:
    """The pairs found so far."""

    def __init__(self, first: Sequence[Clause], second: Sequence[Clause]) -> None:
        self.first, self.second = first, second
        self.found: dict[int, int] = {}
        self.taken: set[int] = set()
        numbers: dict[str, int] = {}
        self.words_a = [_numbered(clause, numbers) for clause in first]
        self.words_b = [_numbered(clause, numbers) for clause in second]

    def pair(self, a: int, b: int) -> None:
        self.found[a] = b
        self.taken.add(b)

    def open_a(self) -> list[int]:
        return [index for index in range(len(self.first)) if index not in self.found]

    def open_b(self) -> list[int]:
        return [index for index in range(len(self.second)) if index not in self.taken]

    def likeness(self, a: int, b: int) -> float:
        return float(Indel.normalized_similarity(self.words_a[a], self.words_b[b]))

    def equal_text(self) -> None:
        """Pair equal clauses, those with the same number first; of several equal ones, in order."""
        keys: tuple[Callable[[Clause], tuple[str, ...]], ...] = (
            lambda clause: (clause.number, clause.text),
            lambda clause: (clause.text,),
            lambda clause: (clause.body,) if clause.body else ("", clause.text),
        )
        for key in keys:
            places: dict[tuple[str, ...], list[int]] = defaultdict(list)
            for b in reversed(self.open_b()):
                places[key(self.second[b])].append(b)
            for a in self.open_a():
                found = places.get(key(self.first[a]))
                if found:
                    self.pair(a, found.pop())

    def by_key(self, key: Callable[[Clause], object | None], least: float) -> None:
        """Pair clauses that have the same key, in order, if their words are like enough."""
        places: dict[object, list[int]] = defaultdict(list)
        for b in self.open_b():
            value = key(self.second[b])
            if value is not None:
                places[value].append(b)
        for a in self.open_a():
            value = key(self.first[a])
            for b in places.get(value, ())[:CANDIDATES] if value is not None else ():
                if b not in self.taken and self.likeness(a, b) >= least:
                    self.pair(a, b)
                    break

    def by_heading(self) -> None:
        """Pair clauses whose headings are equal or nearly so."""
        self.by_key(lambda clause: _key(clause.heading) or None, HEADED)
        by_word: dict[str, list[int]] = defaultdict(list)
        for b in self.open_b():
            for word in set(_key(self.second[b].heading).split()):
                by_word[word].append(b)
        for a in self.open_a():
            heading = _key(self.first[a].heading)
            near = [b for word in heading.split() for b in by_word[word][:COMMON] if b not in self.taken]
            scored = sorted(((fuzz.ratio(heading, _key(self.second[b].heading)), -b) for b in set(near)), reverse=True)
            if scored and scored[0][0] >= 85 and self.likeness(a, -scored[0][1]) >= HEADED:
                self.pair(a, -scored[0][1])

    def by_text(self) -> None:
        """Pair clauses that share runs of three words, the most alike first."""
        shared: dict[tuple[int, ...], list[int]] = defaultdict(list)
        for b in self.open_b():
            for run in _runs(self.words_b[b]):
                shared[run].append(b)
        scored: list[tuple[float, int, int]] = []
        for a in self.open_a():
            counts: dict[int, int] = defaultdict(int)
            for run in _runs(self.words_a[a]):
                found = shared.get(run, ())
                for b in found if len(found) <= COMMON else ():
                    counts[b] += 1
            for b in sorted(counts, key=lambda b: (-counts[b], b))[:CANDIDATES]:
                likeness = self.likeness(a, b)
                if likeness >= SIMILAR:
                    scored.append((-likeness, a, b))
        for _, a, b in sorted(scored):
            if a not in self.found and b not in self.taken:
                self.pair(a, b)

    def by_place(self) -> None:
        """Pair what stands alone between the same two neighbours."""
        spine = [(-1, -1), *self.spine(), (len(self.first), len(self.second))]
        for (low_a, low_b), (high_a, high_b) in pairwise(spine):
            alone_a = [a for a in range(low_a + 1, high_a) if a not in self.found]
            alone_b = [b for b in range(low_b + 1, high_b) if b not in self.taken]
            if not alone_a or not alone_b or len(alone_a) * len(alone_b) > GAP_PAIRS:
                continue
            at = 0
            for a in alone_a:
                likely = [(self.likeness(a, alone_b[k]), -k) for k in range(at, len(alone_b))]
                best = max(likely, default=(0.0, 0))
                if best[0] >= NEIGHBOURS:
                    self.pair(a, alone_b[-best[1]])
                    at = -best[1] + 1

    def spine(self) -> list[tuple[int, int]]:
        """Return the pairs that stand in the same order on both sides."""
        pairs = sorted(self.found.items())
        return [pairs[index] for index in increasing([b for _, b in pairs])]


def _ordered(first: Sequence[Clause], second: Sequence[Clause], found: dict[int, int]) -> tuple[Pair, ...]:
    pairs = sorted(found.items())
    spine = [pairs[index] for index in increasing([b for _, b in pairs])]
    partner = {b: a for a, b in found.items()}
    out: list[Pair] = []
    for (low_a, low_b), (high_a, high_b) in pairwise([(-1, -1), *spine, (len(first), len(second))]):
        out += [Pair("removed", first[a], None) for a in range(low_a + 1, high_a) if a not in found]
        for b in range(low_b + 1, high_b):
            a = partner.get(b)
            out.append(Pair("added", None, second[b]) if a is None else Pair("moved", first[a], second[b]))
        if high_a < len(first) and high_b < len(second):
            equal = first[high_a].text == second[high_b].text
            out.append(Pair("same" if equal else "changed", first[high_a], second[high_b]))
    return tuple(out)


def _numbered(clause: Clause, numbers: dict[str, int]) -> list[int]:
    words = tokens(clause.body.lower())[:LONGEST]
    return [numbers.setdefault(word.strip(), len(numbers)) for word in words]


def _runs(words: list[int]) -> Iterable[tuple[int, ...]]:
    if len(words) < 3:
        return {tuple(words)} if words else set()
    return set(zip(words, words[1:], words[2:], strict=False))


def _key(heading: str) -> str:
    return " ".join(heading.lower().replace(",", " ").split())
