"""Counts of how often values with the same signals were right, and the probability that follows from them.

A table is data with a version. Each row says for one field how many values with these signals were seen and how many of
them were right, and where the count comes from (`prior`, `measured`, `review`). A row may leave signals out: it then
counts only for questions that do not ask for them.

`p = (right + 4 * base) / (n + 4)` for the most detailed set of signals with at least ten values, where `base` is how
often the field is right at all. Below ten values, fewer signals are asked for.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.resources import files
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from interlock.apps.contracts.fields.errors import BadCalibration
from interlock.apps.contracts.fields.signals import Signals

PSEUDO = 4.0
LEAST = 10
ENOUGH = 50
FOLDS = 5
UNKNOWN = 0.5
"""The base of a field that nothing is known about."""
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
    """Documents that the counts come from; below 50 the vertical is uncalibrated."""
    rows: tuple[Row, ...] = ()
    measured: dict[str, Any] = {}
    """What was measured with this table: ECE, Brier, precision and coverage."""

    @property
    def calibrated(self) -> bool:
        return self.documents >= ENOUGH

    def without(self, document: str) -> Table:
        """The table as it would be had it never seen this document, nor the fifth of all documents that it is in.

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
    """A probability, and what it rests on."""

    p: float
    n: float
    level: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Label:
    """One decision of a reviewer, or one known answer: were the signals of a value those of a right one?"""

    field: str
    signals: Mapping[str, str]
    right: bool


@dataclass(slots=True)
class Calibration:
    """A table made ready for questions."""

    table: Table
    _counts: dict[tuple[str, tuple[str, ...], tuple[str, ...]], tuple[float, float]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for row in self.table.rows:
            for level in LEVELS:
                if all(key in row.signals for key in level):
                    key = (row.field, level, tuple(row.signals[name] for name in level))
                    n, right = self._counts.get(key, (0.0, 0.0))
                    self._counts[key] = (n + row.n, right + row.right)

    @property
    def version(self) -> str:
        return self.table.version

    def base(self, name: str) -> float:
        """How often the field is right, whatever the signals."""
        n, right = self._counts.get((name, (), ()), (0.0, 0.0))
        return (right + PSEUDO * UNKNOWN) / (n + PSEUDO)

    def estimate(self, name: str, signals: Signals) -> Estimate:
        """The probability that a value with these signals is right. A value without a quote in the text has none."""
        if signals.grounding == "none":
            return Estimate(0.0, 0.0, ("grounding",))
        told = features(signals)
        base = self.base(name)
        for level in LEVELS:
            n, right = self._counts.get((name, level, tuple(told[key] for key in level)), (0.0, 0.0))
            if n >= LEAST or not level:
                p = (right + PSEUDO * base) / (n + PSEUDO)
                # A signal that speaks against a value may have too few counts to show; it never speaks for it.
                if not signals.derivation and "derivation" not in level:
                    p = min(p, base * 0.8)
                if not signals.valid and "valid" not in level:
                    p = min(p, base * 0.7)
                if signals.source == "poor":
                    p = min(p, base)
                if not level and signals.agreement in ("weak", "split"):
                    p = min(p, base * 0.8)
                return Estimate(p, n, level)
        raise AssertionError("the last level asks for no signal")


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


def calibration_error(pairs: Sequence[tuple[float, bool]], bins: int = 10) -> float:
    """The expected calibration error: how far stated probabilities and what came true lie apart, by ten bins."""
    if not pairs:
        return 0.0
    total = 0.0
    for index in range(bins):
        inside = [(p, right) for p, right in pairs if min(int(p * bins), bins - 1) == index]
        if inside:
            stated = sum(p for p, _ in inside) / len(inside)
            true = sum(right for _, right in inside) / len(inside)
            total += abs(stated - true) * len(inside) / len(pairs)
    return total


def brier(pairs: Sequence[tuple[float, bool]]) -> float:
    """The mean squared distance between stated probabilities and what came true."""
    return sum((p - right) ** 2 for p, right in pairs) / len(pairs) if pairs else 0.0
