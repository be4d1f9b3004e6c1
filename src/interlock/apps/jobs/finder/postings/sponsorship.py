"""Sentences in which an employer refuses to sponsor a visa or work permit."""

from __future__ import annotations

import re
from collections.abc import Iterator

from interlock.apps.jobs.finder.reading.plain import folded

_NOT = r"(?:no|not|cannot|can't|won't|don't|doesn't|unable to|neither|never|nor)"
_INSIDE = r"(?:[^.;:,\n]|, at this time,)"
_REFUSED = (
    re.compile(rf"\b{_NOT}\b{_INSIDE}{{0,70}}\bsponsor(?:s|ship|ships|ing)?\b"),
    re.compile(
        rf"\bsponsorship\b{_INSIDE}{{0,50}}\b(?:not(?: be)? (?:currently )?(?:available|offered|provided|possible|"
        r"considered|supported|eligible|an option)|unavailable)\b"
    ),
    re.compile(rf"\bwithout\b{_INSIDE}{{0,60}}\bsponsorship\b"),
    re.compile(
        rf"\b(?:kein|keine|keinen|nicht)\b{_INSIDE}{{0,50}}\b(?:visa|visum|visums|sponsoring|arbeitserlaubnis)\b"
    ),
    re.compile(r"\b(?:visa|visum)[- ]?(?:sponsoring|sponsorship|unterstützung)\b[^.;:,\n]{0,40}\b(?:nicht|kein)\b"),
)
_OF_WORK = re.compile(
    r"\b(?:visas?|visums?|immigration|h-?1b|work (?:permits?|authori[sz]ation)|employment|candidates?|applicants?|"
    r"sponsorship|sponsoring|arbeitserlaubnis)\b"
)
"""A sentence without any of these is about another kind of sponsor."""
_ASKED = re.compile(r"\b(?:will|do|would) you\b|\?")
"""A question of the form refuses nothing."""
_NOT_REFUSED = re.compile(r"\b(?:not only|no matter|not a problem|no problem)\b")
LONGEST_QUOTE = 240


_NAMED = re.compile(r"sponsor|\bvis(?:a|um)")
"""Worth a closer look; "vision" and "supervise" are not."""
_AROUND = 200
"""Characters around it in which a refusal stands."""


def refusal_in(lines: str) -> str | None:
    """The sentence of a text without markup that refuses sponsorship; None where there is none."""
    low = folded(lines)
    for first, last in _stretches(low):
        refusals = [one for pattern in _REFUSED if (one := _refusal(pattern, low, first, last)) is not None]
        if refusals:
            begin, end = min(refusals)
            return lines[begin:end].strip(" \n•-")[:LONGEST_QUOTE]
    return None


def _stretches(low: str) -> Iterator[tuple[int, int]]:
    """Where sponsorship and visas are named, with what stands around them."""
    first = last = -1
    for found in _NAMED.finditer(low):
        if last >= found.start() - _AROUND:
            last = found.end() + _AROUND
            continue
        if last >= 0:
            yield first, last
        first, last = max(0, found.start() - _AROUND), found.end() + _AROUND
    if last >= 0:
        yield first, last


def _refusal(pattern: re.Pattern[str], low: str, first: int, last: int) -> tuple[int, int] | None:
    """The first sentence of a stretch in which the pattern refuses sponsorship of work."""
    for found in pattern.finditer(low, first, last):
        begin, end = _sentence(low, found.start(), found.end())
        sentence = low[begin:end]
        if _OF_WORK.search(sentence) and not _ASKED.search(sentence) and not _NOT_REFUSED.search(sentence):
            return begin, end
    return None


def _sentence(low: str, start: int, end: int) -> tuple[int, int]:
    begins = [at + len(mark) for mark in (". ", "\n", "! ", "? ", "; ") if (at := low.rfind(mark, 0, start)) >= 0]
    stops = [at for mark in (". ", "\n", "! ", "?", "; ") if (at := low.find(mark, end)) >= 0]
    return max(begins, default=0), min([*(at + 1 for at in stops), len(low)])
