"""Finds a quote in a document: exactly, except for spaces and marks, nearly, or not at all.

The form that is searched in the second and third step leaves out white space, writes all quotation marks and dashes
alike, and leaves out hyphens that do not touch a number, since those come and go with line breaks ("non-\\ninfringe",
"2015-16" keeps its own). Each piece of that form knows where in the text it came from.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from rapidfuzz import fuzz

from interlock.apps.contracts.reading.document import Document, Span

NEARLY = 90.0
"""The similarity from which a quote counts as found; out of 100."""
SHORTEST_NEARLY = 12
"""Characters; a shorter quote that is nearly in the text could be anything."""
_CHUNK = 5
_COMMON = 3_000
_CANDIDATES = 8
_LONGEST = 3_000
_CHUNKS = 200

_ALIKE = str.maketrans(
    {
        **dict.fromkeys("\u201c\u201d\u201e\u201f\u00ab\u00bb\u2033\u301d\u301e\uff02", '"'),
        **dict.fromkeys("\u2018\u2019\u201a\u201b\u2039\u203a\u2032\u0060\u00b4\uff07", "'"),
        **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212\ufe63\uff0d", "-"),
    }
)
_JOINED = {
    "\ufb00": "ff",
    "\ufb01": "fi",
    "\ufb02": "fl",
    "\ufb03": "ffi",
    "\ufb04": "ffl",
    "\ufb05": "st",
    "\ufb06": "st",
    "\u2026": "...",
}
_LEFT_OUT = r"\s\u00ad\u200b-\u200f\u2060\ufeff"
_PIECES = re.compile(rf"[\ufb00-\ufb06\u2026]|-[{_LEFT_OUT}-]*|[^{_LEFT_OUT}\ufb00-\ufb06\u2026-]+")


@dataclass(frozen=True, slots=True)
class Grounding:
    """Where a quote was found, and how: `exact`, `nospace`, `fuzzy` or `none`."""

    kind: str
    spans: tuple[Span, ...] = ()
    score: float = 0.0
    """Similarity, 100 for what is there word for word."""


NOWHERE = Grounding("none")


def ground(document: Document, quote: str, near_page: int | None = None) -> Grounding:
    """Find a quote; of several places the one nearest to `near_page`, else the first."""
    quote = quote.strip()
    if not quote:
        return NOWHERE
    text = document.text
    places = _occurrences(text, quote)
    if places:
        start = _nearest(document, places, near_page)
        return Grounding("exact", document.locate(start, start + len(quote)), 100.0)
    wanted = normalise(quote)
    if not wanted:
        return NOWHERE
    form = _form_of(document)
    places = _occurrences(form.text, wanted)
    if places:
        at = _nearest(document, places, near_page, form)
        return Grounding("nospace", document.locate(*form.source(at, at + len(wanted))), 100.0)
    if SHORTEST_NEARLY <= len(wanted) <= _LONGEST:
        return _nearly(document, form, wanted, near_page)
    return NOWHERE


def normalise(text: str) -> str:
    """The form in which two texts are equal that differ only in spaces, kinds of marks and hyphenation."""
    return "".join(piece for piece, _ in _pieces(text.translate(_ALIKE)))


class _Form:
    """A text in the searched form, with the way back."""

    def __init__(self, text: str) -> None:
        starts, origins, parts, at = array("Q"), array("Q"), [], 0
        self._joined: set[int] = set()
        for piece, origin in _pieces(text.translate(_ALIKE)):
            if text[origin] in _JOINED:
                self._joined.add(len(starts))
            starts.append(at)
            origins.append(origin)
            parts.append(piece)
            at += len(piece)
        self._starts, self._origins = starts, origins
        self.text = "".join(parts)
        lowered = self.text.lower()
        # A few letters change their number when they are lowered, and the way back would be lost.
        self.lowered = lowered if len(lowered) == len(self.text) else self.text

    def origin(self, at: int) -> int:
        piece = bisect_right(self._starts, at) - 1
        return self._origins[piece] + (0 if piece in self._joined else at - self._starts[piece])

    def source(self, start: int, end: int) -> tuple[int, int]:
        """The characters of the text that `start` to `end` of the form came from."""
        return self.origin(start), self.origin(end - 1) + 1


def _pieces(text: str) -> list[tuple[str, int]]:
    found: list[tuple[str, int]] = []
    for match in _PIECES.finditer(text):
        piece, at = match.group(), match.start()
        if piece[0] != "-":
            found.append((_JOINED.get(piece, piece), at))
        elif (found and found[-1][0][-1].isdigit()) or text[match.end() : match.end() + 1].isdigit():
            found.extend(("-", at + i) for i, char in enumerate(piece) if char == "-")
    return found


def _form_of(document: Document) -> _Form:
    if "form" not in document._memo:
        document._memo["form"] = _Form(document.text)
    form: _Form = document._memo["form"]
    return form


def _occurrences(text: str, part: str, most: int = 1_000) -> list[int]:
    found: list[int] = []
    at = text.find(part)
    while at >= 0 and len(found) < most:
        found.append(at)
        at = text.find(part, at + 1)
    return found


def _nearest(document: Document, places: Sequence[int], near: int | None, form: _Form | None = None) -> int:
    if near is None or len(places) == 1:
        return places[0]
    near = min(max(near, 1), len(document.pages))
    begin = document.page_start(near)
    end = begin + len(document.page(near).text)

    def away(place: int) -> int:
        at = place if form is None else form.origin(place)
        return max(begin - at, at - end, 0)

    return min(places, key=away)


def _nearly(document: Document, form: _Form, wanted: str, near: int | None) -> Grounding:
    """Pieces of the quote that are in the text vote for where it could stand; only there it is aligned."""
    lowered = wanted.lower()
    wanted = lowered if len(lowered) == len(wanted) and form.lowered is not form.text else wanted
    text = form.lowered
    width = max(len(wanted) // 4, 16)
    votes: dict[int, float] = defaultdict(float)
    for offset in range(0, len(wanted) - _CHUNK + 1, max(_CHUNK, len(wanted) // _CHUNKS)):
        places = _occurrences(text, wanted[offset : offset + _CHUNK], _COMMON)
        # A piece that stands everywhere says little, and one that stands even more often nothing.
        if 0 < len(places) < _COMMON:
            for bucket in {(place - offset) // width for place in places}:
                votes[bucket] += len(places) ** -0.5
    joint = {bucket: votes[bucket] + votes.get(bucket + 1, 0.0) for bucket in list(votes)}
    ranked = sorted(joint, key=lambda bucket: (-joint[bucket], bucket))[:_CANDIDATES]
    best: tuple[float, int, int] | None = None
    for bucket in ranked:
        begin = max((bucket - 1) * width, 0)
        window = text[begin : (bucket + 3) * width + len(wanted)]
        found = _aligned(wanted, window)
        if found is None:
            continue
        score, start, end = found
        place = (score, begin + start, begin + end)
        if best is None or score > best[0]:
            best = place
        elif score == best[0] and near is not None:
            best = place if _nearest(document, [best[1], place[1]], near, form) == place[1] else best
    if best is None:
        return NOWHERE
    score, start, end = _fitted(wanted, text, best)
    return Grounding("fuzzy", document.locate(*form.source(start, end)), round(score, 2))


def _aligned(wanted: str, window: str) -> tuple[float, int, int] | None:
    if len(window) <= len(wanted):
        # The alignment would look for the shorter in the longer: a few words of the text in the quote.
        score = fuzz.ratio(wanted, window, score_cutoff=NEARLY)
        return (score, 0, len(window)) if score >= NEARLY and window else None
    found = fuzz.partial_ratio_alignment(wanted, window, score_cutoff=NEARLY)
    if found is None or found.dest_end <= found.dest_start:
        return None
    return found.score, found.dest_start, found.dest_end


def _fitted(wanted: str, text: str, place: tuple[float, int, int]) -> tuple[float, int, int]:
    """The ends moved to where they fit best: the alignment is as long as the quote, the passage need not be."""
    score, start, end = place
    slack = min(len(wanted) // 8 + 2, 64)
    ends = sorted(range(max(end - slack, start + 1), min(end + slack, len(text)) + 1), key=lambda at: abs(at - end))
    end = max(ends, key=lambda at: fuzz.ratio(wanted, text[start:at]))
    starts = sorted(range(max(start - slack, 0), min(start + slack, end - 1) + 1), key=lambda at: abs(at - start))
    start = max(starts, key=lambda at: fuzz.ratio(wanted, text[at:end]))
    return max(score, fuzz.ratio(wanted, text[start:end])), start, end
