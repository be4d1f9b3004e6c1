"""The choice between candidates: those that say the same count together, each by the trust in its rule."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from interlock.apps.contracts.fields.extract import (
    dates,
    effective,
    generic,
    law,
    parties,
    party_together,
    renewal,
    term,
    title,
)
from interlock.apps.contracts.fields.extract.candidate import Candidate, Extractor

RULES: Mapping[str, Extractor] = {
    rule.__name__: rule
    for rule in (
        law.law_clause,
        law.law_reverse,
        law.law_heading,
        law.law_mention,
        dates.date_opening,
        dates.date_cover,
        dates.date_witness,
        dates.date_signature,
        dates.date_repeated,
        dates.date_stated,
        effective.effective_definition,
        effective.effective_opening,
        effective.effective_term,
        effective.effective_same,
        parties.party_alias,
        parties.party_list,
        parties.party_forms,
        parties.party_cover,
        parties.party_signature,
        parties.party_label,
        party_together.party_together,
        title.title_line,
        title.title_opening,
        term.end_date,
        term.end_after,
        term.end_never,
        renewal.renewal,
        renewal.renewal_notice,
        generic.clause,
        generic.label,
        generic.pattern,
        generic.provider,
    )
}
_TRUST = {
    "law_clause": 2.0,
    "law_reverse": 1.2,
    "law_heading": 0.9,
    "law_mention": 0.2,
    "date_opening": 2.4,
    "date_cover": 1.1,
    "date_witness": 1.2,
    "date_signature": 0.8,
    "date_repeated": 0.3,
    "date_stated": 0.6,
    "effective_definition": 2.0,
    "effective_opening": 1.5,
    "effective_term": 1.2,
    "effective_same": 1.3,
    "party_alias": 1.5,
    "party_list": 1.2,
    "party_forms": 1.0,
    "party_cover": 0.9,
    "party_signature": 0.4,
    "party_label": 0.6,
    "party_together": 9.0,
    "title_line": 1.2,
    "title_opening": 1.0,
    "end_date": 1.4,
    "end_after": 1.2,
    "end_never": 0.8,
}
DEPENDENT = frozenset({"law_mention", "date_stated", "effective_same", "party_together"})
"""Rules that read the same words as others: that they agree says nothing."""


@dataclass(frozen=True, slots=True)
class Choice:
    """The candidate that was taken, those that say the same, and those that do not."""

    taken: Candidate
    supporters: tuple[Candidate, ...]
    others: tuple[Candidate, ...]


def pick(candidates: Sequence[Candidate]) -> Choice | None:
    """The value that the most trusted rules agree on; a model's value only if no rule found any.

    `None` without candidates. A model has no vote, because the document may have manipulated it.
    """
    best = _first(candidates)
    if not best:
        return None
    voting = [c for c in best.values() if not c.by_model] or list(best.values())
    weights: dict[str, float] = {}
    for found in voting:
        trust = _TRUST.get(found.extractor, 1.0) * (1.0 if found.strong else 0.6)
        weights[found.key] = weights.get(found.key, 0.0) + trust
    chosen = max(weights, key=lambda key: weights[key])
    same = [c for c in voting if c.key == chosen]
    taken = max(same, key=lambda c: (c.extractor not in DEPENDENT, c.strong, _TRUST.get(c.extractor, 1.0)))
    supporters = tuple(c for c in same if c.extractor not in DEPENDENT or c is taken)
    # Second thoughts of a rule are kept as alternatives for the reviewer, but do not count as a rule that differs.
    alternatives: dict[str, Candidate] = {}
    for found in [*best.values(), *candidates]:
        if found.key != chosen:
            alternatives.setdefault(found.key, found)
    return Choice(taken, supporters, tuple(alternatives.values())[:6])


def opposed(choice: Choice, candidates: Sequence[Candidate]) -> tuple[Candidate, ...]:
    """The first choices of strong rules that say something else."""
    best = _first(candidates).values()
    return tuple(c for c in best if c.strong and not c.by_model and c.key != choice.taken.key)


def _first(candidates: Sequence[Candidate]) -> dict[str, Candidate]:
    """The first choice of each rule, and of the model."""
    best: dict[str, Candidate] = {}
    for found in candidates:
        best.setdefault(found.extractor, found)
    return best
