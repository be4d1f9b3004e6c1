"""All contenders, in turns, and what they did: for people, for tools, for the documentation."""

from __future__ import annotations

import os
import platform
import sqlite3
import statistics
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
from rich.console import Console
from rich.progress import Progress
from rich.table import Table
from tests.support.servers import Postgres

from bench import plots
from bench.peers import race
from bench.peers.race import Contender

OURS = ("raw", "same", "interlock")
Figures = dict[str, Any]


def measure(folder: Path, items: int, runs: int, *, limit: float, alone: bool = False) -> Figures:
    """Every contender `runs` times, side by side, so that a busy moment of the machine falls on all of them."""
    field = [c for c in race.CONTENDERS if not alone or c.module in OURS]
    missing = sorted({c.title for c in field if c.installed() is None})
    field = [c for c in field if c.installed() is not None]
    if missing:
        Console(stderr=True).print(f"not installed, and left out: {', '.join(missing)}; `make bench` installs them")
    found: dict[Contender, list[Figures]] = {c: [] for c in field}
    with Postgres(folder / "pg") as server, Progress(console=Console(stderr=True), transient=True) as progress:
        with psycopg.connect(server.url(), autocommit=True) as conn:
            settings = {
                name: conn.execute(f"SHOW {name}".encode()).fetchone()[0]  # type: ignore[index]
                for name in ("server_version", "fsync", "synchronous_commit", "shared_buffers")
            }
        whole = progress.add_task("measuring", total=runs * len(field))
        for _ in range(runs):
            for contender in field:
                wanted = max(int(items * contender.share), 100)
                one = progress.add_task(f"  {contender.title}, {contender.workers}", total=wanted)

                def seen(count: int, _: list[int], task: Any = one) -> None:
                    progress.update(task, completed=count)

                found[contender].append(_once(contender, server, folder, wanted, limit, seen))
                progress.remove_task(one)
                progress.advance(whole)
    return {
        "items": items,
        "runs": runs,
        "limit_seconds": limit,
        "durability": "fsync=on and synchronous_commit=on; on SQLite synchronous=FULL",
        "python": platform.python_version(),
        "sqlite": sqlite3.sqlite_version,
        "postgresql": settings,
        "cores": os.cpu_count(),
        "contenders": [_told(c, made) for c, made in found.items()],
    }


def _once(
    contender: Contender,
    server: Postgres,
    folder: Path,
    items: int,
    limit: float,
    seen: Callable[[int, list[int]], None],
) -> Figures:
    """In a database of its own, which is gone afterwards."""
    if contender.database == "SQLite":
        with tempfile.TemporaryDirectory(dir=folder) as own:
            return race.run(contender, f"sqlite:///{own}/contest.db", folder, items, limit=limit, seen=seen)
    with psycopg.connect(server.url(), autocommit=True) as conn:
        conn.execute("CREATE DATABASE contest")
        conn.execute("CHECKPOINT")  # what the one before left to be written is not this one's
        try:
            return race.run(contender, server.url("contest"), folder, items, server=server, limit=limit, seen=seen)
        finally:
            conn.execute("DROP DATABASE contest WITH (FORCE)")


def _told(contender: Contender, runs: list[Figures]) -> Figures:
    """The run with the middle rate stands for all."""
    middle = sorted(runs, key=lambda run: float(run["rate"]))[(len(runs) - 1) // 2]
    return {
        "title": contender.title,
        "module": contender.module,
        "database": contender.database,
        "workers": contender.workers,
        "version": contender.installed(),
        "settings": contender.load().SETTINGS,
        **middle,
        "rate": statistics.median(run["rate"] for run in runs),
        "rates": [run["rate"] for run in runs],
    }


# -- telling


def _rows(figures: Figures) -> list[list[str]]:
    return [
        [
            one["title"],
            str(one["workers"]),
            f"{one['rate']:,.0f}{'' if one['all'] else ' (stopped)'}",
            f"{one['rate'] / _limit(figures, one):.2f}",
            _wait(one),
            f"{one['peak_rss'] / 2**20:,.0f}",
            f"{one['cpu_per_1000'] * 1000:,.0f}",
            "-" if one["database"] == "SQLite" else f"{one['server_cpu_per_1000'] * 1000:,.0f}",
            f"{one['items']:,}",
        ]
        for one in figures["contenders"]
    ]


HEAD = ("", "processes", "items/s", "of raw SQL", "wait, ms: p50 / p99", "MB", "CPU µs", "server CPU µs", "items")


def _wait(one: Figures) -> str:
    return "-" if one["wait_p50_ms"] is None else f"{one['wait_p50_ms']:.1f} / {one['wait_p99_ms']:.1f}"


def _limit(figures: Figures, one: Figures) -> float:
    """Raw SQL in one process on the same database."""
    return next(
        float(other["rate"])
        for other in figures["contenders"]
        if other["module"] == "raw" and other["database"] == one["database"]
    )


def goals(figures: Figures) -> list[tuple[str, float, float]]:
    """What was to be reached, how much of it was, and the goal."""

    def best(*modules: str, database: str, workers: tuple[int, ...] = (1, 2)) -> float:
        return max(
            (
                float(one["rate"])
                for one in figures["contenders"]
                if one["module"] in modules and one["database"] == database and one["workers"] in workers
            ),
            default=0.0,
        )

    peers = [one["module"] for one in figures["contenders"] if one["module"] not in OURS]
    rows = [
        (
            "Interlock on SQLite, of raw SQL",
            best("interlock", database="SQLite", workers=(1,)) / best("raw", database="SQLite"),
            0.5,
        ),
        (
            "Interlock on SQLite, of raw SQL into the same tables",
            best("interlock", database="SQLite", workers=(1,)) / best("same", database="SQLite"),
            0.5,
        ),
        (
            "Interlock on PostgreSQL, two processes against one",
            best("interlock", database="PostgreSQL", workers=(2,))
            / best("interlock", database="PostgreSQL", workers=(1,)),
            1.0,
        ),
    ]
    if peers:
        ours = best("interlock", database="PostgreSQL")
        rows.append(("Interlock on PostgreSQL, of the best peer", ours / best(*peers, database="PostgreSQL"), 2.0))
    return rows


def _beneath(figures: Figures) -> str:
    server = figures["postgresql"]
    return (
        f"Median of {figures['runs']} runs. The wait is that of a job which is sent to idle workers, from the call "
        f"that enqueues it until its handler starts, {race.JOBS} times, one at a time. MB is the peak of all worker "
        "processes together; CPU µs is processor time of the worker processes, and of the server, for an item. "
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
    for what, reached, goal in goals(figures):
        console.print(f"{what}: {reached:.2f} (goal {goal:.2f})", highlight=False)
    console.print(_beneath(figures), highlight=False)


def markdown(figures: Figures) -> str:
    lines = ["![Finished work items per second](../images/bench-peers.svg)", ""]
    lines += plots.markdown(HEAD, _rows(figures))
    lines += ["", _beneath(figures), "", "| goal | reached |", "| --- | --- |"]
    lines += [f"| {what}: at least {goal:.1f} | {reached:.2f} |" for what, reached, goal in goals(figures)]
    lines += ["", "| | version | set up |", "| --- | --- | --- |"]
    named = {
        one["title"].rpartition(" on ")[0]: f"| {one['version']} | {one['settings']} |" for one in figures["contenders"]
    }
    lines += [f"| {title} {rest}" for title, rest in named.items()]
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
