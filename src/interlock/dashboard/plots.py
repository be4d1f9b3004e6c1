"""Plots for templates: bars over time, and small ones for tables. Bars stretch with the page, text does not."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta

from interlock.store import Micros, moment
from interlock.watch.histogram import DAY, HOUR, MINUTE
from interlock.watch.measures import Point

COLUMN, BAR = 10, 7
TALL = 100


@dataclass(frozen=True, slots=True)
class Span:
    """A time window for plots, and its resolution."""

    name: str
    words: str
    window: timedelta
    by: str

    @property
    def step(self) -> Micros:
        return MINUTE if self.by == "minute" else HOUR


SPANS = {
    "1h": Span("1h", "1 hour", timedelta(hours=1), "minute"),
    "24h": Span("24h", "24 hours", timedelta(hours=24), "hour"),
    "7d": Span("7d", "7 days", timedelta(days=7), "hour"),
}


def span_of(name: str) -> Span:
    """The window named in a URL; a day if it is unknown."""
    return SPANS.get(name, SPANS["24h"])


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar of a plot."""

    x: int
    y: float
    height: float
    title: str


@dataclass(frozen=True, slots=True)
class Plot:
    """Bars over time, for the macro `bars`."""

    kind: str
    what: str
    total: int
    span: Span
    bars: Sequence[Bar]
    ticks: Sequence[str]
    """Tick labels from the top down to 0."""
    lines: Sequence[float]
    """The positions of the ticks."""
    times: Sequence[str]
    show: Callable[[int], str] = "{:,}".format

    @property
    def width(self) -> int:
        return COLUMN * len(self.bars)

    @property
    def sentence(self) -> str:
        return f"{self.show(self.total)} {self.what} in {self.span.words}"


def plot(points: Sequence[Point], span: Span, kind: str, what: str) -> Plot:
    """A series as bars. `what` completes the phrase "1,204 …"; `kind` sets the colour."""
    highest = max((p.n for p in points), default=0)
    step = tick_step(highest)
    top = step * max(1, -(-highest // step))
    bars = []
    for i, point in enumerate(points):
        height = round(TALL * point.n / top, 2)
        if point.n:  # a single event stays visible beside a million
            height = max(height, 1.0)
        title = f"{_when(point.at, span)}: {point.n:,} {what}"
        bars.append(Bar(i * COLUMN, round(TALL - height, 2), height, title))
    marks = range(top, -1, -step)
    lines = [round(TALL - TALL * mark / top, 2) for mark in marks]
    return Plot(
        kind, what, sum(p.n for p in points), span, bars, [f"{m:,}" for m in marks], lines, _times(points, span)
    )


def daily(days: Sequence[tuple[Micros, int]], what: str, show: Callable[[int], str], *, top: int) -> Plot:
    """A bar a day, oldest first; `show` formats values, `what` says what they are, and `top` ends an empty plot."""
    span = Span(f"{len(days)}d", f"{len(days)} days", timedelta(days=len(days)), "day")
    highest = max((n for _, n in days), default=0) or top
    step = tick_step(highest)
    top = step * max(1, -(-highest // step))
    bars = []
    for i, (at, n) in enumerate(days):
        height = max(round(TALL * n / top, 2), 1.0 if n else 0.0)
        bars.append(Bar(i * COLUMN, round(TALL - height, 2), height, f"{moment(at):%a %d %b}: {show(n)} {what}"))
    marks = range(top, -1, -step)
    lines = [round(TALL - TALL * mark / top, 2) for mark in marks]
    some = [f"{moment(at):%d %b}" for at, _ in days[: -1 : max(1, len(days) // 5)]]
    total = sum(n for _, n in days)
    return Plot("work", what, total, span, bars, [show(m) for m in marks], lines, [*some, "today"], show)


def tick_step(highest: int) -> int:
    """1, 2 or 5 times a power of ten, giving two to four grid lines."""
    size = 1
    while True:
        for times in (1, 2, 5):
            if highest <= 4 * times * size:
                return times * size
        size *= 10


def _when(at: Micros, span: Span) -> str:
    begin, end = moment(at), moment(at + span.step)
    day = f"{begin:%a} " if span.window > timedelta(days=1) else ""
    return f"{day}{begin:%H:%M} to {end:%H:%M} UTC"


def _times(points: Sequence[Point], span: Span) -> list[str]:
    """Labels below the plot: the first, some between, and now."""
    if not points:
        return []
    if span.window > timedelta(days=1):
        return [*(f"{moment(p.at):%a}" for p in points[: -1 : DAY // span.step]), "now"]
    first, *quarters = (points[i * len(points) // 4].at for i in range(4))
    return [f"{moment(first):%H:%M} UTC", *(f"{moment(at):%H:%M}" for at in quarters), "now"]


@dataclass(frozen=True, slots=True)
class Spark:
    """A plot without labels, beside a number that says the same."""

    bars: Sequence[Bar]
    failed: Sequence[Bar]

    @property
    def width(self) -> int:
        return max(1, COLUMN * len(self.bars))


def spark(finished: Sequence[Point], failed: Sequence[Point] = ()) -> Spark:
    """Finished instances, with failed ones on top."""
    together = [a.n + b for a, b in zip(finished, _numbers(failed, len(finished)), strict=True)]
    top = max(together, default=0) or 1
    done, bad = [], []
    for i, point in enumerate(finished):
        height = round(TALL * point.n / top, 2)
        done.append(Bar(i * COLUMN, round(TALL - height, 2), height, ""))
        more = round(TALL * (together[i] - point.n) / top, 2)
        bad.append(Bar(i * COLUMN, round(TALL - height - more, 2), more, ""))
    return Spark(done, bad)


def _numbers(points: Sequence[Point], length: int) -> list[int]:
    return [p.n for p in points] if points else [0] * length


def added(series: Iterable[Sequence[Point]], like: Sequence[Point]) -> list[Point]:
    """Add up several series of the same moments."""
    known = list(series)
    return [Point(p.at, sum(one[i].n for one in known)) for i, p in enumerate(like)]


def empty(now: Micros, span: Span) -> list[Point]:
    """An empty series for a window."""
    first = now - span.window // timedelta(microseconds=1)
    return [Point(at, 0) for at in range(first - first % span.step, now + 1, span.step)]
