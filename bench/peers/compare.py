"""All contenders, in turns, and what they did: for people, for tools, for the documentation."""

from __future__ import annotations

import os
import platform
import sqlite3
import statistics
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from bench import plots
from bench.peers import race
from bench.peers.places import Places, installed
from bench.peers.race import Contender

OURS = ("raw", "same", "interlock")
WAITS = {("SQLite", 1): 12.8, ("SQLite", 2): 12.2, ("PostgreSQL", 1): 7.0, ("PostgreSQL", 2): 9.9}
"""Milliseconds that 99 % of jobs did not wait longer than, before the tables were made for speed."""
WRITES = {
    "raw": "two updates of a narrow row, and a chained history row",
    "same": "the rows of Interlock, in its tables",
    "interlock": "two updates of the row, and a chained history row; the chains are verified after each run",
    "awa": "one record of the end for a whole batch",
    "pgqueuer": "a row in a log for each change of the job's status",
    "procrastinate": "a row for each change of the job's status",
    "dbos": "the row of the workflow; it has no steps here",
    "absurd": "the rows of the task and of its run, at the claim and at the end",
    "chancy": "the job's row at the claim and, in batches, after the end",
    "saq": "the job's row four times, twice in a transaction of its own",
    "streaq": "keys in memory, and each change in a log; it is no database",
}
Figures = dict[str, Any]


def measure(folder: Path, items: int, runs: int, *, limit: float, alone: bool = False) -> Figures:
    """Every contender `runs` times, side by side, so that a busy moment of the machine falls on all of them."""
    field = installed(tuple(c for c in race.CONTENDERS if not alone or c.module in OURS))
    found: dict[Contender, list[Figures]] = {c: [] for c in field}
    with Places(folder) as places, Progress(console=Console(stderr=True), transient=True) as progress:
        whole = progress.add_task("measuring", total=runs * len(field))
        for _ in range(runs):
            for contender in field:
                wanted = max(int(items * contender.share), 100)
                one = progress.add_task(f"  {contender.title}, {contender.workers}", total=wanted)

                def seen(count: int, _: list[int], task: Any = one) -> None:
                    progress.update(task, completed=count)

                try:
                    found[contender].append(places.run(contender, wanted, limit=limit, seen=seen))
                except (Exception, SystemExit) as error:  # a run takes long, and a peer must not end it
                    if contender.module in OURS:
                        raise
                    progress.console.print(f"{contender.title}, {contender.workers}: {error}")
                progress.remove_task(one)
                progress.advance(whole)
        settings = places.settings()
    return {
        "items": items,
        "runs": runs,
        "jobs": runs * race.JOBS,
        "limit_seconds": limit,
        "durability": "fsync=on and synchronous_commit=on; on SQLite synchronous=FULL; on Valkey appendfsync=always",
        "python": platform.python_version(),
        "sqlite": sqlite3.sqlite_version,
        "postgresql": settings,
        "cores": os.cpu_count(),
        "contenders": [_told(c, made) for c, made in found.items() if made],
    }


