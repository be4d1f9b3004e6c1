"""How claims, events and pages slow down as the database fills: from a thousand of each kind to a million."""

from __future__ import annotations

import random
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg
from rich.console import Console
from rich.progress import Progress
from rich.table import Table
from tests.support.servers import Postgres

from bench import filling, pages, plots
from interlock.engine import Engine, Result
from interlock.machine import USER, Actor, Go

SMALLEST = 1_000
ROUNDS, BATCHES, BATCH, SINGLES = 9, 6, 50, 20
GOAL, PAGE_GOAL = 1.5, 200.0
DATABASES = ("SQLite", "PostgreSQL")
SOMEBODY = Actor(USER, "bench")
Figures = dict[str, Any]


def sizes(scale: int) -> list[int]:
    """A thousand, ten thousand, and so on, up to `scale`."""
    found = [SMALLEST]
    while found[-1] * 10 < scale:
        found.append(found[-1] * 10)
    return found if scale <= SMALLEST else [*found, scale]


@dataclass(slots=True)
class Filled:
    """A database with `count` waiting, future and paused instances each."""

    url: str
    engine: Engine
    count: int
    now: int
    took: dict[str, list[float]] = field(default_factory=dict)

    def time(self, name: str, job: Callable[[], Any]) -> Any:
        begun = time.perf_counter()
        result = job()
        self.took.setdefault(name, []).append((time.perf_counter() - begun) * 1000)
        return result


def measure(folder: Path, scale: int) -> Figures:
    """On both databases; a database for each size, measured in turns, so that a busy moment falls on all of them."""
    found: Figures = {"sizes": sizes(scale), "batch": BATCH, "goal": GOAL, "page_goal_ms": PAGE_GOAL}
    with Progress(console=Console(stderr=True), transient=True) as progress:
        with tempfile.TemporaryDirectory(dir=folder) as own:
            urls = [(size, f"sqlite:///{own}/growth{size}.db") for size in sizes(scale)]
            found["SQLite"] = _database(progress, "SQLite", urls)
        with Postgres(folder / "pg-growth") as server:
            with psycopg.connect(server.url(), autocommit=True) as conn:
                for size in sizes(scale):
                    conn.execute(f"CREATE DATABASE growth{size}".encode())
            urls = [(size, server.url(f"growth{size}")) for size in sizes(scale)]
            found["PostgreSQL"] = _database(progress, "PostgreSQL", urls)
    return found


