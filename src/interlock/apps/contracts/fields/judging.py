"""One document's fields against its known answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from dataclasses import field as with_default
from typing import Any

from interlock.apps.contracts.fields.calibration import features
from interlock.apps.contracts.fields.confidence import Assessment
from interlock.apps.contracts.fields.matching import known_answer, matches
from interlock.apps.contracts.fields.profile import frequencies
from interlock.apps.contracts.fields.result import Extraction
from interlock.apps.contracts.fields.vertical import Vertical
from interlock.apps.contracts.reading.document import Document


@dataclass(frozen=True, slots=True)
class Judged:
    """One field of one document against its known answer."""

    field: str
    read: bool
    """A rule or a model found a value."""
    answered: bool
    """The value is likely enough to be stated."""
    known: bool
    right: bool
    """What was read is the known answer, whether it is stated or not."""
    grounded: bool
    confidence: float
    value: Any = None
    answer: Any = None
    signals: Mapping[str, str] = with_default(default_factory=dict)
    order: float = 0.0
    """Where it stands among the values of its field: its confidence, or in a cross-validation what all documents
    together would give it."""
    readers: Mapping[str, bool] = with_default(default_factory=dict)
    """Each rule, and the model, that found a value by itself, and whether that was right."""


@dataclass(frozen=True, slots=True)
class JudgedDocument:
    """One document: its fields, its final confidence, and whether all required fields are right."""

    name: str
    digest: str
    fields: tuple[Judged, ...]
    final_confidence: int
    needs_review: bool
    right: bool
    pages: int
    seen: bool
    """The calibration was made with this document; its fold was left out of it here."""
    words: tuple[float, ...] = ()
    """How often it uses certain words, for the profile of a calibration."""


def judge_reading(
    vertical: Vertical,
    extraction: Extraction,
    row: Mapping[str, str],
    document: Document,
    name: str,
    digest: str,
) -> JudgedDocument:
    """What was read, before anything is known of how likely it is."""
    fields = []
    for definition in vertical.fields:
        column = answer_column(definition.column, row) if definition.column else None
        if column is None:
            continue
        read = extraction.fields.get(definition.name)
        answer = known_answer(definition.type, row[column] or "")
        fields.append(
            Judged(
                definition.name,
                read is not None,
                read is not None,
                answer is not None,
                read is not None and matches(definition.type, read.normalised, answer),
                read is not None and document.page(read.page).text[read.start : read.end] == read.quote != "",
                0.0,
                read.normalised if read else None,
                answer,
                features(read.signals) if read else {},
                0.0,
                {
                    reader: matches(definition.type, value, answer)
                    for reader, value in extraction.readings.get(definition.name, {}).items()
                },
            )
        )
    return JudgedDocument(
        name, digest, tuple(fields), 0, True, False, len(document.pages), False, frequencies(document.text)
    )


def scored(
    vertical: Vertical,
    judged: JudgedDocument,
    assessment: Assessment,
    *,
    seen: bool = False,
    order: Mapping[str, float] | None = None,
) -> JudgedDocument:
    """The same with what is stated of it."""
    stated = assessment.extraction.fields
    fields = tuple(
        replace(
            one,
            answered=one.field in stated,
            confidence=(stated[one.field].confidence or 0.0) if one.field in stated else 0.0,
            order=(order or {}).get(one.field, stated[one.field].confidence or 0.0) if one.field in stated else 0.0,
        )
        for one in judged.fields
    )
    required = {definition.name for definition in vertical.required}
    right = all(one.answered and one.right for one in fields if one.field in required)
    return replace(
        judged,
        fields=fields,
        final_confidence=assessment.final_confidence,
        needs_review=assessment.needs_review,
        right=right,
        seen=seen,
    )


def answer_column(column: str, row: Mapping[str, str]) -> str | None:
    """The column with the answers for a label; one of CUAD's headers has a space too much."""
    return next((name for name in (f"{column}-Answer", f"{column}- Answer", f"{column} Answer") if name in row), None)
