"""How far stated probabilities are from what came true."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from math import pi, sqrt

IN_A_BIN, BINS = 20, 10


def calibration_error(pairs: Sequence[tuple[float, bool]], order: Sequence[float] | None = None) -> float:
    """The expected calibration error: the distance between stated probabilities and actual results.

    The values are sorted by their probability (or by `order`) and cut into bins of at least twenty, ten bins at most,
    equal probabilities in one; of each the mean probability is compared with the share that is right, and the distances
    are weighed by the values in the bin. With fewer than twenty in a bin the distance is mostly chance.

    `order` is for cross-validation: where nothing tells the values of a field apart, those of a part with many right
    answers get a lower probability than the others, because they were left out. Sorted by that, they would fill a bin.
    """
    total = 0.0
    for inside in _bins(pairs, order):
        total += abs(sum(p for p, _ in inside) - sum(right for _, right in inside))
    return total / len(pairs) if pairs else 0.0


def chance_error(pairs: Sequence[tuple[float, bool]], order: Sequence[float] | None = None) -> float:
    """The calibration error that chance alone would give on average if every probability were exact."""
    total = sum(sqrt(2 / pi * sum(p * (1 - p) for p, _ in inside)) for inside in _bins(pairs, order))
    return total / len(pairs) if pairs else 0.0


def brier(pairs: Sequence[tuple[float, bool]]) -> float:
    """The mean squared distance between stated probabilities and actual results."""
    return sum((p - right) ** 2 for p, right in pairs) / len(pairs) if pairs else 0.0


def interval(right: float, n: float, width: float = 1.645) -> tuple[float, float]:
    """Wilson's interval of a share, 90 % unless set; 0 to 1 if nothing was counted."""
    if n <= 0:
        return 0.0, 1.0
    share, square = right / n, width * width
    middle = (share + square / (2 * n)) / (1 + square / n)
    half = width * sqrt(share * (1 - share) / n + square / (4 * n * n)) / (1 + square / n)
    return max(middle - half, 0.0), min(middle + half, 1.0)


def _bins(pairs: Sequence[tuple[float, bool]], order: Sequence[float] | None) -> list[list[tuple[float, bool]]]:
    count = max(1, min(BINS, len(pairs) // IN_A_BIN))
    wanted = len(pairs) / count
    bins: list[list[tuple[float, bool]]] = []
    keys = [pair[0] for pair in pairs] if order is None else order
    ordered = sorted(zip((round(key, 4) for key in keys), pairs, strict=True))
    for _, same in groupby(ordered, key=lambda one: one[0]):
        values = [pair for _, pair in same]
        if not bins or len(bins[-1]) >= wanted - 0.5:
            bins.append([])
        bins[-1] += values
    if len(bins) > 1 and len(bins[-1]) < IN_A_BIN:
        last = bins.pop()
        bins[-1] += last
    return bins
