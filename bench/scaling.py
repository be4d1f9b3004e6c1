"""Many worker processes on one PostgreSQL: what an item costs it, and the arithmetic of where one server ends."""

from __future__ import annotations

import os
import statistics
import time
from pathlib import Path
from typing import Any

import psycopg
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from bench import plots, processes
from bench.peers.places import Places
from bench.peers.race import Contender

PROCESSES = (1, 2, 3, 4, 6, 8)
FLUSHES, PAGE = 200, 8192
RESERVED = 3
"""Connections that PostgreSQL keeps for superusers."""
CORES = (8, 16, 32)
DISKS = (("a disk that takes 200 MB/s", 200e6), ("a disk that takes 1 GB/s", 1e9), ("a replica over 1 Gbit/s", 117e6))
Figures = dict[str, Any]

COUNTERS = """
SELECT pg_current_wal_insert_lsn() - '0/0' AS wal,
       pg_snapshot_xmax(pg_current_snapshot())::text::bigint AS transactions,
       (SELECT count(*) FROM pg_stat_activity WHERE datname = 'contest') AS connections
"""


def measure(folder: Path, items: int, runs: int, *, limit: float) -> Figures:
    """The same items with 1 to 8 processes, in turns; a database of its own for each run."""
    field = [Contender(f"{n} processes", "interlock", "PostgreSQL", n) for n in PROCESSES]
    found: dict[int, list[Figures]] = {n: [] for n in PROCESSES}
    with Places(folder) as places, Progress(console=Console(stderr=True), transient=True) as progress:
        whole = progress.add_task("measuring many processes", total=runs * len(field))
        with psycopg.connect(places.server.url(), autocommit=True) as conn:
            for _ in range(runs):
                for contender in field:
                    found[contender.workers].append(_once(places, conn, contender, items, limit))
                    progress.advance(whole)
            row = conn.execute("SHOW max_connections").fetchone()
        assert row is not None
        flush = _flush(places.server.data)
    return {
        "items": items,
        "runs": runs,
        "cores": os.cpu_count(),
        "flush_ms": flush * 1e3,
        "max_connections": int(row[0]),
        "processes": [{"processes": n, **_told(made)} for n, made in found.items()],
    }


def _once(places: Places, conn: psycopg.Connection[Any], contender: Contender, items: int, limit: float) -> Figures:
    connections: list[int] = []

    def gauge() -> dict[str, float]:
        row = conn.execute(COUNTERS).fetchone()
        assert row is not None
        connections.append(int(row[2]))
        cpu = processes.server_cpu(places.server)
        return {"cpu": cpu, "wal": float(row[0]), "transactions": float(row[1])}

    made = places.run(contender, items, limit=limit, seen=lambda count, pids: None, waits=False, gauge=gauge)
    assert made["all"], f"{contender.title}: {made['items']} of {items} finished"
    return {
        "rate": made["rate"],
        "cpu_us": made["cpu_per_1000"] * 1000,
        "server_cpu_us": made["server_cpu_per_1000"] * 1000,
        "wal_bytes": made["spent"]["wal"] / items,
        "transactions": made["spent"]["transactions"] / items,
        "connections": max(connections),
    }


def _told(runs: list[Figures]) -> Figures:
    return {name: statistics.median(run[name] for run in runs) for name in runs[0]}


def _flush(folder: Path) -> float:
    """Seconds that a page of the log takes to the disk on which the server writes."""
    path = folder / "flush"
    took = []
    file = os.open(path, os.O_CREAT | os.O_WRONLY)
    try:
        for number in range(FLUSHES):
            begun = time.perf_counter()
            os.pwrite(file, bytes(PAGE), number % 10 * PAGE)  # within the file, as in a segment of the log
            os.fdatasync(file)
            took.append(time.perf_counter() - begun)
    finally:
        os.close(file)
        path.unlink()
    return statistics.median(took)


# -- telling

HEAD = (
    "processes",
    "items/s",
    "of one",
    "CPU µs",
    "server CPU µs",
    "of the cores",
    "WAL, bytes an item",
    "transactions for 1,000 items",
    "connections",
)


