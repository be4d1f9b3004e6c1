"""Rules that need no code: a labelled value, a pattern, a clause that is there or not, a known provider."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import lru_cache
from itertools import islice
from typing import Any

from interlock.apps.contracts.fields.extract.candidate import Candidate, RuleContext, candidate
from interlock.apps.contracts.fields.normalise import normalise
from interlock.apps.contracts.fields.providers import Providers

_LONGEST_VALUE = 160
_MOST = 20
"""Values that one pattern takes from one sentence."""
_FORMER = re.compile(
    r"\b(?:bisherig|vorherig|ehemalig|netzbetreiber|former|previous|network operator)\w*\W+(?:\w+\W+){0,2}$",
    re.IGNORECASE,
)
"""Whoever supplied before, or owns the lines, is not the provider."""


@lru_cache(maxsize=1_024)
def compiled(pattern: str) -> re.Pattern[str]:
    """A pattern of a vertical, made once."""
    return re.compile(pattern, re.IGNORECASE)


def label(context: RuleContext) -> list[Candidate]:
    """What stands behind a label: "Label: value", or on the line below it."""
    flat = context.flat
    definition = context.options["field"]
    found = []
    lines = flat.lines()
    for order, name in enumerate(definition.labels):
        pattern = compiled(
            rf"(?<!\w){re.escape(name)}(?!\w)\s{{0,3}}(?:\([^)]{{0,40}}\))?\s{{0,3}}(?P<colon>[:=]|"
            rf"\.{{3,60}})?\s{{0,3}}(?P<value>.{{0,{_LONGEST_VALUE}}})"
        )
        for index, line in enumerate(lines):
            match = pattern.search(line.text[:600])
            if match is None or _FORMER.search(line.text[: match.start()]):
                continue
            value, start = match["value"].strip(), line.start
            quoted = (flat.flat_at(line.start), flat.flat_at(line.end))
            if not value and index + 1 < len(lines):
                value, start = lines[index + 1].text[:_LONGEST_VALUE], lines[index + 1].start
                quoted = (quoted[0], flat.flat_at(lines[index + 1].end))
            normalised = _meaning(context, value)
            if normalised is None or value.startswith((")", "]", ",", ";")):
                continue
            value = _shown(definition.type, value)
            core = (flat.flat_at(start), quoted[1])
            made = candidate(
                flat,
                "label",
                value,
                normalised,
                quoted,
                core,
                score=1.5 - 0.01 * order - (0.0 if match["colon"] else 0.4),
                strong=bool(match["colon"]),
            )
            if made:
                found.append(made)
    return _unsure(_sorted(found))


def pattern(context: RuleContext) -> list[Candidate]:
    """What a regular expression of the vertical finds; its group `value` is the value."""
    flat = context.flat
    found = []
    for order, text in enumerate(context.options["field"].patterns):
        expression = compiled(text)
        # By sentence: what a pattern of a user can cost is bounded by the length of one.
        for start, end in flat.sentences():
            for match in islice(expression.finditer(flat.text, start, min(end, start + 1_500)), _MOST):
                core = match.span("value") if "value" in expression.groupindex and match["value"] else match.span()
                value = flat.text[core[0] : core[1]].strip()
                normalised = _meaning(context, value)
                if normalised is None:
                    continue
                made = candidate(flat, "pattern", value, normalised, match.span(), core, score=1.2 - 0.01 * order)
                if made:
                    found.append(made)
    return _unsure(_sorted(found))


def clause(context: RuleContext) -> list[Candidate]:
    """The sentence that has what the clause is about; nothing where no sentence has it."""
    flat = context.flat
    definition = context.options["field"]
    patterns = [compiled(text) for text in definition.patterns]
    unless = [compiled(text) for text in definition.unless]
    found = []
    for start, end in flat.sentences():
        if definition.near and not any(flat.lower.find(word, start, end) >= 0 for word in definition.near):
            continue
        stop = min(end, start + 1_500)
        searched = [(number, p.search(flat.text, start, stop)) for number, p in enumerate(patterns, 1)]
        hits = [match for _, match in searched if match]
        if not hits or any(p.search(flat.text, start, stop) for p in unless):
            continue
        first = min(hit.start() for hit in hits)
        made = candidate(
            flat,
            "clause",
            "Yes",
            "yes",
            (start, stop),
            (first, hits[0].end()),
            score=float(len(hits)),
            marks=tuple(f"pattern {number}" for number, match in searched if match),
        )
        if made:
            found.append(made)
        if len(found) >= 8:
            break
    if len(found) > 1:
        found[0] = replace(found[0], marks=(*found[0].marks, "in several sentences"))
    return _sorted(found)


def provider(context: RuleContext) -> list[Candidate]:
    """A provider that is known by one of its names."""
    flat = context.flat
    providers: Providers | None = context.options.get("providers")
    if providers is None:
        return []
    found = []
    for name, start, end in providers.find(flat.text):
        if _FORMER.search(flat.text[max(start - 60, 0) : start]):
            continue
        found.append(
            candidate(flat, "provider", name, name.casefold(), (start, end), score=2.0 - start / max(len(flat.text), 1))
        )
    return _sorted([c for c in found if c])


def _unsure(found: list[Candidate]) -> list[Candidate]:
    """Two values under the same words (a price by day and one by night): neither is surely the one that is meant."""
    top = [c for c in found if c.score == found[0].score]
    if len({c.key for c in top}) < 2:
        return found
    return [replace(c, strong=False, usual=False) if c in top else c for c in found]


def _meaning(context: RuleContext, value: str) -> Any:
    definition = context.options["field"]
    if not value:
        return None
    if definition.type == "provider" and (providers := context.options.get("providers")) is not None:
        known = providers.by_alias(value)
        if known is not None:
            return known.name.casefold()
    return normalise(definition.type, value, context.options.get("locale", "en"))


def _shown(kind: str, value: str) -> str:
    return re.split(r"\s{3,}|;", value)[0].strip(" .:") if kind == "text" else value


def _sorted(found: list[Candidate]) -> list[Candidate]:
    return sorted(found, key=lambda c: (-c.score, c.at))
