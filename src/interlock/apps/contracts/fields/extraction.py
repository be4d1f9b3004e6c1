"""Reads a document's fields by the rules of its vertical, and by a model's answers where there are some."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from interlock.apps.contracts.fields.extract.candidate import MODEL, Candidate, RuleContext
from interlock.apps.contracts.fields.extract.pick import RULES, opposed, pick
from interlock.apps.contracts.fields.flat import Flat
from interlock.apps.contracts.fields.matching import same_reading
from interlock.apps.contracts.fields.normalise import normalise
from interlock.apps.contracts.fields.providers import Providers, shipped_providers
from interlock.apps.contracts.fields.result import Extraction, Found
from interlock.apps.contracts.fields.signals import MODEL_ONLY, SPLIT, WEAK, observe
from interlock.apps.contracts.fields.vertical import FieldDefinition, Vertical
from interlock.apps.contracts.reading.document import Document, Span


def extract(
    document: Document,
    vertical: Vertical,
    *,
    providers: Providers | None = None,
    more: Mapping[str, Sequence[Candidate]] | None = None,
) -> Extraction:
    """The fields that a document has. `more` are candidates from elsewhere (a model), by field; see `answered`."""
    flat = Flat(document)
    if providers is None and vertical.providers is not None:
        providers = shipped_providers(vertical.providers)
    memo: dict[str, Any] = {}
    known: dict[str, Any] = {}
    fields: dict[str, Found] = {}
    readings: dict[str, dict[str, Any]] = {}
    for definition in vertical.fields:
        options = {"field": definition, "locale": vertical.locale, "providers": providers}
        candidates = [
            found for name in definition.extractors for found in RULES[name](RuleContext(flat, options, known, memo))
        ]
        candidates += list((more or {}).get(definition.name, ()))
        readings[definition.name] = {one.extractor: one.normalised for one in reversed(candidates)}
        found = _chosen(document, vertical, definition, candidates)
        if found is not None:
            fields[definition.name] = found
            # No rule goes on from what only a model said: it would stand there as the rule's own finding.
            if found.signals.agreement != MODEL_ONLY:
                known[definition.name] = found.normalised
            if found.signals.agreement in (SPLIT, WEAK):
                memo.setdefault("doubtful", set()).add(definition.name)
    signs = sum(1 for sign in vertical.signs if sign.lower() in flat.lower)
    return Extraction(vertical.name, fields, signs, signs >= vertical.signs_needed, readings)


def _chosen(
    document: Document, vertical: Vertical, definition: FieldDefinition, candidates: Sequence[Candidate]
) -> Found | None:
    choice = pick(candidates)
    if choice is None:
        return None
    taken = choice.taken
    # A date that was worked out from a term is not in its quote; that it was is said by its rule.
    derived = True if taken.extractor == "end_after" else None
    heard = next((c for c in candidates if c.by_model), None)
    signals = observe(
        document,
        definition.type,
        taken,
        [c for c in choice.supporters if not c.by_model],
        opposed(choice, candidates),
        grounding=grounding(document, taken),
        locale=vertical.locale,
        derived=derived,
        heard=heard,
        disputed=heard is not None and not same_reading(definition.type, taken.normalised, heard.normalised),
        marks=tuple(dict.fromkeys(m for c in candidates if c.key == taken.key and not c.by_model for m in c.marks)),
    )
    return Found(
        definition.name,
        taken.value,
        taken.normalised,
        taken.quote,
        taken.span.page,
        taken.span.start,
        taken.span.end,
        signals,
        alternatives=choice.others,
        basis=taken.basis,
    )


def grounding(document: Document, candidate: Candidate) -> str:
    """How a candidate's quote lies in the stored text at the place that it names."""
    stored = document.page(candidate.span.page).text[candidate.span.start : candidate.span.end]
    if not candidate.quote.strip():
        return "none"
    if stored == candidate.quote:
        return "exact"
    if "".join(stored.split()) == "".join(candidate.quote.split()):
        return "nospace"
    return "fuzzy" if stored else "none"


def answered(
    vertical: Vertical, field: str, value: str, quote: str, span: Span, extractor: str = MODEL
) -> Candidate | None:
    """A model's answer as a candidate; `span` is where the quote was found. `None` for a value of the wrong type."""
    definition = vertical.field(field)
    meaning = normalise(definition.type, value, vertical.locale)
    if meaning is None:
        return None
    return Candidate(extractor, value, meaning, quote, span)
