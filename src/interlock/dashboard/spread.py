"""Times in states as distributions: a row of bars for each state, all on the same scale of buckets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from interlock.dashboard import kinds
from interlock.dashboard.formatting import duration, percent, title
from interlock.dashboard.plots import COLUMN, TALL, Bar
from interlock.machine import Machine
from interlock.store import Micros
from interlock.watch.histogram import BUCKET_BOUNDS, Bucket, DurationSummary, lower_bound, summarize


@dataclass(frozen=True, slots=True)
class Spread:
    """The distribution of one state."""

    state: str
    kind: str
    summary: DurationSummary
    bars: Sequence[Bar]

    @property
    def sentence(self) -> str:
        s = self.summary
        return (
            f"{title(self.state)}: half of {s.n:,} stays ended within {duration(s.median)}, 90 % within "
            f"{duration(s.p90)}, 99 % within {duration(s.p99)}; the longest lasted {duration(s.worst)}"
        )


@dataclass(frozen=True, slots=True)
class Spreads:
    """The distributions of a machine, and the scale that they share."""

    rows: Sequence[Spread]
    axis: Sequence[str]
    width: int


def spreads(machine: Machine, stays: Mapping[str, Mapping[Micros, Bucket]]) -> Spreads:
    """Rows in the order of the machine's declaration; states of older versions last."""
    used = {bound for buckets in stays.values() for bound, bucket in buckets.items() if bucket.n > 0}
    if not used:
        return Spreads((), (), 0)
    known = sorted({*BUCKET_BOUNDS, *used})
    scale = [bound for bound in known if min(used) <= bound <= max(used)]
    declared = list(machine.states)
    names = sorted(stays, key=lambda name: (declared.index(name) if name in declared else len(declared), name))
    rows = [_row(machine, name, stays[name], scale) for name in names]
    longest = max(bucket.worst for buckets in stays.values() for bucket in buckets.values())
    axis = [duration(lower_bound(scale[0])) if lower_bound(scale[0]) else "0", duration(min(scale[-1], longest))]
    if len(scale) > 3:
        axis.insert(1, duration(scale[len(scale) // 2 - 1]))
    return Spreads([row for row in rows if row.summary.n], axis, COLUMN * len(scale))


def _row(machine: Machine, name: str, buckets: Mapping[Micros, Bucket], scale: Sequence[Micros]) -> Spread:
    summary = summarize(buckets)
    most = max((bucket.n for bucket in buckets.values()), default=0)
    bars = []
    for i, bound in enumerate(scale):
        n = max(0, buckets[bound].n) if bound in buckets else 0
        height = max(round(TALL * n / most, 2), 2.0) if n else 0.0
        low = lower_bound(bound)
        range_ = f"{duration(low)} to {duration(bound)}" if low else f"up to {duration(bound)}"
        said = f"{range_}: {n:,} of {summary.n:,} ({percent(n / summary.n if summary.n else 0)})"
        bars.append(Bar(i * COLUMN, round(TALL - height, 2), height, said))
    return Spread(name, kinds.kind_of(machine, name), summary, bars)