def _database(progress: Progress, name: str, urls: list[tuple[int, str]]) -> Figures:
    filled, pages_by_size, seconds = [], {}, {}
    for size, url in urls:
        bar = progress.add_task(f"{name}: filling {size:,} of each", total=size * 13)
        engine, now, begun = Engine(url, [filling.thing]), time.time_ns() // 1000, time.perf_counter()
        filling.fill(engine, size, now, lambda made, bar=bar: progress.advance(bar, made))
        filling.settle(url)
        seconds[str(size)] = time.perf_counter() - begun
        filled.append(Filled(url, engine, size, now))
        progress.remove_task(bar)
    bar = progress.add_task(f"{name}: claims and events", total=ROUNDS * len(filled))
    for turn in range(ROUNDS):
        for one in filled:
            _round(one, random.Random(turn))
            progress.advance(bar)
    progress.remove_task(bar)
    bar = progress.add_task(f"{name}: pages", total=len(filled))
    for one in filled:
        pages_by_size[str(one.count)] = pages.visit(one.engine, "thing", "off")
        one.engine.close()
        progress.advance(bar)
    progress.remove_task(bar)
    # The first round of each warms up, and is not counted.
    kept = {one.count: {what: values[len(values) // ROUNDS :] for what, values in one.took.items()} for one in filled}
    return {
        "filling_seconds": seconds,
        "ms": {
            what: {str(size): statistics.median(values[what]) for size, values in kept.items()}
            for what in filled[0].took
        },
        "pages": pages_by_size,
    }


def _round(one: Filled, chance: random.Random) -> None:
    """Ready work is made and claimed, in batches and one by one; events go to instances all over the table."""
    engine, worker = one.engine, uuid4()
    engine.create_many("thing", [{"n": n} for n in range(BATCHES * BATCH + SINGLES)])
    claims = []
    for _ in range(BATCHES):
        got = one.time(f"claim of {BATCH}", lambda: engine.claim(worker, ["thing"], BATCH))
        assert len(got) == BATCH, len(got)
        claims += got
    for _ in range(SINGLES):
        got = one.time("claim of 1", lambda: engine.claim(worker, ["thing"], 1))
        assert len(got) == 1
        claims += got
    done = engine.finish([Result(claim, Go("done")) for claim in claims])
    assert all(done), "the claims hold"
    for _ in range(SINGLES):
        chosen = filling.identity(one.now, one.count, "waiting", chance.randrange(one.count))
        one.time("event", lambda chosen=chosen: engine.fire(chosen, "flip", actor=SOMEBODY))


# -- telling


def _ratios(figures: Figures) -> list[tuple[str, str, list[float], float]]:
    """Database, what, milliseconds by size, the biggest against the smallest."""
    found = []
    for database in DATABASES:
        for what, by_size in figures[database]["ms"].items():
            values = [by_size[str(size)] for size in figures["sizes"]]
            found.append((database, what, values, values[-1] / values[0]))
    return found


def _slowest(figures: Figures) -> list[tuple[str, list[tuple[str, float]]]]:
    """For each database the slowest page at each size."""
    return [
        (
            database,
            [max(figures[database]["pages"][str(size)].items(), key=lambda page: page[1]) for size in figures["sizes"]],
        )
        for database in DATABASES
    ]


def _rows(figures: Figures) -> list[list[str]]:
    rows = [
        [f"{what}, {database}", *(f"{value:.2f}" for value in values), f"{ratio:.2f}"]
        for database, what, values, ratio in _ratios(figures)
    ]
    rows += [
        [
            f"the overview, {database}",
            *(f"{figures[database]['pages'][str(n)]['/ui']:.0f}" for n in figures["sizes"]),
            "",
        ]
        for database in DATABASES
    ]
    rows += [
        [f"the slowest page, {database}", *(f"{took:.0f}" for _, took in slow), ""]
        for database, slow in _slowest(figures)
    ]
    return rows


def _head(figures: Figures) -> list[str]:
    return ["median milliseconds, with so many of each kind", *(f"{n:,}" for n in figures["sizes"]), "ratio"]


def _beneath(figures: Figures) -> str:
    biggest = figures["sizes"][-1]
    slow = "; ".join(f"{slow[-1][0]} on {database}" for database, slow in _slowest(figures))
    return (
        f"At the largest size there are {biggest:,} waiting, {biggest:,} future and {biggest:,} paused instances and "
        f"{5 * biggest:,} rows of history. The ratio is that of the largest to the smallest size (goal: at most "
        f"{figures['goal']}); pages: goal at most {figures['page_goal_ms']:.0f} ms. The slowest page at the largest "
        f"size is {slow}."
    )


def report(figures: Figures) -> None:
    table = Table(*_head(figures), title="growth")
    for row in _rows(figures):
        table.add_row(*row)
    most = str(max(figures["sizes"]))
    filling = " and ".join(f"{figures[name]['filling_seconds'][most]:.0f} s on {name}" for name in DATABASES)
    console = Console()
    console.print(table)
    console.print(_beneath(figures), f"To fill the largest took {filling}.", highlight=False)


def markdown(figures: Figures) -> str:
    rows = plots.markdown(_head(figures), _rows(figures))
    return "\n".join(
        [
            "![Milliseconds by size](../images/bench-growth.svg)",
            "",
            *rows,
            "",
            _beneath(figures),
            "",
            "![Pages by size](../images/bench-pages.svg)",
        ]
    )


def plot(figures: Figures, folder: Path) -> None:
    grown = {f"{what}, {database}": [v / values[0] for v in values] for database, what, values, _ in _ratios(figures)}
    by_kind = dict(sorted(grown.items()))
    (folder / "bench-growth.svg").write_text(
        plots.lines(
            "How many times as long as with 1,000 of each kind",
            figures["sizes"],
            by_kind,
            unit="times",
            goal=(f"goal {figures['goal']}", figures["goal"]),
        )
    )
    series = {f"the slowest page, {database}": [took for _, took in slow] for database, slow in _slowest(figures)}
    for database in DATABASES:
        taken = figures[database]["pages"]
        series[f"the overview, {database}"] = [taken[str(size)]["/ui"] for size in figures["sizes"]]
    (folder / "bench-pages.svg").write_text(
        plots.lines(
            "Pages of the dashboard",
            figures["sizes"],
            series,
            unit="ms",
            goal=(f"goal {figures['page_goal_ms']:.0f} ms", figures["page_goal_ms"]),
        )
    )
