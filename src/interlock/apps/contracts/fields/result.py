"""The extracted fields, as they are stored and shown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from dataclasses import field as with_default
from typing import Any

from interlock.apps.contracts.fields.extract.candidate import Candidate
from interlock.apps.contracts.fields.signals import Signals
from interlock.apps.contracts.reading.document import Span


@dataclass(frozen=True, slots=True)
class Found:
    """A field's value with its evidence. Boxes are added by whoever has the PDF."""

    field: str
    value: str
    normalised: Any
    quote: str
    page: int
    start: int
    end: int
    signals: Signals
    confidence: float | None = None
    """The estimated probability that the value is right; `None` before it was scored."""
    interval: tuple[float, float] | None = None
    """The 90 % interval of the probability."""
    alternatives: tuple[Candidate, ...] = ()
    basis: str = ""
    """What the value was computed from, where it is not in the quote: `3 years from 2003-05-06 (effective date)`."""
    doubts: tuple[str, ...] = ()
    """Why a person must look at this field, whatever its confidence."""

    def json(self) -> dict[str, Any]:
        """The field as the API gives it, without boxes."""
        return {
            "value": self.value,
            "normalised": self.normalised,
            "quote": self.quote,
            "page": self.page,
            "start": self.start,
            "end": self.end,
            "confidence": self.confidence,
            "interval": None if self.interval is None else list(self.interval),
            "signals": self.signals.json(),
            "words": self.words(),
            "basis": self.basis,
            "doubts": list(self.doubts),
            "alternatives": [
                _offered(one.value, one.normalised, one.quote, one.span, one.extractor) for one in self.alternatives
            ],
        }

    def suggested(self) -> dict[str, Any]:
        """The field as the API gives it where its value is too unlikely to be an answer: the first alternative."""
        mine = _offered(
            self.value, self.normalised, self.quote, Span(self.page, self.start, self.end), self.signals.extractors[0]
        )
        shown = self.json()
        empty = dict.fromkeys(("value", "normalised", "quote", "page", "start", "end", "confidence", "interval"))
        return {
            **shown,
            **empty,
            "alternatives": [mine, *shown["alternatives"]],
            "suggestion": {"normalised": self.normalised, "confidence": self.confidence},
        }

    def words(self) -> str:
        """The signals as a reviewer reads them, and what the value was computed from."""
        return "; ".join(filter(None, (f"computed: {self.basis}" if self.basis else "", self.signals.words())))


def _offered(value: str, normalised: Any, quote: str, span: Span, extractor: str) -> dict[str, Any]:
    return {
        "value": value,
        "normalised": normalised,
        "quote": quote,
        "page": span.page,
        "start": span.start,
        "end": span.end,
        "extractor": extractor,
    }


@dataclass(frozen=True, slots=True)
class Extraction:
    """Everything extracted from a document for a vertical."""

    vertical: str
    fields: Mapping[str, Found]
    signs: int
    """How many of the vertical's signs the text has."""
    fits: bool
    """False where the text does not look like this kind of contract."""
    readings: Mapping[str, Mapping[str, Any]] = with_default(default_factory=dict)
    """What each rule and the model said by itself, by field; only for measuring."""

    def with_fields(self, fields: Mapping[str, Found]) -> Extraction:
        return replace(self, fields=dict(fields))

    def json(self) -> dict[str, Any]:
        return {
            "vertical": self.vertical,
            "fits": self.fits,
            "signs": self.signs,
            "fields": {name: found.json() for name, found in self.fields.items()},
        }
