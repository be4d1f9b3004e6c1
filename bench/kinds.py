"""What an item costs that is not plain, as a ratio to one that is: with data, limits, followers and reviews."""

from __future__ import annotations

import statistics
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from bench import plots
from bench.peers.kinds import KINDS
from bench.peers.places import Places
from bench.peers.race import Contender

GOAL = 2.0
DATABASES = ("SQLite", "PostgreSQL")
Figures = dict[str, Any]


def measure(folder: Path, items: int, runs: int, *, limit: float) -> Figures:
    """One worker process, a database of its own for each run; all kinds in turns."""
    field = [
        Contender(kind.title, f"kinds:{name}", database, 1) for database in DATABASES for name, kind in KINDS.items()
    ]
    found: dict[Contender, list[Figures]] = {one: [] for one in field}
    with Places(folder) as places, Progress(console=Console(stderr=True), transient=True) as progress:
        whole = progress.add_task("measuring kinds of items", total=runs * len(field))
        for _ in range(runs):
            for contender in field:
                made = places.run(contender, items, limit=limit, seen=lambda count, pids: None, waits=False)
                assert made["all"], f"{contender.title} on {contender.database}: {made['items']} of {items} finished"
                found[contender].append(made)
                progress.advance(whole)
    return {"items": items, "runs": runs, "goal": GOAL, "kinds": [_told(one, made) for one, made in found.items()]}


def _told(contender: Contender, runs: list[Figures]) -> Figures:
    return {
        "title": contender.title,
        "name": contender.module.partition(":")[2],
        "database": contender.database,
        "rate": statistics.median(run["rate"] for run in runs),
        "rates": [run["rate"] for run in runs],
        "cpu_per_1000": statistics.median(run["cpu_per_1000"] for run in runs),
        "server_cpu_per_1000": statistics.median(run["server_cpu_per_1000"] for run in runs),
    }


# -- telling


def ratio(figures: Figures, one: Figures) -> float:
    """How many times the time of a plain item on the same database: the median of the rounds, each by itself."""
    rounds = zip(_plain(figures, one)["rates"], one["rates"], strict=True)
    return statistics.median(plain / rate for plain, rate in rounds)


def _plain(figures: Figures, one: Figures) -> Figures:
    """Plain items on the same database."""
    found: Figures = next(o for o in figures["kinds"] if o["name"] == "plain" and o["database"] == one["database"])
    return found


def _cost(one: Figures) -> float:
    """Processor time of worker and server."""
    return float(one["cpu_per_1000"]) + float(one["server_cpu_per_1000"]) or 1.0


def _rows(figures: Figures) -> list[list[str]]:
    rows = []
    for one in figures["kinds"]:
        times = ratio(figures, one)
        rows.append(
            [
                one["title"],
                one["database"],
                f"{one['rate']:,.0f}",
                f"{times:.2f}",
                f"{_cost(one) / _cost(_plain(figures, one)):.1f}",
                f"{one['cpu_per_1000'] * 1000:,.0f}",
                "-" if one["database"] == "SQLite" else f"{one['server_cpu_per_1000'] * 1000:,.0f}",
            ]
        )
    return rows


HEAD = ("an item with", "database", "items/s", "times a plain one", "CPU, times", "CPU µs", "server CPU µs")


def goals(figures: Figures) -> list[tuple[str, str]]:
    """How many kinds are within the goal on each database, and the slowest."""
    rows = []
    for database in DATABASES:
        kinds = [one for one in figures["kinds"] if one["database"] == database and one["name"] != "plain"]
        slowest = max(kinds, key=lambda one: ratio(figures, one))
        within = sum(ratio(figures, one) <= figures["goal"] for one in kinds)
        reached = f"{within} of {len(kinds)}; the slowest, {slowest['title']}: {ratio(figures, slowest):.2f}"
        rows.append((f"{database}: each kind at most {figures['goal']:.1f} times a plain item", reached))
    return rows


def report(figures: Figures) -> None:
    table = Table(*HEAD, title="kinds of items, one worker process")
    for row in _rows(figures):
        table.add_row(*row)
    console = Console()
    console.width = max(console.width, 120)
    console.print(table)
    for what, reached in goals(figures):
        console.print(f"{what}: {reached}", highlight=False)


def markdown(figures: Figures) -> str:
    lines = plots.markdown(HEAD, _rows(figures))
    lines += [
        "",
        f"One worker process, {figures['items']:,} items a run, median of {figures['runs']} rounds; the ratio is taken "
        "in each round. CPU µs is processor time of the worker, and of the server, for an item; CPU, times, is "
        "both together against a plain one. All histories are verified.",
        "",
    ]
    return "\n".join([*lines, *plots.markdown(("goal", "reached"), goals(figures))])
