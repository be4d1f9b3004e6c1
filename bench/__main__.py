"""`make bench`: a table for people, JSON for tools."""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import sqlite3
import statistics
import tempfile
from pathlib import Path
from typing import Any

import psycopg
from rich.console import Console
from rich.progress import Progress
from rich.table import Table
from tests.servers import Postgres, Redis

from bench import claims, pages, raw, reading, service
from bench.items import interlock


def main() -> None:
    options = argparse.ArgumentParser(prog="make bench", description=__doc__)
    options.add_argument("--items", type=int, default=20_000, help="work items a run")
    options.add_argument("--runs", type=int, default=3, help="runs of each; the median counts")
    options.add_argument("--batch", type=int, default=200, help="claims a batch, and hands of the worker")
    options.add_argument("--only", choices=("items", "service", "claims", "pages", "reading"), help="only this part")
    options.add_argument("--instances", type=int, default=1_000_000, help="instances behind the pages")
    options.add_argument("--seconds", type=float, default=5.0, help="how long each round of requests lasts")
    options.add_argument("--pdfs", type=Path, help="a folder with contracts as PDF files, to read them")
    options.add_argument("--json", type=Path, help="write the figures to this file")
    given = options.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="il-bench-"))
    folder.chmod(0o755)
    figures: dict[str, object] = {}
    try:
        if given.only in {None, "items"}:
            figures |= measure(folder, given.items, given.runs, given.batch)
            report(figures)
        if given.only in {None, "service"}:
            figures["service"] = measure_service(folder, given.seconds, given.runs)
            report_service(figures["service"])
        if given.only in {None, "claims"}:
            figures["claims"] = measure_claims(folder, given.seconds, given.runs)
            report_claims(figures["claims"])
        if given.only in {None, "pages"}:
            figures["pages"] = measure_pages(folder, given.instances)
            report_pages(figures["pages"], given.instances)
        if given.only == "reading" or (given.only is None and given.pdfs):
            figures["reading"] = reading.measure(given.pdfs or Path("../shared/data/cuad"), given.runs)
            report_reading(figures["reading"])
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if given.json:
        given.json.write_text(json.dumps(figures, indent=2) + "\n")


def measure(folder: Path, items: int, runs: int, batch: int) -> dict[str, object]:
    rates: dict[str, list[float]] = {}
    with Postgres(folder / "pg") as server, Progress(console=Console(stderr=True), transient=True) as progress:
        version = psycopg.connect(server.url()).info.server_version
        bar = progress.add_task("measuring", total=runs * 4)
        for run in range(runs):
            # Side by side within each round, so that a busy moment of the machine falls on all of them.
            rates.setdefault("raw SQL on SQLite", []).append(raw.sqlite(folder / f"raw{run}.db", items, batch))
            progress.advance(bar)
            made = interlock(f"sqlite:///{folder}/il{run}.db", items, batch)
            rates.setdefault("Interlock on SQLite", []).append(made["rate"])
            progress.advance(bar)
            with psycopg.connect(server.url(), autocommit=True) as conn:
                conn.execute(f"CREATE DATABASE raw{run}".encode())
                conn.execute(f"CREATE DATABASE il{run}".encode())
            rates.setdefault("raw SQL on PostgreSQL", []).append(raw.postgres(server.url(f"raw{run}"), items, batch))
            progress.advance(bar)
            made = interlock(server.url(f"il{run}"), items, batch)
            rates.setdefault("Interlock on PostgreSQL", []).append(made["rate"])
            progress.advance(bar)
    return {
        "items": items,
        "runs": runs,
        "batch": batch,
        "durability": "full: synchronous=FULL, synchronous_commit=on, fsync=on",
        "python": platform.python_version(),
        "sqlite": sqlite3.sqlite_version,
        "postgresql": version,
        "cores": os.cpu_count(),
        "rates": {name: {"median": statistics.median(r), "runs": r} for name, r in rates.items()},
    }


def measure_service(folder: Path, seconds: float, rounds: int) -> dict[str, Any]:
    """Events over HTTP against a bare endpoint, and from an event to the start of its handler; on both databases."""
    found: dict[str, Any] = {}
    with Postgres(folder / "pg-service") as server, Progress(console=Console(stderr=True), transient=True) as progress:
        bar = progress.add_task("measuring the service", total=6)
        with psycopg.connect(server.url(), autocommit=True) as conn:
            for name in ("bare", "fire", "together", "apart"):
                conn.execute(f"CREATE DATABASE {name}".encode())
        urls = {
            "SQLite": (f"sqlite:///{folder}/bare.db", f"sqlite:///{folder}/fire.db"),
            "PostgreSQL": (server.url("bare"), server.url("fire")),
        }
        for name, pair in urls.items():
            found[name] = {"fire": service.fire(pair, seconds, rounds)}
            progress.advance(bar)
        for name in urls:
            for how in ("together", "apart"):
                url = server.url(how) if name == "PostgreSQL" else f"sqlite:///{folder}/{how}.db"
                found[name][how] = service.latency(url, apart=how == "apart", count=300)
                progress.advance(bar)
    return found


