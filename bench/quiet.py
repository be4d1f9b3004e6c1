"""What does not show in a rate: memory over many items, a service that has nothing to do, and a snapshot held open."""

from __future__ import annotations

import os
import socket
import sqlite3
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import psycopg
from psycopg import sql
from rich.console import Console
from rich.progress import Progress
from rich.table import Table
from tests.support.servers import Postgres, free_port

from bench import plots, processes
from bench.peers import race
from bench.peers.race import Contender

SAMPLES = 20
TURNS = 2
SETTLING = 10.0
Figures = dict[str, Any]
Advance = Callable[[float], None]


def measure(folder: Path, long: int, items: int, idle: float) -> Figures:
    """On both databases: a worker over `long` items, a service idle for so many seconds, `items` beside a snapshot."""
    found: Figures = {"long": long, "items": items, "idle_seconds": idle}
    with Postgres(folder / "pg-quiet") as server, Progress(console=Console(stderr=True), transient=True) as progress:
        for database in ("SQLite", "PostgreSQL"):
            at = _Place(database, folder, server if database == "PostgreSQL" else None)
            found[database] = {}
            for name, total, part in (
                ("memory", float(long), lambda advance, at=at: memory(at, long, advance)),
                ("idle", idle, lambda advance, at=at: resting(at, idle, advance)),
                ("snapshot", 2.0 * TURNS * items, lambda advance, at=at: beside_a_snapshot(at, items, advance)),
            ):
                bar = progress.add_task(f"{database}: {name}", total=total)
                found[database][name] = part(lambda done, bar=bar: progress.update(bar, completed=done))
                progress.remove_task(bar)
    return found


class _Place:
    """Where databases are made."""

    def __init__(self, database: str, folder: Path, server: Postgres | None) -> None:
        self.folder, self.server = folder, server
        self.contender = Contender(f"Interlock on {database}", "interlock", database, 1)

    def url(self, name: str) -> str:
        if self.server is None:
            return f"sqlite:///{self.folder}/{name}.db"
        with psycopg.connect(self.server.url(), autocommit=True) as conn:
            conn.execute(f"CREATE DATABASE {name}".encode())
        return self.server.url(name)


# -- memory


def memory(place: _Place, items: int, advance: Advance) -> Figures:
    """A worker's own memory as it goes, and how much it gains for 1,000 items, once it has warmed up."""
    points: list[tuple[int, int]] = []

    def seen(count: int, pids: list[int]) -> None:
        advance(count)
        if count >= (len(points) + 1) * items // SAMPLES:
            points.append((count, processes.memory(pids[0], "RssAnon")))

    made = race.run(place.contender, place.url("memory"), place.folder, items, limit=1200, seen=seen, waits=False)
    assert made["all"], f"only {made['items']} of {items} were finished"
    later = points[len(points) // 2 :]  # SQLite's cache of pages is full by then: 64 MB, after 85,000 items
    return {
        "points": points,
        "bytes_per_1000": _slope(later) * 1000,
        "first": later[0][1],
        "last": later[-1][1],
        "peak_rss": made["peak_rss"],
        "rate": made["rate"],
    }


def _slope(points: list[tuple[int, int]]) -> float:
    if len(points) < 2:
        return 0.0
    return statistics.linear_regression([x for x, _ in points], [y for _, y in points]).slope


# -- nothing to do


def resting(place: _Place, seconds: float, advance: Advance) -> Figures:
    """`interlock up` without any work: processor time a minute, and what it writes."""
    port, url = free_port(), place.url("idle")
    home = place.folder / f"home-{place.contender.database}"
    env = {**os.environ, "INTERLOCK_DATABASE": url, "INTERLOCK_LOG__LEVEL": "error"}
    command = [sys.executable, "-m", "interlock", "up", "--no-demo", "--port", str(port), "--data", str(home)]
    with subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL, cwd=race.ROOT) as service:
        try:
            _until_it_listens(port)
            _alone(place)
            time.sleep(min(SETTLING, seconds))
            before, begun = _state(place, service.pid, url), time.monotonic()
            while (passed := time.monotonic() - begun) < seconds:
                advance(passed)
                time.sleep(0.2)
            after = _state(place, service.pid, url)
        finally:
            service.terminate()
            service.wait(30)
    minute = 60 / seconds
    return {
        "cpu_seconds_a_minute": (after["cpu"] - before["cpu"]) * minute,
        "server_cpu_seconds_a_minute": (after["server"] - before["server"]) * minute,
        "written_bytes_a_minute": (after["written"] - before["written"]) * minute,
        "size_bytes_a_minute": (after["size"] - before["size"]) * minute,
        "rss": after["rss"],
    }


def _alone(place: _Place) -> None:
    """Without the databases of the measurements before: the server goes on cleaning them up, and that is not ours."""
    if place.server is None:
        return
    with psycopg.connect(place.server.url(), autocommit=True) as conn:
        others = "SELECT datname FROM pg_database WHERE NOT datistemplate AND datname NOT IN ('postgres', 'idle')"
        for (name,) in conn.execute(others).fetchall():
            conn.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))
        conn.execute("CHECKPOINT")
    with psycopg.connect(place.server.url("idle"), autocommit=True) as conn:
        conn.execute("VACUUM (ANALYZE)")  # else autovacuum does it after a minute: once, for all that is new


def _until_it_listens(port: int) -> None:
    deadline = time.monotonic() + 60
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            assert time.monotonic() < deadline, "the service did not start"
            time.sleep(0.1)


