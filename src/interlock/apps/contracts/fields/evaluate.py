"""Measures the rules and the confidence on contracts whose answers are known.

The labels are a CSV in CUAD's form: a row a file, for each label `X` a column `X-Answer`. No score has seen its own
answer: with `folds`, each document is judged by a calibration that is made from the other parts of these documents;
without, by the given one, and a document that it was made with by that calibration without the document's fifth.

Coverage is the share of the contracts with a known answer for which there is one. Accuracy is the share of the answers
that are right; an answer where the labels have none counts as wrong. `matching` says what right means.
"""

from __future__ import annotations

import csv
import hashlib
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from importlib.resources import files
from pathlib import Path

from interlock.apps.contracts.fields.calibration import Calibration, Label, Table, fold_of, shipped_table
from interlock.apps.contracts.fields.confidence import score
from interlock.apps.contracts.fields.errors import BadLabels
from interlock.apps.contracts.fields.extract.candidate import Candidate
from interlock.apps.contracts.fields.extraction import extract
from interlock.apps.contracts.fields.fitting import Priors, fit
from interlock.apps.contracts.fields.judging import JudgedDocument, answer_column, judge_reading, scored
from interlock.apps.contracts.fields.measures import Report, summed
from interlock.apps.contracts.fields.providers import shipped_providers
from interlock.apps.contracts.fields.result import Extraction
from interlock.apps.contracts.fields.validate import Problem, apply, validate, values_of
from interlock.apps.contracts.fields.vertical import Vertical, shipped
from interlock.apps.contracts.reading.document import Document

Progress = Callable[[int, int, str], None]
Reader = Callable[[bytes, str], Document]
SecondReader = Callable[[str, Document, Vertical], Mapping[str, Sequence[Candidate]]]
"""What a model says about a file, by its name: candidates by field."""
LATER = date(2100, 1, 1)


@dataclass(frozen=True, slots=True)
class Read:
    """A document that was read and judged, before anything is stated of it."""

    document: Document
    extraction: Extraction
    problems: tuple[Problem, ...]
    judged: JudgedDocument


def evaluate(
    pdfs: Path,
    labels: Path,
    progress: Progress | None = None,
    *,
    vertical: Vertical | None = None,
    table: Table | None = None,
    folds: int | None = None,
    today: date = LATER,
    reader: Reader | None = None,
    second: SecondReader | None = None,
) -> Report:
    """Reads every labelled PDF of a folder, and compares what is found with the labels."""
    vertical = vertical or shipped()["commercial"]
    table = table or shipped_table(vertical.name)
    reader = reader or _reader
    rows = read_labels(labels, vertical)
    found = by_name(pdfs)
    read: list[Read] = []
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
        more = second(path.name, document, vertical) if second is not None else None
        read.append(read_one(vertical, document, row, path.name, digest, more=more, today=today))
    if progress is not None:
        progress(len(rows), len(rows), "")
    version = f"made in {folds} parts" if folds else table.version
    return summed(vertical, version, states(vertical, read, table, folds=folds), skipped, folds)


def read_one(
    vertical: Vertical,
    document: Document,
    row: Mapping[str, str],
    name: str,
    digest: str,
    *,
    more: Mapping[str, Sequence[Candidate]] | None = None,
    today: date = LATER,
) -> Read:
    """One document by the rules, and by a second reader's candidates."""
    providers = shipped_providers(vertical.providers) if vertical.providers is not None else None
    extraction = extract(document, vertical, providers=providers, more=more)
    problems = validate(vertical, values_of(extraction), today=today, providers=providers)
    extraction = apply(extraction, problems)
    judged = judge_reading(vertical, extraction, row, document, name, digest)
    return Read(document, extraction, tuple(problems), judged)


def states(
    vertical: Vertical, read: Sequence[Read], table: Table, *, folds: int | None = None, written: bool = False
) -> list[JudgedDocument]:
    """The result of each document, by a calibration that was made without it."""
    made: dict[int, Calibration] = {}
    priors = priors_of(vertical.name)
    every = fit(vertical, [one.judged for one in read], priors, version="all", written=written) if folds else None
    common = Calibration(every) if every is not None else None
    stated = []
    for one in read:
        digest = one.judged.digest
        seen = not folds and table.knows(digest)
        part = fold_of(digest, folds) if folds else (fold_of(digest) if seen else -1)
        if part not in made:
            if folds:
                others = [other.judged for other in read if fold_of(other.judged.digest, folds) != part]
                learned = fit(vertical, others, priors, version=f"part {part}", written=written)
            else:
                learned = table.without(digest) if seen else table
            made[part] = Calibration(learned)
        assessment = score(one.document, vertical, one.extraction, list(one.problems), made[part])
        signals = {name: found.signals for name, found in one.extraction.fields.items()}
        order = {name: common.estimate(name, mine).p for name, mine in signals.items()} if common is not None else None
        stated.append(scored(vertical, one.judged, assessment, seen=seen, order=order))
    return stated


def priors_of(vertical: str) -> Priors:
    """The counts from elsewhere that a vertical's calibration starts from; none where there are none."""
    entry = files("interlock.apps.contracts.fields").joinpath("calibration_data", f"{vertical}-priors.json")
    return Priors.model_validate(json.loads(entry.read_text("utf-8"))) if entry.is_file() else Priors()


def labels_of(documents: Iterable[JudgedDocument]) -> list[tuple[str, Label]]:
    """The results of an evaluation as labels for `refit`, each with its document's hash."""
    return [
        (document.digest, Label(judged.field, judged.signals, judged.right))
        for document in documents
        for judged in document.fields
        if judged.read
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


def name_letters(name: str) -> str:
    """A file's name by its letters only: labels and disks differ in `&`, `'` and spaces."""
    stem = re.sub(r"\.pdf$", "", name.strip(), flags=re.IGNORECASE)
    return re.sub(r"[^0-9a-z]", "", stem.lower().replace("&amp;", ""))


def by_name(folder: Path) -> dict[str, Path]:
    """The PDFs of a folder and the folders in it, by `name_letters`."""
    return {name_letters(path.name): path for path in sorted(folder.rglob("*")) if path.suffix.lower() == ".pdf"}


def _reader(data: bytes, name: str) -> Document:
    from interlock.apps.contracts.reading import read

    return read(data, name)
