"""Makes a calibration from prior counts and judged documents.

Counts are kept by fold, so that an evaluation can leave a document's fold out.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict

from interlock.apps.contracts.fields import likelihood
from interlock.apps.contracts.fields.calibration import FOLDS, Row, Table, empty_rows, examples, fold_of
from interlock.apps.contracts.fields.judging import JudgedDocument
from interlock.apps.contracts.fields.profile import profile
from interlock.apps.contracts.fields.promise import Likely, Score, together
from interlock.apps.contracts.fields.vertical import Vertical

_USUAL = {
    "derivation": "yes",
    "valid": "yes",
    "source": "text",
    "competing": "none",
    "form": "usual",
    "grounding": "exact",
    "model": "none",
    "marks": "",
    "by": "",
}


class Priors(BaseModel):
    """Counts from elsewhere that a calibration starts from."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    note: str = ""
    documents: int = 0
    rows: tuple[Row, ...] = ()
    weight: float = 1.0
    """What one measured value counts: less than one where the documents were made up, for real ones are not so tidy."""


def fit(
    vertical: Vertical,
    documents: Sequence[JudgedDocument],
    priors: Priors,
    *,
    version: str,
    measured: dict[str, Any] | None = None,
    written: bool = False,
) -> Table:
    """The table of prior counts and measured documents together; `written` where they were made up for it."""
    rows = [*priors.rows, *_rows(documents, priors.weight, "written" if written else "measured")]
    table = Table(
        vertical=vertical.name,
        version=version,
        note=priors.note,
        documents=0 if written else len(documents),
        written=len(documents) if written else 0,
        priors=priors.documents,
        known_documents=tuple(sorted({document.digest for document in documents})),
        rows=tuple(rows),
        scores=tuple(_scores(vertical, documents, rows)) if not written else (),
        profile=profile([] if written else [document.words for document in documents]),
        measured=measured or {},
    )
    return table.learned()


def _rows(documents: Iterable[JudgedDocument], weight: float, source: str) -> list[Row]:
    counts: dict[tuple[str, tuple[tuple[str, str], ...], int], tuple[float, float]] = {}
    fields: set[str] = set()
    for document in documents:
        for judged in document.fields:
            fields.add(judged.field)
            if not judged.read:
                continue
            signals = tuple((name, value) for name, value in judged.signals.items() if _USUAL.get(name) != value)
            key = (judged.field, signals, fold_of(document.digest))
            n, right = counts.get(key, (0.0, 0.0))
            counts[key] = (n + weight, right + weight if judged.right else right)
    rows = [
        Row(field=name, signals=dict(signals), n=round(n, 3), right=round(right, 3), source=source, fold=fold)
        for (name, signals, fold), (n, right) in sorted(counts.items())
    ]
    return [*rows, *empty_rows(fields - {row.field for row in rows}, source)]


def _scores(vertical: Vertical, documents: Sequence[JudgedDocument], rows: Sequence[Row]) -> list[Score]:
    """Each document that has all required fields, by weights that were learned without its fold."""
    required = [field.name for field in vertical.required]
    scores = []
    for fold in range(FOLDS):
        mine = [document for document in documents if fold_of(document.digest) == fold]
        if not mine:
            continue
        pooled, fields = likelihood.fit(examples(row for row in rows if row.fold != fold))
        for document in mine:
            read = {judged.field: judged for judged in document.fields if judged.read}
            if any(name not in read for name in required):
                continue
            found = [
                (fields.get(name) or pooled).log_odds(likelihood.indicators(read[name].signals)) for name in required
            ]
            mean, _ = together([Likely(mean=mean, deviation=deviation) for mean, deviation in found])
            right = all(read[name].right for name in required)
            scores.append(Score(together=round(mean, 4), right=right, fold=fold))
    return scores
