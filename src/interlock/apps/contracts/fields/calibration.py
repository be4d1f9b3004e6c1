"""Counts how often values with the same signals were right, and derives probabilities from them.

A table is data with a version. Each row says for one field how many values with these signals were seen and how many of
them were right, and where the count comes from (`prior`, `measured`, `review`). A row may leave signals out: it then
counts only for questions that do not ask for them.

`p = (right + 4 * base) / (n + 4)` for the most detailed set of signals with at least ten values, where `base` is how
often the field is right at all (with four values of how often all fields are). Below ten values, fewer signals are
asked for. A signal that speaks against a value and is not asked for then counts by what it says over all fields
together; it can only lower the probability.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.resources import files
from itertools import groupby
from math import pi, sqrt
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from interlock.apps.contracts.fields.errors import BadCalibration
from interlock.apps.contracts.fields.signals import Signals

PSEUDO = 4.0
LEAST = 10
ENOUGH = 50
FOLDS = 5
IN_A_BIN, BINS = 20, 10
ANY = "*"
"""The field of rows that say something of a signal, whatever the field."""
PRIOR = "prior"
"""The source of rows that others counted with rules of their own; what those say of a signal holds for their field."""
UNKNOWN = 0.5
"""The base of a field that nothing is known about."""
AGAINST = {"agreement": ("weak", "split", "model"), "derivation": ("no",), "valid": ("no",), "source": ("poor",)}
"""Signals that speak against a value."""
LEVELS: tuple[tuple[str, ...], ...] = (
    ("agreement", "form", "derivation", "valid", "source", "competing"),
    ("agreement", "form", "derivation", "valid"),
    ("agreement", "form"),
    ("agreement",),
    (),
)


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
    }


class Row(BaseModel):
    """How many values of a field with these signals were seen, and how many were right."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    field: str
    signals: dict[str, str] = {}
    n: float = Field(ge=0)
    right: float = Field(ge=0)
    source: str = "review"
    document: str | None = None
    """The hash of the only document that the counts come from, so that it can be left out when that one is judged."""

    @model_validator(mode="after")
    def _not_more(self) -> Row:
        if self.right > self.n:
            raise ValueError(f"{self.right} right of {self.n}")
        return self


class Table(BaseModel):
    """A calibration table."""

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
    rows: tuple[Row, ...] = ()
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
        """The table without this document and the fifth of all documents that it is in.

        To leave out one alone would make a right answer look less likely than a wrong one beside it.
        """
        mine = _fold(document)
        kept = tuple(row for row in self.rows if row.document is None or _fold(row.document) != mine)
        return self.model_copy(update={"rows": kept})

    def knows(self, document: str) -> bool:
        return any(row.document == document for row in self.rows)


def _fold(document: str) -> int:
    return int(document, 16) % FOLDS


@dataclass(frozen=True, slots=True)
class Estimate:
    """A probability, and the counts behind it."""

    p: float
    n: float
    level: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Label:
    """One decision of a reviewer, or one known answer: whether a value with these signals was right."""

    field: str
    signals: Mapping[str, str]
    right: bool


