"""The measures over judged documents: fields, readers, and what a threshold would approve."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from interlock.apps.contracts.fields.calibration_errors import brier, calibration_error, chance_error, interval
from interlock.apps.contracts.fields.judging import Judged, JudgedDocument
from interlock.apps.contracts.fields.vertical import Vertical

THRESHOLDS = (50, 60, 70, 75, 80, 85, 90, 95)


@dataclass(frozen=True, slots=True)
class FieldRow:
    """The measures of one field over all documents."""

    field: str
    required: bool
    documents: int
    known: int
    answered: int
    right: int
    spurious: int
    """Answers where the labels have none."""
    withheld: int
    """Values that were too unlikely to be answers."""
    coverage: float
    accuracy: float
    accuracy_low: float
    accuracy_high: float
    """The 90 % interval of the accuracy."""
    accuracy_known: float
    """Accuracy over the documents with a known answer only."""
    stated: float
    """The mean confidence of the answers."""
    grounded: float
    calibration_error: float
    chance: float
    """The calibration error by chance alone, if the probabilities were exact."""
    brier: float


@dataclass(frozen=True, slots=True)
class ReaderRow:
    """What one rule, or the model, brings to a field."""

    field: str
    reader: str
    said: int
    right: int
    alone: int
    """Right values that no other reader of the field had."""


@dataclass(frozen=True, slots=True)
class ThresholdRow:
    """What a threshold would approve without a person, and how much of it is right."""

    threshold: int
    approved: int
    right: int
    coverage: float
    precision: float
    precision_low: float
    precision_high: float
    """The 90 % interval of the precision."""
    stated: float
    """The mean final confidence of what is approved, as a share."""


@dataclass(frozen=True, slots=True)
class Report:
    """The measures of an evaluation."""

    vertical: str
    calibration_version: str
    documents: tuple[JudgedDocument, ...]
    skipped: tuple[str, ...]
    fields: tuple[FieldRow, ...]
    readers: tuple[ReaderRow, ...]
    thresholds: tuple[ThresholdRow, ...]
    grounded: float
    folds: int | None = None

    @property
    def note(self) -> str:
        count = f"{len(self.documents)} documents"
        if self.folds:
            return f"{count}, each judged by a calibration made from the other {self.folds - 1} of {self.folds} parts"
        seen = sum(document.seen for document in self.documents)
        return (
            f"{count}, {seen} of them in the calibration and judged by it without them"
            if seen
            else f"{count}, none of them in the calibration"
        )

    @property
    def together(self) -> dict[str, float]:
        """The calibration error over the answers of all fields, and over those of the required ones."""
        required = {row.field for row in self.fields if row.required}
        every = [judged for document in self.documents for judged in document.fields if judged.answered]
        found: dict[str, float] = {}
        for name, mine in (("all", every), ("required", [one for one in every if one.field in required])):
            pairs = [(one.confidence, one.right) for one in mine]
            found |= {name: round(calibration_error(pairs), 3), f"{name}_chance": round(chance_error(pairs), 3)}
        return found

    def rows(self) -> list[dict[str, Any]]:
        """One row a field, ready for a table."""
        renamed = {"calibration_error": "ece"}
        return [
            {
                renamed.get(name, name): round(value, 4) if isinstance(value, float) else value
                for name, value in asdict(row).items()
                if name != "documents"
            }
            for row in self.fields
        ]

    def json(self) -> dict[str, Any]:
        """The whole report as JSON."""
        return {
            "vertical": self.vertical,
            "calibration_version": self.calibration_version,
            "note": self.note,
            "folds": self.folds,
            "grounded": round(self.grounded, 5),
            "fields": self.rows(),
            "readers": [asdict(row) for row in self.readers],
            "together": self.together,
            "thresholds": [
                {name: round(value, 3) if isinstance(value, float) else value for name, value in asdict(row).items()}
                for row in self.thresholds
            ],
            "documents": [
                {
                    "name": document.name,
                    "final_confidence": document.final_confidence,
                    "needs_review": document.needs_review,
                    "right": document.right,
                    "fields": {
                        judged.field: {
                            "answered": judged.answered,
                            "right": judged.right,
                            "confidence": judged.confidence,
                        }
                        for judged in document.fields
                    },
                }
                for document in self.documents
            ],
            "skipped": list(self.skipped),
        }


def summed(
    vertical: Vertical,
    version: str,
    documents: Sequence[JudgedDocument],
    skipped: Iterable[str] = (),
    folds: int | None = None,
) -> Report:
    """The measures over judged documents."""
    everything = [judged for document in documents for judged in document.fields if judged.answered]
    mine = {
        definition.name: [one for document in documents for one in document.fields if one.field == definition.name]
        for definition in vertical.fields
    }
    return Report(
        vertical.name,
        version,
        tuple(documents),
        tuple(skipped),
        tuple(_field(one.name, one.required, mine[one.name]) for one in vertical.fields if mine[one.name]),
        tuple(row for one in vertical.fields for row in _readers(one.name, mine[one.name])),
        tuple(_threshold(threshold, vertical, documents) for threshold in THRESHOLDS),
        _share(sum(judged.grounded for judged in everything), len(everything)),
        folds,
    )


def _field(name: str, required: bool, mine: Sequence[Judged]) -> FieldRow:
    answered = [judged for judged in mine if judged.answered]
    known = [judged for judged in mine if judged.known]
    both = [judged for judged in answered if judged.known]
    right = sum(judged.right for judged in answered)
    pairs = [(judged.confidence, judged.right) for judged in answered]
    order = [judged.order for judged in answered]
    low, high = interval(right, len(answered))
    return FieldRow(
        field=name,
        required=required,
        documents=len(mine),
        known=len(known),
        answered=len(answered),
        right=right,
        spurious=len(answered) - len(both),
        withheld=sum(judged.read and not judged.answered for judged in mine),
        coverage=_share(len(both), len(known)),
        accuracy=_share(right, len(answered)),
        accuracy_low=low,
        accuracy_high=high,
        accuracy_known=_share(right, len(both)),
        stated=_share(sum(judged.confidence for judged in answered), len(answered)),
        grounded=_share(sum(judged.grounded for judged in answered), len(answered)),
        calibration_error=calibration_error(pairs, order),
        chance=chance_error(pairs, order),
        brier=brier(pairs),
    )


def _readers(name: str, mine: Sequence[Judged]) -> list[ReaderRow]:
    readers = dict.fromkeys(reader for judged in mine for reader in judged.readers)
    if len(readers) < 2:
        return []
    rows = []
    for reader in readers:
        said = [judged for judged in mine if reader in judged.readers]
        right = [judged for judged in said if judged.readers[reader]]
        alone = sum(sum(judged.readers.values()) == 1 for judged in right)
        rows.append(ReaderRow(name, reader, len(said), len(right), alone))
    return rows


def _threshold(threshold: int, vertical: Vertical, documents: Sequence[JudgedDocument]) -> ThresholdRow:
    # The hard rules apply at every threshold; only the number is compared with another one.
    approved = [
        document
        for document in documents
        if document.final_confidence >= threshold
        and (not document.needs_review or document.final_confidence < vertical.threshold)
    ]
    right = sum(document.right for document in approved)
    low, high = interval(right, len(approved))
    return ThresholdRow(
        threshold,
        len(approved),
        right,
        _share(len(approved), len(documents)),
        _share(right, len(approved)),
        low,
        high,
        _share(sum(document.final_confidence for document in approved) / 100, len(approved)),
    )


def _share(part: float, whole: int) -> float:
    return part / whole if whole else 0.0