def report_service(found: Any) -> None:
    table = Table(
        "", "bare FastAPI, one row", "an event fired", "of bare", "p50 / p99 ms",
        title=f"requests per second, {service.CLIENTS} clients, one server process",
    )  # fmt: skip
    for name, one in found.items():
        bare, ours = one["fire"]["bare"], one["fire"]["interlock"]
        table.add_row(
            name, f"{bare['rate']:,.0f}", f"{ours['rate']:,.0f}", f"{one['fire']['ratio']:.2f}",
            f"{ours['p50_ms']:.1f} / {ours['p99_ms']:.1f}",
        )  # fmt: skip
    second = Table(
        "",
        "in one process",
        "server and worker apart",
        title="from an event to the start of its handler, ms: p50 / p99 / worst",
    )
    for name, one in found.items():
        shown = [
            f"{h['p50_ms']:.1f} / {h['p99_ms']:.1f} / {h['worst_ms']:.1f}" for h in (one["together"], one["apart"])
        ]
        second.add_row(name, *shown)
    Console().print(table, second)


def measure_claims(folder: Path, seconds: float, rounds: int) -> dict[str, Any]:
    """Claims through the agents' endpoint against a bare endpoint that does `SET NX`; on both databases."""
    found: dict[str, Any] = {}
    with (
        Postgres(folder / "pg-claims") as server,
        Redis(folder / "redis") as redis,
        Progress(console=Console(stderr=True), transient=True) as progress,
    ):
        bar = progress.add_task("measuring claims", total=4)
        with psycopg.connect(server.url(), autocommit=True) as conn:
            for name in ("alone", "mirrored"):
                conn.execute(f"CREATE DATABASE {name}".encode())
        for kind, name in (("alone", "alone"), ("with redis", "mirrored")):
            for database, url in (("SQLite", f"sqlite:///{folder}/{name}.db"), ("PostgreSQL", server.url(name))):
                found[f"{database}, {kind}"] = claims.claims(url, redis.url, kind, seconds, rounds)
                progress.advance(bar)
    return found


def report_claims(found: Any) -> None:
    table = Table(
        "", "bare FastAPI + Redis SET NX", "a claim", "of bare", "p50 / p99 ms",
        title=f"claims per second, {service.CLIENTS} clients, one server process",
    )  # fmt: skip
    for name, one in found.items():
        ours = one["interlock"]
        table.add_row(
            name, f"{one['bare']['rate']:,.0f}", f"{ours['rate']:,.0f}", f"{one['ratio']:.2f}",
            f"{ours['p50_ms']:.1f} / {ours['p99_ms']:.1f}",
        )  # fmt: skip
    Console().print(table)


def measure_pages(folder: Path, instances: int) -> dict[str, dict[str, float]]:
    """Milliseconds until the server has answered, for each page, on both databases."""
    found = {"SQLite": pages.measure(f"sqlite:///{folder}/pages.db", instances)}
    with Postgres(folder / "pg-pages") as server:
        found["PostgreSQL"] = pages.measure(server.url(), instances)
    return found


def report_pages(found: Any, instances: int) -> None:
    table = Table("page", "SQLite, ms", "PostgreSQL, ms", title=f"pages with {instances:,} instances")
    for path, took in found["SQLite"].items():
        table.add_row(path, f"{took:.0f}", f"{found['PostgreSQL'][path]:.0f}")
    Console().print(table)


def report_reading(found: Any) -> None:
    table = Table("", "pages/s (median)", "of PDFium", title=f"{found['pages']} pages of {found['files']} contracts")
    for name, one in found["rates"].items():
        table.add_row(name, f"{one['median']:,.0f}", f"{one['ratio']:.2f}")
    Console().print(table)


def report(figures: dict[str, object]) -> None:
    rates = figures["rates"]
    assert isinstance(rates, dict)
    table = Table("", "items/s (median)", "of raw SQL", title="finished work items per second, one worker process")
    for name, found in rates.items():
        limit = rates[f"raw SQL on {name.rpartition(' ')[2]}"]["median"]
        table.add_row(name, f"{found['median']:,.0f}", f"{found['median'] / limit:.2f}")
    console = Console()
    console.print(table)
    console.print(
        f"{figures['items']:,} items, {figures['runs']} runs, batch {figures['batch']}; {figures['durability']}; "
        f"Python {figures['python']}, SQLite {figures['sqlite']}, PostgreSQL {figures['postgresql']}, "
        f"{figures['cores']} cores",
        highlight=False,
    )


if __name__ == "__main__":
    main()