def _told(contender: Contender, runs: list[Figures]) -> Figures:
    """The run with the middle rate stands for all; jobs that waited are taken from all of them."""
    middle = sorted(runs, key=lambda run: float(run["rate"]))[(len(runs) - 1) // 2]
    waits = [wait for run in runs for wait in run["waits_ms"]]
    cuts = statistics.quantiles(waits, n=100) if len(waits) > 1 else None
    return {
        "title": contender.title,
        "module": contender.module,
        "database": contender.database,
        "workers": contender.workers,
        "version": contender.installed(),
        "settings": contender.load().SETTINGS,
        **{name: value for name, value in middle.items() if name not in ("waits_ms", "spent")},
        "wait_p50_ms": cuts[49] if cuts else None,
        "wait_p99_ms": cuts[98] if cuts else None,
        "rate": statistics.median(run["rate"] for run in runs),
        "rates": [run["rate"] for run in runs],
    }


# -- telling


def _rows(figures: Figures) -> list[list[str]]:
    return [
        [
            one["title"],
            str(one["workers"]),
            f"{one['rate']:,.0f}{_short(figures, one)}",
            _of_raw(figures, one),
            _wait(one),
            f"{one['peak_rss'] / 2**20:,.0f}",
            f"{one['cpu_per_1000'] * 1000:,.0f}",
            "-" if one["database"] == "SQLite" else f"{one['server_cpu_per_1000'] * 1000:,.0f}",
            f"{one['items']:,}",
        ]
        for one in figures["contenders"]
    ]


HEAD = ("", "processes", "items/s", "of raw SQL", "wait, ms: p50 / p99", "MB", "CPU µs", "server CPU µs", "items")


def _short(figures: Figures, one: Figures) -> str:
    """What is to be known of a rate: its run was stopped, or not every run came to its end."""
    if not one["all"]:
        return " (stopped)"
    failed = figures["runs"] - len(one["rates"])
    return f" (failed in {failed} of {figures['runs']} runs)" if failed else ""


def _wait(one: Figures) -> str:
    return "-" if one["wait_p50_ms"] is None else f"{one['wait_p50_ms']:.1f} / {one['wait_p99_ms']:.1f}"


def _of_raw(figures: Figures, one: Figures) -> str:
    """Against raw SQL in one process on the same database; there is none on Valkey."""
    for other in figures["contenders"]:
        if other["module"] == "raw" and other["database"] == one["database"]:
            return f"{one['rate'] / other['rate']:.2f}"
    return "-"


def goals(figures: Figures) -> list[tuple[str, str, str]]:
    """What was to be reached, the goal, and what was reached."""
    rows: list[tuple[str, str, str]] = []

    def best(*modules: str, database: str, workers: int) -> Figures | None:
        """The fastest of these; of all peers, without a name."""
        field = (
            one
            for one in figures["contenders"]
            if (one["module"] in modules if modules else one["module"] not in OURS)
            and one["database"] == database
            and one["workers"] == workers
        )
        return max(field, key=lambda one: float(one["rate"]), default=None)

    def ratio(what: str, goal: str, ours: Figures | None, other: Figures | None) -> None:
        if ours and other:
            named = f"{what}, {other['title'].rpartition(' on ')[0]}" if other["module"] not in OURS else what
            rows.append((named, f"at least {goal}", f"{ours['rate'] / other['rate']:.2f}"))

    lite = best("interlock", database="SQLite", workers=1)
    ratio("Interlock on SQLite, of raw SQL", "0.45", lite, best("raw", database="SQLite", workers=1))
    same = best("same", database="SQLite", workers=1)
    ratio("Interlock on SQLite, of raw SQL into the same tables", "0.5", lite, same)
    one, two = (best("interlock", database="PostgreSQL", workers=workers) for workers in (1, 2))
    ratio("Interlock on PostgreSQL, two processes against one", "1.0", two, one)
    ratio(
        "two processes, of the best peer on PostgreSQL", "1.6, aiming at 2", two, best(database="PostgreSQL", workers=2)
    )
    ratio(
        "one process, of the best peer on PostgreSQL", "1.5, aiming at 2", one, best(database="PostgreSQL", workers=1)
    )
    for (database, workers), before in WAITS.items():
        ours = best("interlock", database=database, workers=workers)
        if ours and ours["wait_p99_ms"] is not None:
            what = f"wait, p99, on {database} with {'two processes' if workers == 2 else 'one process'}"
            rows.append((what, f"at most {before} ms", f"{ours['wait_p99_ms']:.1f} ms"))
    return rows


def _beneath(figures: Figures) -> str:
    server = figures["postgresql"]
    return (
        f"Median of {figures['runs']} runs. The wait is that of a job which is sent to idle workers, from the call "
        f"that enqueues it until its handler starts, {figures['jobs']} times, one at a time. MB is the peak of all "
        "worker processes together; CPU µs is processor time of the worker processes, and of the server, for an item. "
        f"{figures['durability']}; PostgreSQL {server['server_version']} on loopback, shared_buffers "
        f"{server['shared_buffers']}, SQLite {figures['sqlite']}, Python {figures['python']}; workers and server share "
        f"{figures['cores']} cores."
    )


def report(figures: Figures) -> None:
    table = Table(*HEAD, title="finished work items per second")
    for row in _rows(figures):
        table.add_row(*row)
    console = Console()
    console.width = max(console.width, 130)
    console.print(table)
    for what, goal, reached in goals(figures):
        console.print(f"{what}: {reached} (goal: {goal})", highlight=False)
    console.print(_beneath(figures), highlight=False)


def markdown(figures: Figures) -> str:
    lines = ["![Finished work items per second](../images/bench-peers.svg)", ""]
    lines += plots.markdown(HEAD, _rows(figures))
    lines += ["", _beneath(figures), "", "| goal | reached |", "| --- | --- |"]
    lines += [f"| {what}: {goal} | {reached} |" for what, goal, reached in goals(figures)]
    lines += ["", "| | version | set up | what it writes for a job |", "| --- | --- | --- | --- |"]
    named = {
        one["title"].rpartition(" on ")[0]: f"{one['version']} | {one['settings']} | {WRITES[one['module']]}"
        for one in figures["contenders"]
    }
    lines += [f"| {title} | {rest} |" for title, rest in named.items()]
    return "\n".join(lines)


def plot(figures: Figures, folder: Path) -> None:
    bars = [
        (
            f"{one['title']}, {one['workers']} process{'es' if one['workers'] > 1 else ''}",
            float(one["rate"]),
            one["module"] == "interlock",
        )
        for one in figures["contenders"]
    ]
    (folder / "bench-peers.svg").write_text(plots.bars("Finished work items per second, durable", bars))
