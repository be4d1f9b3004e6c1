"""Plots and tables for the documentation, written by hand: SVG that reads well on light and on dark pages."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from html import escape

STYLE = (
    "<style>text{font:13px system-ui,sans-serif;fill:#1f2937}.faint{fill:#6b7280;font-size:12px}"
    ".title{font-size:15px;font-weight:600}.grid{stroke:#d1d5db;stroke-width:1}.goal{stroke:#b45309;stroke-width:1.5;"
    "stroke-dasharray:5 4}.bar{fill:#9ca3af}.ours{fill:#0f766e}"
    "@media (prefers-color-scheme:dark){text{fill:#e5e7eb}.faint{fill:#9ca3af}.grid{stroke:#374151}"
    ".bar{fill:#6b7280}.ours{fill:#2dd4bf}.goal{stroke:#f59e0b}}</style>"
)
COLOURS = ("#0f766e", "#b45309", "#6d28d9", "#be123c", "#1d4ed8", "#4d7c0f")


def _page(width: int, height: int, title: str, parts: Iterable[str]) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'role="img" aria-label="{escape(title)}">{STYLE}\n<text class="title" x="12" y="24">{escape(title)}</text>\n'
        + "\n".join(parts)
        + "\n</svg>\n"
    )


def bars(title: str, rows: Sequence[tuple[str, float, bool]]) -> str:
    """Lying bars with a name and a number each; the third value says whether it is to stand out."""
    wide, step, top = 400, 26, 44
    left = 32 + 7 * max((len(name) for name, _, _ in rows), default=0)  # a letter is about 7 wide
    most = max((value for _, value, _ in rows), default=1.0) or 1.0
    parts = []
    for n, (name, value, ours) in enumerate(rows):
        y, length = top + n * step, max(wide * value / most, 1)
        parts.append(f'<text x="{left - 10}" y="{y + 15}" text-anchor="end">{escape(name)}</text>')
        parts.append(
            f'<rect class="{"ours" if ours else "bar"}" x="{left}" y="{y}" width="{length:.1f}" height="20" rx="3"/>'
        )
        parts.append(f'<text class="faint" x="{left + length + 8:.1f}" y="{y + 15}">{value:,.0f}</text>')
    return _page(left + wide + 80, top + len(rows) * step + 12, title, parts)


def lines(
    title: str,
    xs: Sequence[float],
    series: Mapping[str, Sequence[float]],
    *,
    unit: str,
    goal: tuple[str, float] | None,
    logarithmic: bool = True,
    figures: bool = True,
) -> str:
    """Lines over an axis of sizes, from nothing upwards; with a goal as a dashed line, and the figures beneath."""
    left, top, wide, high, legend = 64, 52, 470, 250, 250
    tallest = max([value for values in series.values() for value in values] + ([goal[1]] if goal else []))
    upper = _round_up(tallest * 1.1)
    scale = math.log10 if logarithmic else float
    span = scale(xs[-1]) - scale(xs[0]) or 1.0

    def at(x: float, y: float) -> tuple[float, float]:
        return left + wide * (scale(x) - scale(xs[0])) / span, top + high - high * y / upper

    parts = []
    for n in range(6):
        value = upper * n / 5
        _, y = at(xs[0], value)
        parts.append(f'<line class="grid" x1="{left}" x2="{left + wide}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(f'<text class="faint" x="{left - 8}" y="{y + 4:.1f}" text-anchor="end">{value:g}</text>')
    parts.append(f'<text class="faint" x="12" y="{top - 10}">{escape(unit)}</text>')
    for x in xs if len(xs) < 7 else (xs[0], xs[len(xs) // 2], xs[-1]):
        across, _ = at(x, 0)
        parts.append(f'<text class="faint" x="{across:.1f}" y="{top + high + 20}" text-anchor="middle">{x:,.0f}</text>')
    if goal:
        _, y = at(xs[0], goal[1])
        parts.append(f'<line class="goal" x1="{left}" x2="{left + wide}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(f'<text class="faint" x="{left + wide + 14}" y="{y + 4:.1f}">{escape(goal[0])}</text>')
    for n, (name, values) in enumerate(series.items()):
        colour, dashed = COLOURS[n // 2 % len(COLOURS)], ' stroke-dasharray="2 3"' if n % 2 else ""
        points = [at(x, y) for x, y in zip(xs, values, strict=True)]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2.5"{dashed}/>')
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="{colour}"/>' for x, y in points]
        y = top + high + 48 + n * 20
        label = f"{name}: {', '.join(f'{value:.3g}' for value in values)}" if figures else name
        parts.append(
            f'<line x1="{left}" x2="{left + 28}" y1="{y - 4}" y2="{y - 4}" stroke="{colour}" stroke-width="2.5"'
            f'{dashed}/><text x="{left + 38}" y="{y}">{escape(label)}</text>'
        )
    return _page(left + wide + legend, top + high + 60 + len(series) * 20, title, parts)


def _round_up(value: float) -> float:
    """The next number that is easy to read on an axis."""
    if value <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(value))
    return next(step * power for step in (1.0, 2.0, 2.5, 5.0, 10.0) if step * power >= value)


def markdown(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """A table, line by line."""
    lines = [f"| {' | '.join(head)} |", f"| {' | '.join('---' for _ in head)} |"]
    return lines + [f"| {' | '.join(row)} |" for row in rows]
