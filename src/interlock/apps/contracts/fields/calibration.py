"""The calibration: known answers with the signals that values had, and what was learned from them.

A table is data with a version. A row says for one field how many values with these signals were seen, how many of them
were right, and where the count comes from (`prior`, `measured`, `written`, `review`). From the rows come the weights of
the signals (`likelihood`), from whole documents the promise (`promise`), and what documents of this kind look like
(`profile`). The weights are stored with the rows, because fitting takes seconds and every contract needs them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from interlock.apps.contracts.fields import likelihood
from interlock.apps.contracts.fields.errors import BadCalibration
from interlock.apps.contracts.fields.extract.candidate import MODEL
from interlock.apps.contracts.fields.likelihood import Example, Weights
from interlock.apps.contracts.fields.profile import Profile
from interlock.apps.contracts.fields.promise import Likely, Promise, Score, learn
from interlock.apps.contracts.fields.signals import MODEL_ONLY, Signals

ENOUGH = 50
FOLDS = 5
ANY = "*"
"""The field of rows that say something of a signal, whatever the field."""
UNKNOWN = 0.5
"""What a value is worth that only a model read, at most, until reviewers have judged ten such values of the field."""
JUDGED = 10


def features(signals: Signals) -> dict[str, str]:
    """The signals in the form that counts are kept by."""
    return {
        "agreement": signals.agreement,
        "derivation": "yes" if signals.derivation else "no",
        "valid": "yes" if signals.valid else "no",
        "source": signals.source,
        "competing": "none" if signals.competing == 0 else "some",
        "form": signals.form,
        "grounding": signals.grounding,
        "by": ",".join(name for name in signals.extractors if name != MODEL),
        "marks": "|".join(signals.marks),
        "model": "different" if signals.disputed else ("same" if MODEL in signals.extractors else "none"),
    }


class Row(BaseModel):
    """How many values of a field with these signals were seen, and how many were right."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    field: str
    signals: dict[str, str] = {}
    n: float = Field(ge=0)
    right: float = Field(ge=0)
    source: str = "review"
    fold: int | None = None
    """The part of the known documents that the counts come from, so that it can be left out for one of them."""

    @model_validator(mode="after")
    def _not_more(self) -> Row:
        if self.right > self.n:
            raise ValueError(f"{self.right} right of {self.n}")
        return self


class Table(BaseModel):
    """A calibration."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    vertical: str
    version: str
    note: str = ""
    documents: int = Field(ge=0)
    """Real documents with known answers that were measured or reviewed."""
    written: int = Field(0, ge=0)
    """Documents that were made up for measuring; their answers are known because they were written from them."""
    priors: int = Field(0, ge=0)
    """Documents behind the prior counts, which others measured with rules of their own."""
    known_documents: tuple[str, ...] = ()
    """The hashes of the documents that rows with a fold come from."""
    rows: tuple[Row, ...] = ()
    scores: tuple[Score, ...] = ()
    """Whole documents: what their fields' probabilities came to without them, and whether all were right."""
    weights: dict[str, Weights] = {}
    """What was learned from the rows: by field, and over all fields as `*`. Empty where it must be learned first."""
    promise: Promise | None = None
    profile: Profile = Profile()
    measured: dict[str, Any] = {}
    """What was measured with this table: ECE, Brier, precision and coverage."""

    @property
    def calibrated(self) -> bool:
        return self.known >= ENOUGH

    @property
    def known(self) -> int:
        """All documents that the counts come from; below 50 the vertical is uncalibrated."""
        return self.documents + self.written + self.priors

    def without(self, document: str) -> Table:
        """The table without the fifth of all documents that this one is in.

        To leave out one alone would make a right answer look less likely than a wrong one beside it.
        """
        mine = fold_of(document)
        left = tuple(row for row in self.rows if row.fold != mine)
        return self.model_copy(
            update={
                "rows": (*left, *empty_rows({row.field for row in self.rows} - {row.field for row in left})),
                "scores": tuple(score for score in self.scores if score.fold != mine),
                "weights": {},
                "promise": None,
            }
        )

    def knows(self, document: str) -> bool:
        return document in self.known_documents

    def learned(self) -> Table:
        """The table with its weights and its promise, learned from its rows and scores."""
        pooled, fields = likelihood.fit(examples(self.rows))
        return self.model_copy(update={"weights": {ANY: pooled, **fields}, "promise": learn(self.scores)})


def fold_of(document: str, folds: int = FOLDS) -> int:
    """The part that a document is in, by its hash."""
    return int(document, 16) % folds


def examples(rows: Iterable[Row]) -> dict[str, list[Example]]:
    """The rows as the likelihood takes them: by field, those with the same signals together."""
    counts: dict[str, dict[tuple[str, ...], list[float]]] = {}
    for row in rows:
        count = counts.setdefault(row.field, {}).setdefault(likelihood.indicators(row.signals), [0.0, 0.0])
        count[0] += row.n
        count[1] += row.right
    return {
        field: [Example(key, n, right) for key, (n, right) in sorted(by_signals.items())]
        for field, by_signals in sorted(counts.items())
    }


