"""A posting as rules see it: its lines, sections and sentences, and what one pass over the text found in it."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from operator import itemgetter

from interlock.apps.jobs.finder.reading.plain import folded, plain
from interlock.apps.jobs.finder.reading.sections import sections_of
from interlock.apps.jobs.finder.reading.values import Section, Source
from interlock.apps.jobs.finder.reading.vocabulary import Hit, spot

LONGEST_QUOTE = 240
_START = itemgetter(0)
_END = re.compile(r"[\n.!?;](?:(?<=\n)|(?<=[.!?;]) )")
_ABBREVIATED = ("e.g", "i.e", "u.s", "etc", " sr", " jr", "z.b", "bzw", "incl", "inkl", " vs", "p.ex", " st", "approx")


class Document:
    """The cleaned text of a posting. The title is its first line, so that one pass finds what both name."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.title = plain(source.title[:1000]).replace("\n", " ")[:300]
        self.locations = [plain(one[:1000]).replace("\n", " ")[:300] for one in list(source.locations)[:50] if one]
        self.company = plain(source.company[:1000]).replace("\n", " ")[:200]
        self.salary = plain(source.salary[:1000]).replace("\n", " ")[:300]
        body = plain(source.text)
        self.begin = len(self.title) + 1
        """Where the body begins."""
        self.text = f"{self.title}\n{body}"
        self.low = folded(self.text)
        self.spotted, self.cues = spot(self.text, self.low)
        self._breaks = _breaks(self.low)
        self._section_starts, self._section_kinds = sections_of(self.low, self.begin, self.cues)

    def section(self, at: int) -> Section:
        """Which section a place is in."""
        return self._section_kinds[bisect_right(self._section_starts, at) - 1]

    def sections(self) -> Iterator[tuple[Section, int, int]]:
        """Kind, begin and end of each section in their order."""
        ends = [*self._section_starts[1:], len(self.low)]
        yield from zip(self._section_kinds, self._section_starts, ends, strict=True)

    def sentence(self, at: int) -> tuple[int, int]:
        """Begin and end of the sentence around a place."""
        index = bisect_right(self._breaks, at)
        return self._breaks[index - 1], self._breaks[min(index, len(self._breaks) - 1)]

    def line(self, at: int) -> tuple[int, int]:
        """Begin and end of the line around a place."""
        end = self.low.find("\n", at)
        return self.low.rfind("\n", 0, at) + 1, len(self.low) if end < 0 else end

    def quote(self, start: int, end: int) -> str:
        """The sentence around a place, cut around it where it is long."""
        begin, stop = self.sentence(start)
        stop = max(stop, end)
        if stop - begin > LONGEST_QUOTE:
            begin = max(begin, start - LONGEST_QUOTE // 2)
            stop = min(stop, begin + LONGEST_QUOTE)
        return self.text[begin:stop].strip(" \n\u2022*-")

    def has(self, cue: str, start: int, end: int) -> bool:
        """Whether a cue is within a stretch of text."""
        hits = self.cues.get(cue)
        if not hits:
            return False
        index = bisect_left(hits, start, key=_START)
        return index < len(hits) and hits[index].start < end

    def first(self, cue: str, *, without: frozenset[Section] = frozenset()) -> Hit | None:
        """The first hit of a cue outside some sections."""
        for hit in self.cues.get(cue, ()):
            if not without or self.section(hit.start) not in without:
                return hit
        return None


def _breaks(low: str) -> list[int]:
    """Where sentences begin, and the end of the text."""
    found = [0]
    for one in _END.finditer(low):
        start = one.start()
        if low[start] == "." and low.endswith(_ABBREVIATED, 0, start):
            continue
        found.append(one.end())
    found.append(len(low))
    return found
