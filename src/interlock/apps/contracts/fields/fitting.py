"""Makes a calibration table from prior counts and an evaluation.

Each measured value is a row of its own with the hash of its document, so that an evaluation can leave the document
out. Contracts that were chosen for having many clauses make rules look better than they are elsewhere: where the share
of all contracts that have an answer is known, right and wrong answers are weighed to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict

from interlock.apps.contracts.fields.calibration import Row, Table
from interlock.apps.contracts.fields.evaluate import JudgedDocument
from interlock.apps.contracts.fields.vertical import Vertical

_POOLED = 12.0
"""What all clauses and durations together say counts as so many values for each of them."""


class Priors(BaseModel):
    """Counts from elsewhere, and the shares of contracts that have an answer."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    note: str
    documents: int
    rows: tuple[Row, ...]
    shares_note: str = ""
    shares: dict[str, float] = {}
    clause: float = 1.0
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
    weights = _weights(vertical, documents, priors)
    rows = list(priors.rows)
    source = "written" if written else "measured"
    counts: dict[tuple[str, tuple[tuple[str, str], ...], str], tuple[float, float]] = {}
    for document in documents:
        for judged in document.fields:
            if not judged.answered:
                continue
            weight = priors.weight * weights[judged.field][0 if judged.known else 1]
            key = (judged.field, tuple(judged.signals.items()), document.digest)
            n, right = counts.get(key, (0.0, 0.0))
            counts[key] = (n + weight, right + weight if judged.right else right)
    rows += [
        Row(field=name, signals=dict(signals), n=round(n, 3), right=round(right, 3), source=source, document=digest)
        for (name, signals, digest), (n, right) in counts.items()
    ]
    clauses = {field.name for field in vertical.fields if field.type in ("clause", "duration")}
    n = sum(row.n for row in rows if row.field in clauses)
    right = sum(row.right for row in rows if row.field in clauses)
    if n:
        rows += [
            Row(
                field=name,
                signals={},
                n=_POOLED,
                right=round(_POOLED * right / n, 3),
                source="all clauses together",
            )
            for name in sorted(clauses)
        ]
    return Table(
        vertical=vertical.name,
        version=version,
        note=f"{priors.note} {priors.shares_note}".strip(),
        documents=0 if written else len(documents),
        written=len(documents) if written else 0,
        priors=priors.documents,
        rows=tuple(rows),
        measured=measured or {},
    )


def _weights(vertical: Vertical, documents: Sequence[JudgedDocument], priors: Priors) -> dict[str, tuple[float, float]]:
    """For each field what a contract with an answer and one without count."""
    weights: dict[str, tuple[float, float]] = {}
    for field in vertical.fields:
        mine = [judged for document in documents for judged in document.fields if judged.field == field.name]
        known = sum(judged.known for judged in mine)
        if not mine or known in (0, len(mine)):
            weights[field.name] = (1.0, 1.0)
            continue
        share = known / len(mine)
        wanted = priors.shares.get(field.name)
        if wanted is None:
            wanted = share * (priors.clause if field.type in ("clause", "duration") else 1.0)
        weights[field.name] = (wanted / share, (1 - wanted) / (1 - share))
    return weights