def empty_rows(fields: Iterable[str], source: str = "measured") -> list[Row]:
    """Rows of fields of which documents were counted, and no value was found: not the same as fields without a row."""
    return [Row(field=name, n=0, right=0, source=source) for name in sorted(fields)]


@dataclass(frozen=True, slots=True)
class Estimate:
    """The probability that a value is right, its 90 % interval, and the known values of its field."""

    p: float
    low: float
    high: float
    n: float | None
    """None for a field of which nothing was ever counted."""
    likely: Likely


@dataclass(frozen=True, slots=True)
class Label:
    """One known answer: whether a value with these signals was right."""

    field: str
    signals: Mapping[str, str]
    right: bool


class Calibration:
    """A table with its weights, ready for estimates."""

    __slots__ = ("_judged_models", "table")

    def __init__(self, table: Table) -> None:
        self.table = table if table.weights else table.learned()
        self._judged_models: dict[str, float] = {}
        for row in table.rows:
            if row.signals.get("agreement") == MODEL_ONLY:
                self._judged_models[row.field] = self._judged_models.get(row.field, 0.0) + row.n

    @property
    def version(self) -> str:
        return self.table.version

    def base(self, name: str) -> float:
        """How likely a value of the field is right, if one rule found it and nothing else is known."""
        weights = self.table.weights.get(name) or self.table.weights[ANY]
        return likelihood.probability(*weights.log_odds([likelihood.BASE]))

    def estimate(self, name: str, signals: Signals) -> Estimate:
        """The probability that a value with these signals is right. A value without a quote in the text has none."""
        weights = self.table.weights.get(name) or self.table.weights[ANY]
        n = weights.n if name in self.table.weights else None
        if signals.grounding == "none":
            return Estimate(0.0, 0.0, 0.0, n, Likely(mean=-9.0, deviation=0.0))
        mean, deviation = weights.log_odds(likelihood.indicators(features(signals)))
        if signals.agreement == MODEL_ONLY and self._judged_models.get(name, 0.0) < JUDGED:
            mean = min(mean, 0.0)
        low, high = likelihood.between(mean, deviation)
        p = likelihood.probability(mean, deviation)
        return Estimate(p, low, high, n, Likely(mean=mean, deviation=deviation))

    def likely(self, name: str, signals: Mapping[str, str]) -> Likely:
        """The log odds that a value with these signals, as `features` has them, is right."""
        weights = self.table.weights.get(name) or self.table.weights[ANY]
        mean, deviation = weights.log_odds(likelihood.indicators(signals))
        return Likely(mean=mean, deviation=deviation)

    def promise(self, fields: Iterable[Likely]) -> tuple[float, float, float]:
        """The probability that all these fields are right, stated with caution, and the interval around it."""
        return (self.table.promise or Promise()).of(list(fields))


def refit(
    table: Table,
    labels: Iterable[Label],
    *,
    version: str,
    documents: int,
    source: str = "review",
    scores: Iterable[Score] = (),
) -> Table:
    """The table with these labels counted in. `documents` is how many documents they come from."""
    counts: dict[tuple[str, tuple[tuple[str, str], ...]], list[int]] = {}
    for label in labels:
        key = (label.field, tuple(sorted(label.signals.items())))
        count = counts.setdefault(key, [0, 0])
        count[0] += 1
        count[1] += label.right
    rows: list[Row] = []
    for row in table.rows:
        key = (row.field, tuple(sorted(row.signals.items())))
        if row.source == source and key in counts:
            n, right = counts.pop(key)
            row = row.model_copy(update={"n": row.n + n, "right": row.right + right})
        rows.append(row)
    rows += [
        Row(field=name, signals=dict(signals), n=n, right=right, source=source)
        for (name, signals), (n, right) in sorted(counts.items())
    ]
    return table.model_copy(
        update={
            "rows": tuple(rows),
            "scores": (*table.scores, *scores),
            "version": version,
            "documents": table.documents + documents,
            "weights": {},
            "promise": None,
        }
    )


def parse_table(text: str, source: str) -> Table:
    """The table that a JSON text has. `BadCalibration` names the source."""
    try:
        return Table.model_validate(json.loads(text))
    except (ValueError, ValidationError) as error:
        raise BadCalibration(f"{source} is not a calibration table: {error}") from error


@lru_cache(maxsize=8)
def shipped_table(vertical: str) -> Table:
    """The table that comes with the package for a vertical; an empty one where there is none."""
    entry = files("interlock.apps.contracts.fields").joinpath("calibration_data", f"{vertical}.json")
    if not entry.is_file():
        return Table(vertical=vertical, version=f"{vertical}-none", documents=0)
    return parse_table(entry.read_text("utf-8"), entry.name)


@lru_cache(maxsize=8)
def shipped_calibration(vertical: str) -> Calibration:
    """The same, ready for estimates; built once, because it is the same for every contract."""
    return Calibration(shipped_table(vertical))
