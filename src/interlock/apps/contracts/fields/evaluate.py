"""Measures the rules and the confidence on contracts whose answers are known.

The labels are a CSV in CUAD's form: a row a file, for each label `X` a column `X-Answer`. A file that the calibration
table was made with is judged by the table without it (five-fold), so that no score has seen its own answer.

Coverage is the share of the contracts with a known answer for which there is a value. Accuracy is the share of the
values that are right; a value where the labels have none counts as wrong. `matching` says what right means.
"""

from __future__ import annotations

import csv
import hashlib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from dataclasses import field as with_default
from datetime import date
from pathlib import Path
from typing import Any

from interlock.apps.contracts.fields.calibration import (
    Calibration,
    Label,
    Table,
    brier,
    calibration_error,
    chance_error,
    features,
    shipped_table,
)
from interlock.apps.contracts.fields.confidence import Assessment, assess
from interlock.apps.contracts.fields.errors import BadLabels
from interlock.apps.contracts.fields.matching import known_answer, matches
from interlock.apps.contracts.fields.vertical import Vertical, shipped
from interlock.apps.contracts.reading.document import Document

THRESHOLDS = (50, 60, 70, 75, 80, 85, 90, 95)
Progress = Callable[[int, int, str], None]
Reader = Callable[[bytes, str], Document]


@dataclass(frozen=True, slots=True)
class Judged:
    """One field of one document against its known answer."""

    field: str
    answered: bool
    known: bool
    right: bool
    grounded: bool
    confidence: float
    value: Any = None
    answer: Any = None
    signals: Mapping[str, str] = with_default(default_factory=dict)


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
    """The calibration table was made with this document; it was left out of it here."""


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
    """Values where the labels have none."""
    coverage: float
    accuracy: float
    accuracy_known: float
    """Accuracy over the documents with a known answer only."""
    grounded: float
    calibration_error: float
    chance: float
    """The calibration error by chance alone, if the probabilities were exact."""
    brier: float


