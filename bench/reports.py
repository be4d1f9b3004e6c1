"""The service, claims, pages and reading: measured on both databases, as tables and text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import psycopg
from rich.console import Console
from rich.progress import Progress
from rich.table import Table
from tests.support.servers import Postgres, Redis

from bench import claims, pages, plots, service


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


SERVICE_GOAL = 0.8
FIRED = ("", "bare FastAPI, one row", "an event fired", "of bare", "p50 / p99 ms")
STARTED = ("", "in one process", "server and worker apart")


def _fired(found: Any) -> list[list[str]]:
    rows = []
    for name, one in found.items():
        bare, ours = one["fire"]["bare"], one["fire"]["interlock"]
        took = f"{ours['p50_ms']:.1f} / {ours['p99_ms']:.1f}"
        rows.append([name, f"{bare['rate']:,.0f}", f"{ours['rate']:,.0f}", f"{one['fire']['ratio']:.2f}", took])
    return rows


def _started(found: Any) -> list[list[str]]:
    return [
        [
            name,
            *(f"{h['p50_ms']:.1f} / {h['p99_ms']:.1f} / {h['worst_ms']:.1f}" for h in (one["together"], one["apart"])),
        ]
        for name, one in found.items()
    ]


def _service_goals(found: Any) -> list[list[str]]:
    return [
        [f"{name}, of a bare endpoint: at least {SERVICE_GOAL}", f"{one['fire']['ratio']:.2f}"]
        for name, one in found.items()
    ]


def report_service(found: Any) -> None:
    table = Table(*FIRED, title=f"requests per second, {service.CLIENTS} clients, one server process")
    second = Table(*STARTED, title="from an event to the start of its handler, ms: p50 / p99 / worst")
    for one, rows in ((table, _fired(found)), (second, _started(found))):
        for row in rows:
            one.add_row(*row)
    console = Console()
    console.print(table, second)
    for what, reached in _service_goals(found):
        console.print(f"{what}: {reached}", highlight=False)


def service_markdown(found: Any) -> str:
    return "\n".join(
        [
            *plots.markdown(("requests/s", *FIRED[1:]), _fired(found)),
            "",
            "From the recorded time of an event to the start of its handler, in milliseconds (p50 / p99 / worst):",
            "",
            *plots.markdown(STARTED, _started(found)),
            "",
            *plots.markdown(("goal", "reached"), _service_goals(found)),
        ]
    )


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
        "",
        "bare FastAPI + Redis SET NX",
        "a claim",
        "of bare",
        "p50 / p99 ms",
        title=f"claims per second, {claims.CLIENTS} clients, one server process",
    )
    for name, one in found.items():
        ours = one["interlock"]
        table.add_row(
            name,
            f"{one['bare']['rate']:,.0f}",
            f"{ours['rate']:,.0f}",
            f"{one['ratio']:.2f}",
            f"{ours['p50_ms']:.1f} / {ours['p99_ms']:.1f}",
        )
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