def _state(place: _Place, pid: int, url: str) -> dict[str, float]:
    """What was used so far: `written` is what goes to the log of changes, `size` what the files take up."""
    found: dict[str, float] = {"cpu": processes.cpu(pid, with_children=True), "rss": processes.memory(pid)}
    if place.server is None:
        # Without its log, which is emptied again and again.
        size = float((place.folder / "idle.db").stat().st_size)
        return {**found, "server": 0.0, "written": _written(pid), "size": size}
    with psycopg.connect(url, autocommit=True) as conn:
        row = conn.execute("SELECT pg_current_wal_lsn() - '0/0', pg_database_size(current_database())").fetchone()
    assert row is not None
    return {**found, "server": processes.server_cpu(place.server), "written": float(row[0]), "size": float(row[1])}


def _written(pid: int) -> float:
    """Bytes that the process has sent to the disk."""
    lines = Path(f"/proc/{pid}/io").read_text().splitlines()
    return float(next(line.split()[1] for line in lines if line.startswith("write_bytes")))


# -- a snapshot held open


def beside_a_snapshot(place: _Place, items: int, advance: Advance) -> Figures:
    """The same run with and without a transaction that has read and does not end, in turns."""
    rates: dict[str, list[float]] = {"alone": [], "beside": []}
    grown, done = 0, 0
    for turn in range(TURNS):
        for name, found in rates.items():
            url = place.url(f"{name}{turn}")
            race.prepare(place.contender, url, items)

            def seen(count: int, _: list[int], base: int = done) -> None:
                advance(base + count)

            with _snapshot(url) if name == "beside" else nullcontext():
                made = race.run(
                    place.contender, url, place.folder, items, limit=300, seen=seen, prepared=True, waits=False
                )
                grown = max(grown, _kept(url) if name == "beside" else 0)
            found.append(made["rate"])
            done += items
    alone, beside = (statistics.median(found) for found in rates.values())
    return {"rate_alone": alone, "rate_beside": beside, "ratio": beside / alone, "kept": grown}


@contextmanager
def _snapshot(url: str) -> Iterator[None]:
    query = "SELECT count(*) FROM instance"
    if url.startswith("sqlite"):
        file = sqlite3.connect(url.removeprefix("sqlite:///"), isolation_level=None)
        file.execute("BEGIN")
        file.execute(query).fetchone()
        yield
        file.close()
        return
    with psycopg.connect(url, autocommit=True) as conn:
        conn.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
        conn.execute(query)
        yield


def _kept(url: str) -> int:
    """What cannot be cleaned up while the snapshot is open: bytes of the log on SQLite, dead rows on PostgreSQL."""
    if url.startswith("sqlite"):
        return Path(url.removeprefix("sqlite:///") + "-wal").stat().st_size
    with psycopg.connect(url, autocommit=True) as conn:
        row = conn.execute("SELECT n_dead_tup FROM pg_stat_user_tables WHERE relname = 'instance'").fetchone()
    return int(row[0]) if row else 0


# -- telling

BOTH = ("SQLite", "PostgreSQL")
MB = 2**20


def _rows(figures: Figures) -> list[list[str]]:
    def row(name: str, tell: Callable[[Figures], str]) -> list[str]:
        return [name, *(tell(figures[database]) for database in BOTH)]

    def gained(one: Figures) -> str:
        return f"{one['memory']['first'] / MB:.1f} → {one['memory']['last'] / MB:.1f} MB"

    return [
        row(f"a worker's own memory, in the second half of {figures['long']:,} items", gained),
        row("what it gains for 1,000 items", lambda one: f"{one['memory']['bytes_per_1000'] / 1024:+.1f} kB"),
        row(
            "an idle service: CPU seconds a minute (and the server's)",
            lambda one: f"{one['idle']['cpu_seconds_a_minute']:.2f} ({one['idle']['server_cpu_seconds_a_minute']:.2f})",
        ),
        row(
            "an idle service: written a minute",
            lambda one: f"{one['idle']['written_bytes_a_minute'] / 1024:,.0f} kB",
        ),
        row(
            "an idle service: its database grows, a minute",
            lambda one: f"{one['idle']['size_bytes_a_minute'] / 1024:,.0f} kB",
        ),
        row(
            f"{figures['items']:,} items beside a snapshot held open, of the rate without",
            lambda one: f"{one['snapshot']['ratio']:.2f}",
        ),
        [
            "what the snapshot kept from being cleaned up",
            f"{figures['SQLite']['snapshot']['kept'] / MB:,.0f} MB of WAL",
            f"{figures['PostgreSQL']['snapshot']['kept']:,} dead rows",
        ],
    ]


def report(figures: Figures) -> None:
    table = Table("", *BOTH, title="at rest and over time")
    for row in _rows(figures):
        table.add_row(*row)
    Console().print(table)


def markdown(figures: Figures) -> str:
    return "\n".join(
        [*plots.markdown(("", *BOTH), _rows(figures)), "", "![A worker's memory](../images/bench-memory.svg)"]
    )


def plot(figures: Figures, folder: Path) -> None:
    """Memory by items done: samples at even steps, so those of one database serve as the axis for both."""
    series = {
        database: [round(bytes_ / MB, 1) for _, bytes_ in figures[database]["memory"]["points"]] for database in BOTH
    }
    fewest = min(len(values) for values in series.values())
    steps = [figures["long"] * (n + 1) / SAMPLES for n in range(fewest)]
    cut = {name: values[:fewest] for name, values in series.items()}
    (folder / "bench-memory.svg").write_text(
        plots.lines(
            "A worker's own memory by items done", steps, cut, unit="MB", goal=None, logarithmic=False, figures=False
        )
    )