def _rows(figures: Figures) -> list[list[str]]:
    first = figures["processes"][0]["rate"]
    return [
        [
            str(one["processes"]),
            f"{one['rate']:,.0f}",
            f"{one['rate'] / first:.2f}",
            f"{one['cpu_us']:.0f}",
            f"{one['server_cpu_us']:.0f}",
            f"{one['rate'] * (one['cpu_us'] + one['server_cpu_us']) / 1e6 / figures['cores']:.0%}",
            f"{one['wal_bytes']:,.0f}",
            f"{one['transactions'] * 1000:.1f}",
            f"{one['connections']:.0f}",
        ]
        for one in figures["processes"]
    ]


def _beneath(figures: Figures) -> str:
    return (
        f"{figures['items']:,} items a run, median of {figures['runs']} runs; workers and server share "
        f"{figures['cores']} cores. Transactions are those that write. Connections are open at the end of a run. A "
        f"page of 8 kB takes {figures['flush_ms']:.2f} ms to the disk."
    )


def report(figures: Figures) -> None:
    table = Table(*HEAD, title="many processes on one PostgreSQL")
    for row in _rows(figures):
        table.add_row(*row)
    console = Console()
    console.width = max(console.width, 120)
    console.print(table)
    console.print(_beneath(figures), highlight=False)
    for what, where in ends(figures):
        console.print(f"{what}: {where}", highlight=False)


def best(figures: Figures) -> Figures:
    """The row that the arithmetic begins with."""
    fastest: Figures = max(figures["processes"], key=lambda one: float(one["rate"]))
    return fastest


def _round(value: float) -> str:
    """Two digits are all that arithmetic like this is good for."""
    return f"{float(f'{value:.2g}'):,.0f}"


def ends(figures: Figures) -> list[tuple[str, str]]:
    """Where one server ends, by what an item costs it: each limit by itself."""
    one = best(figures)
    rows = [
        (f"{cores} cores for the server, workers elsewhere", f"{_round(cores * 1e6 / one['server_cpu_us'])} items/s")
        for cores in CORES
    ]
    rows += [(f"WAL: {name}", f"{_round(take / one['wal_bytes'])} items/s") for name, take in DISKS]
    alone = 1e3 / figures["flush_ms"] / one["transactions"]
    rows.append(("a flush of the log for each transaction, none shared", f"{_round(alone)} items/s"))
    each = _each(one)
    rows.append(
        (
            f"{figures['max_connections']} connections (the default), {each:.0f} a process",
            f"{(figures['max_connections'] - RESERVED) / each:.0f} processes",
        )
    )
    return rows


def _each(one: Figures) -> float:
    return max(float(one["connections"]) / float(one["processes"]), 1.0)


def markdown(figures: Figures) -> str:
    one = best(figures)
    cores = CORES[1]
    rate = cores * 1e6 / one["server_cpu_us"]
    needed = rate * one["cpu_us"] / 1e6
    log, name, take = rate * one["wal_bytes"], *DISKS[1]
    first = f"the log ends it first, for that is more than {name}" if log > take else f"{name} keeps up with that"
    lines = [
        *plots.markdown(HEAD, _rows(figures)),
        "",
        _beneath(figures),
        "",
        "The rest is arithmetic, not measurement. It takes what an item costs with "
        f"{one['processes']} process{'es' if one['processes'] > 1 else ''} and assumes that the cost stays the same on "
        "a larger machine. Contention for the head of the ready index and for the log will end it earlier. Checkpoints "
        "add whole pages to the log, which these short runs hardly have.",
        "",
        *plots.markdown(("one PostgreSQL ends at", "by arithmetic"), ends(figures)),
        "",
        f"A server with {cores} cores would finish {_round(rate)} items/s. Their workers need {_round(needed)} cores "
        f"more, that is about {_round(needed)} processes with {_round(needed * _each(one))} connections; they write "
        f"{_round(log / 1e6)} MB/s of log in {_round(rate * one['transactions'])} transactions/s: {first}.",
    ]
    return "\n".join(lines)
