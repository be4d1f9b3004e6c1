"""A histogram of durations from a millisecond to a month, whose buckets can be added up.

A bucket is named by its upper bound in microseconds, so that a row can be read without this list, and the list may
change. Durations beyond the last bound are counted in the last bucket.
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
BUCKET_BOUNDS: tuple[Micros, ...] = (
    *(n * MILLI for n in (1, 2, 5, 10, 20, 50, 100, 200, 500)),
    *(n * SECOND for n in (1, 2, 5, 10, 20, 30)),
    *(n * MINUTE for n in (1, 2, 5, 10, 20, 30)),
    *(n * HOUR for n in (1, 2, 6, 12)),
    *(n * DAY for n in (1, 2, 7, 30)),
    3650 * DAY,
)
_BELOW = dict(zip(BUCKET_BOUNDS, (0, *BUCKET_BOUNDS), strict=False))


def bucket_of(length: sa.ColumnElement[Any]) -> sa.ColumnElement[int]:
    """The bucket of a duration, in SQL."""
    steps: list[Any] = [
        (length <= sa.literal_column(str(bound)), sa.literal_column(str(bound))) for bound in BUCKET_BOUNDS[:-1]
    ]
    return sa.case(*steps, else_=sa.literal_column(str(BUCKET_BOUNDS[-1])))


@dataclass(frozen=True, slots=True)
class DurationSummary:
    """Summary of a histogram, in microseconds."""

    n: int = 0
    mean: Micros = 0
    median: Micros = 0
    p90: Micros = 0
    worst: Micros = 0
    p99: Micros = 0


@dataclass(frozen=True, slots=True)
class Bucket:
    """The number of durations in a bucket, their sum, and the longest of them."""

    n: int
    total: Micros
    worst: Micros


def summarize(buckets: Mapping[Micros, Bucket]) -> DurationSummary:
    """Summarise a histogram. A quantile is interpolated in its bucket and never exceeds the longest duration in it."""
    n = sum(bucket.n for bucket in buckets.values())
    if n <= 0:
        return DurationSummary()
    total, worst = sum(bucket.total for bucket in buckets.values()), max(bucket.worst for bucket in buckets.values())
    median, p90, p99 = (_quantile(buckets, n, part) for part in (0.5, 0.9, 0.99))
    return DurationSummary(n, total // n, median, p90, worst, p99)


def _quantile(buckets: Mapping[Micros, Bucket], n: int, part: float) -> Micros:
    wanted, passed = part * n, 0
    for bound in sorted(buckets):
        bucket = buckets[bound]
        if bucket.n > 0 and passed + bucket.n >= wanted:
            low = min(lower_bound(bound), bucket.worst)
            high = max(low, min(bound, bucket.worst)) if bound != BUCKET_BOUNDS[-1] else bucket.worst
            return round(low + (high - low) * (wanted - passed) / bucket.n)
        passed += bucket.n
    return max(bucket.worst for bucket in buckets.values())


def lower_bound(bound: Micros) -> Micros:
    """The lower bound of the bucket with this upper bound, also for a bound of an older list."""
    known = _BELOW.get(bound)
    return known if known is not None else (0, *BUCKET_BOUNDS)[bisect_left(BUCKET_BOUNDS, bound)]
