"""Lengths of time in classes: a histogram that adds up, from a millisecond to a month.

A class is named by its upper bound in microseconds, so that a row can be read without this list, and the list may
change. What is longer than the last bound is counted in the last class.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from interlock.store import SECOND, Micros

MILLI = SECOND // 1000
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
DAY = 24 * HOUR
LADDER: tuple[Micros, ...] = (
    *(n * MILLI for n in (1, 2, 5, 10, 20, 50, 100, 200, 500)),
    *(n * SECOND for n in (1, 2, 5, 10, 20, 30)),
    *(n * MINUTE for n in (1, 2, 5, 10, 20, 30)),
    *(n * HOUR for n in (1, 2, 6, 12)),
    *(n * DAY for n in (1, 2, 7, 30)),
    3650 * DAY,
)
_BELOW = dict(zip(LADDER, (0, *LADDER), strict=False))


def size_of(length: sa.ColumnElement[Any]) -> sa.ColumnElement[int]:
    """The class of a length, in SQL."""
    steps: list[Any] = [
        (length <= sa.literal_column(str(bound)), sa.literal_column(str(bound))) for bound in LADDER[:-1]
    ]
    return sa.case(*steps, else_=sa.literal_column(str(LADDER[-1])))


@dataclass(frozen=True, slots=True)
class Lengths:
    """How long something took: the middle, what nine in ten stay below, and the longest, in microseconds."""

    n: int = 0
    mean: Micros = 0
    median: Micros = 0
    p90: Micros = 0
    worst: Micros = 0


@dataclass(frozen=True, slots=True)
class Step:
    """How many lengths fell into a class, what they add up to, and the longest of them."""

    n: int
    total: Micros
    worst: Micros


def lengths(classes: Mapping[Micros, Step]) -> Lengths:
    """What a histogram says. A quantile is as fine as its class, and never more than the longest length in it."""
    n = sum(step.n for step in classes.values())
    if n <= 0:
        return Lengths()
    total, worst = sum(step.total for step in classes.values()), max(step.worst for step in classes.values())
    return Lengths(n, total // n, _quantile(classes, n, 0.5), _quantile(classes, n, 0.9), worst)


def _quantile(classes: Mapping[Micros, Step], n: int, part: float) -> Micros:
    wanted, passed = part * n, 0
    for bound in sorted(classes):
        step = classes[bound]
        if step.n > 0 and passed + step.n >= wanted:
            low = min(lower_bound(bound), step.worst)
            high = max(low, min(bound, step.worst)) if bound != LADDER[-1] else step.worst
            return round(low + (high - low) * (wanted - passed) / step.n)
        passed += step.n
    return max(step.worst for step in classes.values())


def lower_bound(bound: Micros) -> Micros:
    """Where the class with this upper bound begins; also for a bound that an older list had."""
    known = _BELOW.get(bound)
    return known if known is not None else (0, *LADDER)[bisect_left(LADDER, bound)]
