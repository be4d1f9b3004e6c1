"""The extracted fields, as they are stored and shown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from interlock.apps.contracts.fields.extract.candidate import Candidate
from interlock.apps.contracts.fields.signals import Signals


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
    alternatives: tuple[Candidate, ...] = ()
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
            "signals": self.signals.json(),
            "words": self.signals.words(),
            "doubts": list(self.doubts),
            "alternatives": [
                {
                    "value": other.value,
                    "normalised": other.normalised,
                    "quote": other.quote,
                    "page": other.span.page,
                    "start": other.span.start,
                    "end": other.span.end,
                    "extractor": other.extractor,
                }
                for other in self.alternatives
            ],
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

    def with_fields(self, fields: Mapping[str, Found]) -> Extraction:
        return replace(self, fields=dict(fields))

    def json(self) -> dict[str, Any]:
        return {
            "vertical": self.vertical,
            "fits": self.fits,
            "signs": self.signs,
            "fields": {name: found.json() for name, found in self.fields.items()},
        }