@dataclass(frozen=True, slots=True)
class ThresholdRow:
    """What a threshold would approve without a person, and how much of it is right."""

    threshold: int
    approved: int
    right: int
    coverage: float
    precision: float
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
    thresholds: tuple[ThresholdRow, ...]
    grounded: float

    @property
    def note(self) -> str:
        seen = sum(document.seen for document in self.documents)
        return (
            f"{len(self.documents)} documents, {seen} of them in the calibration table and judged by it without them"
            if seen
            else f"{len(self.documents)} documents, none of them in the calibration table"
        )

    @property
    def together(self) -> dict[str, float]:
        """The calibration error over the values of all fields, and over those of the required ones."""
        required = {row.field for row in self.fields if row.required}
        every = [judged for document in self.documents for judged in document.fields if judged.answered]
        found: dict[str, float] = {}
        for name, mine in (("all", every), ("required", [one for one in every if one.field in required])):
            pairs = [(one.confidence, one.right) for one in mine]
            found |= {name: round(calibration_error(pairs), 3), f"{name}_chance": round(chance_error(pairs), 3)}
        return found

    def rows(self) -> list[dict[str, Any]]:
        """One row a field, ready for a table."""
        return [
            {
                "field": row.field,
                "required": row.required,
                "known": row.known,
                "answered": row.answered,
                "right": row.right,
                "spurious": row.spurious,
                "coverage": round(row.coverage, 3),
                "accuracy": round(row.accuracy, 3),
                "accuracy_known": round(row.accuracy_known, 3),
                "grounded": round(row.grounded, 4),
                "ece": round(row.calibration_error, 3),
                "chance": round(row.chance, 3),
                "brier": round(row.brier, 3),
            }
            for row in self.fields
        ]

    def json(self) -> dict[str, Any]:
        """The whole report as JSON."""
        return {
            "vertical": self.vertical,
            "calibration_version": self.calibration_version,
            "note": self.note,
            "grounded": round(self.grounded, 5),
            "fields": self.rows(),
            "together": self.together,
            "thresholds": [
                {
                    "threshold": row.threshold,
                    "approved": row.approved,
                    "right": row.right,
                    "coverage": round(row.coverage, 3),
                    "precision": round(row.precision, 3),
                    "stated": round(row.stated, 3),
                }
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


def evaluate(
    pdfs: Path,
    labels: Path,
    progress: Progress | None = None,
    *,
    vertical: Vertical | None = None,
    table: Table | None = None,
    today: date | None = None,
    reader: Reader | None = None,
) -> Report:
    """Reads every labelled PDF of a folder, and compares what is found with the labels."""
    vertical = vertical or shipped()["commercial"]
    table = table or shipped_table(vertical.name)
    reader = reader or _reader
    rows = read_labels(labels, vertical)
    found = by_name(pdfs)
    judged: list[JudgedDocument] = []
    skipped: list[str] = []
    for index, row in enumerate(rows):
        name = row["Filename"]
        path = found.get(name_letters(name))
        if path is None:
            skipped.append(f"{name}: no such file in {pdfs}")
            continue
        if progress is not None:
            progress(index, len(rows), name)
        data = path.read_bytes()
        digest = hashlib.sha256(data).hexdigest()[:16]
        document = reader(data, path.name)
        own = Calibration(table.without(digest) if table.knows(digest) else table)
        assessment = assess(document, vertical, today=today or date(2100, 1, 1), calibration=own)
        judged.append(judge(vertical, assessment, row, document, path.name, digest, table.knows(digest)))
    if progress is not None:
        progress(len(rows), len(rows), "")
    return summed(vertical, table.version, judged, skipped)


def judge(
    vertical: Vertical,
    assessment: Assessment,
    row: Mapping[str, str],
    document: Document,
    name: str,
    digest: str,
    seen: bool = False,
) -> JudgedDocument:
    """One document's fields against one row of labels."""
    fields = []
    for definition in vertical.fields:
        column = answer_column(definition.column, row) if definition.column else None
        if column is None:
            continue
        read = assessment.extraction.fields.get(definition.name)
        answer = known_answer(definition.type, row[column] or "")
        right = read is not None and matches(definition.type, read.normalised, answer)
        grounded = read is not None and document.page(read.page).text[read.start : read.end] == read.quote != ""
        fields.append(
            Judged(
                definition.name,
                read is not None,
                answer is not None,
                right,
                grounded,
                (read.confidence or 0.0) if read else 0.0,
                read.normalised if read else None,
                answer,
                features(read.signals) if read else {},
            )
        )
    required = {definition.name for definition in vertical.required}
    all_right = all(judged.right for judged in fields if judged.field in required)
    return JudgedDocument(
        name,
        digest,
        tuple(fields),
        assessment.final_confidence,
        assessment.needs_review,
        all_right,
        len(document.pages),
        seen,
    )


def summed(
    vertical: Vertical, version: str, documents: Sequence[JudgedDocument], skipped: Iterable[str] = ()
) -> Report:
    """The measures over judged documents."""
    rows = []
    everything = [judged for document in documents for judged in document.fields if judged.answered]
    for definition in vertical.fields:
        mine = [judged for document in documents for judged in document.fields if judged.field == definition.name]
        if not mine:
            continue
        answered = [judged for judged in mine if judged.answered]
        known = [judged for judged in mine if judged.known]
        both = [judged for judged in answered if judged.known]
        right = sum(judged.right for judged in answered)
        pairs = [(judged.confidence, judged.right) for judged in answered]
        rows.append(
            FieldRow(
                field=definition.name,
                required=definition.required,
                documents=len(mine),
                known=len(known),
                answered=len(answered),
                right=right,
                spurious=len(answered) - len(both),
                coverage=_share(len(both), len(known)),
                accuracy=_share(right, len(answered)),
                accuracy_known=_share(right, len(both)),
                grounded=_share(sum(judged.grounded for judged in answered), len(answered)),
                calibration_error=calibration_error(pairs),
                chance=chance_error(pairs),
                brier=brier(pairs),
            )
        )
    thresholds = []
    for threshold in THRESHOLDS:
        # The hard rules hold at every threshold; only the number is compared with another one.
        approved = [
            document
            for document in documents
            if document.final_confidence >= threshold
            and (not document.needs_review or document.final_confidence < vertical.threshold)
        ]
        right = sum(document.right for document in approved)
        thresholds.append(
            ThresholdRow(
                threshold,
                len(approved),
                right,
                _share(len(approved), len(documents)),
                _share(right, len(approved)),
                _share(sum(document.final_confidence for document in approved) / 100, len(approved)),
            )
        )
    return Report(
        vertical.name,
        version,
        tuple(documents),
        tuple(skipped),
        tuple(rows),
        tuple(thresholds),
        _share(sum(judged.grounded for judged in everything), len(everything)),
    )


def labels_of(documents: Iterable[JudgedDocument]) -> list[tuple[str, Label]]:
    """The results of an evaluation as labels for `refit`, each with its document's hash."""
    return [
        (document.digest, Label(judged.field, judged.signals, judged.right))
        for document in documents
        for judged in document.fields
        if judged.answered
    ]


def read_labels(path: Path, vertical: Vertical) -> list[dict[str, str]]:
    """The rows of a file of labels. `BadLabels` names what is missing in it."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            csv.field_size_limit(1 << 24)
            rows = list(csv.DictReader(file))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise BadLabels(f"{path} cannot be read as labels: {error}") from error
    if not rows or "Filename" not in rows[0]:
        raise BadLabels(f"{path} has no column Filename; it must be a CSV in CUAD's form (master_clauses.csv)")
    if not any(f.column and answer_column(f.column, rows[0]) for f in vertical.fields):
        raise BadLabels(f"{path} has no column of answers; it must have columns such as `Governing Law-Answer`")
    return rows


def answer_column(column: str, row: Mapping[str, str]) -> str | None:
    """The column with the answers for a label; one of CUAD's headers has a space too much."""
    return next((name for name in (f"{column}-Answer", f"{column}- Answer", f"{column} Answer") if name in row), None)


def name_letters(name: str) -> str:
    """A file's name by its letters only: labels and disks differ in `&`, `'` and spaces."""
    stem = re.sub(r"\.pdf$", "", name.strip(), flags=re.IGNORECASE)
    return re.sub(r"[^0-9a-z]", "", stem.lower().replace("&amp;", ""))


def by_name(folder: Path) -> dict[str, Path]:
    """The PDFs of a folder and the folders in it, by `name_letters`."""
    return {name_letters(path.name): path for path in sorted(folder.rglob("*")) if path.suffix.lower() == ".pdf"}


def _share(part: float, whole: int) -> float:
    return part / whole if whole else 0.0


def _reader(data: bytes, name: str) -> Document:
    from interlock.apps.contracts.reading import read

    return read(data, name)
