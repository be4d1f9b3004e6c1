"""Starts the processes of a contender, holds the clock, and reads what they cost."""

from __future__ import annotations

import importlib
import json
import mmap
import sqlite3
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from itertools import pairwise
from pathlib import Path
from typing import Any

import psycopg
from tests.support.servers import Postgres

from bench import processes

ROOT = Path(__file__).parent.parent.parent
PATIENCE = 0.002
JOBS = 200
"""Sent one at a time, to see how long a job waits for its handler."""


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
        return importlib.import_module(f"bench.peers.{self.module}")

    def installed(self) -> str | None:
        """Its version; none when it is not installed. Raw SQL has none of its own."""
        names = {"awa": "awa-pg", "raw": "", "same": ""}
        name = names.get(self.module, self.module)
        try:
            return version(name) if name else "-"
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
        ("Procrastinate", "procrastinate", ("PostgreSQL",), 0.1),
        ("DBOS", "dbos", ("PostgreSQL",), 0.1),
    )
    for database in databases
    for workers in ((1, 2) if database == "PostgreSQL" or module == "interlock" else (1,))
)


def run(
    contender: Contender,
    url: str,
    folder: Path,
    items: int,
    *,
    server: Postgres | None = None,
    limit: float = 120.0,
    seen: Callable[[int, list[int]], None] = lambda count, pids: None,
    prepared: bool = False,
    waits: bool = True,
) -> dict[str, Any]:
    """One run; `seen` gets the number of handlers that have begun, and the ids of the worker processes."""
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
        before = processes.server_cpu(server) if server else 0.0
        views = [view_of(path) for path in marks]
        begun = time.monotonic_ns()
        for child in children:
            _say(child, "go")
        finished = _wait(contender, url, items, views, begun, limit, lambda count: seen(count, pids))
        took = (time.monotonic_ns() - begun) / 1e9
        served = processes.server_cpu(server) - before if server else 0.0
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
    cuts = statistics.quantiles(waited, n=100) if len(waited) > 1 else None
    return {
        "items": finished,
        "seconds": took,
        "rate": finished / took,
        "all": finished == items,
        "wait_p50_ms": cuts[49] if cuts else None,
        "wait_p99_ms": cuts[98] if cuts else None,
        "gap_p50_ms": gaps[0],
        "gap_p99_ms": gaps[1],
        "peak_rss": sum(cost["peak_rss"] for cost in costs),
        "cpu_per_1000": sum(cost["cpu"] for cost in costs) / max(finished, 1) * 1000,
        "server_cpu_per_1000": served / max(finished, 1) * 1000,
    }


def prepare(contender: Contender, url: str, items: int) -> None:
    """Its tables and its jobs, made in a process of their own, so that nothing of it is left in this one."""
    code = (
        f"import bench.peers.{contender.module} as it; it.setup({url!r}); it.enqueue({url!r}, {items}); "
        "import os; os._exit(0)"
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
    query, until = contender.load().FINISHED, begun + int(limit * 1e9)
    while (count := sum(view[0] for view in views)) < items and time.monotonic_ns() < until:
        seen(count)
        time.sleep(PATIENCE)
    seen(items)
    with _Counter(url, query) as counter:
        while (finished := counter.count()) < items and time.monotonic_ns() < until:
            time.sleep(PATIENCE)
    return finished


class _Counter:
    """One connection that counts."""

    def __init__(self, url: str, query: str) -> None:
        self._query = query
        self._conn: Any = (
            sqlite3.connect(url.removeprefix("sqlite:///"), timeout=30)
            if url.startswith("sqlite")
            else psycopg.connect(url, autocommit=True)
        )

    def count(self) -> int:
        return int(self._conn.execute(self._query).fetchone()[0])

    def __enter__(self) -> _Counter:
        return self

    def __exit__(self, *_: object) -> None:
        self._conn.close()


def _gaps(began: list[list[int]]) -> tuple[float, float]:
    """Milliseconds from the start of one handler to that of the next, over all processes: p50 and p99."""
    moments = sorted(moment for one in began for moment in one if moment)
    gaps = [(late - early) / 1e6 for early, late in pairwise(moments)]
    if len(gaps) < 2:
        return 0.0, 0.0
    cuts = statistics.quantiles(gaps, n=100)
    return cuts[49], cuts[98]