@dataclass(slots=True)
class Calibration:
    """A table, indexed for lookups."""

    table: Table
    _counts: dict[tuple[str, tuple[str, ...], tuple[str, ...]], tuple[float, float]] = field(default_factory=dict)
    _together: dict[tuple[str, str], tuple[float, float]] = field(default_factory=dict)
    """By one signal, over all fields."""
    _everything: tuple[float, float] = (0.0, 0.0)

    def __post_init__(self) -> None:
        for row in self.table.rows:
            for level in LEVELS:
                if all(key in row.signals for key in level):
                    key = (row.field, level, tuple(row.signals[name] for name in level))
                    n, right = self._counts.get(key, (0.0, 0.0))
                    self._counts[key] = (n + row.n, right + row.right)
            for signal in row.signals.items() if row.source != PRIOR else ():
                n, right = self._together.get(signal, (0.0, 0.0))
                self._together[signal] = (n + row.n, right + row.right)
            if row.field != ANY:
                self._everything = (self._everything[0] + row.n, self._everything[1] + row.right)

    @property
    def version(self) -> str:
        return self.table.version

    def base(self, name: str) -> float:
        """How often the field is right, whatever the signals."""
        everything = _shrunk(*self._everything, UNKNOWN)
        return _shrunk(*self._counts.get((name, (), ()), (0.0, 0.0)), everything)

    def estimate(self, name: str, signals: Signals) -> Estimate:
        """The probability that a value with these signals is right. A value without a quote in the text has none."""
        if signals.grounding == "none":
            return Estimate(0.0, 0.0, ("grounding",))
        levels = features(signals)
        base = self.base(name)
        for level in LEVELS:
            n, right = self._counts.get((name, level, tuple(levels[key] for key in level)), (0.0, 0.0))
            if n >= LEAST or not level:
                against = [key for key in levels if key not in level and levels[key] in AGAINST.get(key, ())]
                lower = [_shrunk(*self._together.get((key, levels[key]), (0.0, 0.0)), base) for key in against]
                # Nothing is known of such values where there are no counts: they are no better than the field is,
                # and what only a model said no better than a guess until reviewers have judged such values.
                if levels["agreement"] == "model" and "agreement" not in level:
                    lower.append(UNKNOWN)
                return Estimate(min([_shrunk(n, right, base), *lower, *([base] if against else [])]), n, level)
        raise AssertionError("the last level asks for no signal")


def _shrunk(n: float, right: float, towards: float) -> float:
    return (right + PSEUDO * towards) / (n + PSEUDO)


def refit(table: Table, labels: Iterable[Label], *, version: str, documents: int, source: str = "review") -> Table:
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
    return table.model_copy(update={"rows": tuple(rows), "version": version, "documents": table.documents + documents})


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
    """The same, indexed; built once, because it is the same for every contract."""
    return Calibration(shipped_table(vertical))


def calibration_error(pairs: Sequence[tuple[float, bool]]) -> float:
    """The expected calibration error: the distance between stated probabilities and actual results.

    The values are sorted by their probability and cut into bins of at least twenty, ten bins at most, equal
    probabilities in one; of each the mean probability is compared with the share that is right, and the distances are
    weighed by the values in the bin. With fewer than twenty in a bin the distance is mostly chance.
    """
    total = 0.0
    for inside in _bins(pairs):
        total += abs(sum(p for p, _ in inside) - sum(right for _, right in inside))
    return total / len(pairs) if pairs else 0.0


def chance_error(pairs: Sequence[tuple[float, bool]]) -> float:
    """The calibration error that chance alone would give on average if every probability were exact."""
    total = sum(sqrt(2 / pi * sum(p * (1 - p) for p, _ in inside)) for inside in _bins(pairs))
    return total / len(pairs) if pairs else 0.0


def _bins(pairs: Sequence[tuple[float, bool]]) -> list[list[tuple[float, bool]]]:
    count = max(1, min(BINS, len(pairs) // IN_A_BIN))
    wanted = len(pairs) / count
    bins: list[list[tuple[float, bool]]] = []
    for _, same in groupby(sorted(pairs), key=lambda pair: round(pair[0], 4)):
        values = list(same)
        if not bins or len(bins[-1]) >= wanted - 0.5:
            bins.append([])
        bins[-1] += values
    if len(bins) > 1 and len(bins[-1]) < IN_A_BIN:
        last = bins.pop()
        bins[-1] += last
    return bins


def brier(pairs: Sequence[tuple[float, bool]]) -> float:
    """The mean squared distance between stated probabilities and actual results."""
    return sum((p - right) ** 2 for p, right in pairs) / len(pairs) if pairs else 0.0
