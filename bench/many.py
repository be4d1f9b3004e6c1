"""Every page of the dashboard and of all applications, over a demo whose rows were copied until there are a million.

`interlock up` runs until its applications have something to show. Then each row that belongs to an instance, a posting
or the like is copied with other ids and keys, by statements of the database itself, and pages are found by following
links.
"""

from __future__ import annotations

import re
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from html import unescape
from pathlib import Path
from typing import Any

import httpx2
import sqlalchemy as sa
from rich.console import Console
from rich.table import Table
from starlette.testclient import TestClient
from tests.support.crawling import FILES, SAME, kind_of
from tests.support.servers import Postgres, free_port

from interlock.config import Settings
from interlock.dashboard.app import dashboard
from interlock.dashboard.site import forget_frames
from interlock.engine import Engine
from interlock.http.app import create_app
from interlock.http.service import Service
from interlock.machine.registry import attribute, installed
from interlock.store import service_tables  # noqa: F401 - so that the metadata has every table
from interlock.store.columns import Id, metadata

DEMO = 60.0
"""Seconds for which the demo runs once it answers."""
ROUNDS = 3
GOAL = 200.0
ONCE = frozenset(
    {
        *("alert", "alert_rule", "checkpoint", "login_session", "login_link", "membership", "person", "purge"),
        *("sandbox_item", "sandbox_pool", "schedule", "token", "worker", "halt", "delivery", "claim_batch"),
    }
)
"""Tables of which a large installation has no more rows than the demo."""
LETTERS = re.compile(r'<a [^>]*href="([^"]*)"')


def measure(folder: Path, instances: int) -> dict[str, Any]:
    """Milliseconds for each page on both databases, the median of a few."""
    found: dict[str, Any] = {"goal_ms": GOAL}
    found["SQLite"] = _on(f"sqlite:///{folder}/many.db", folder / "sqlite", instances)
    with Postgres(folder / "pg-many", options="-c max_wal_size=8GB -c shared_buffers=512MB") as server:
        found["PostgreSQL"] = _on(server.url(), folder / "postgresql", instances)
    return found


def _on(url: str, folder: Path, instances: int) -> dict[str, Any]:
    folder.mkdir(parents=True)
    _demo(url, folder)
    return measured(url, instances)


def measured(url: str, instances: int) -> dict[str, Any]:
    """Copy the rows of this demo, and time its pages."""
    registry = installed(["interlock.apps.sample:parcel"])
    with Engine(url, registry) as engine:
        own = [attribute(one.tables, "a MetaData", "metadata") for one in registry.applications.values() if one.tables]
        copies = multiply(engine, [metadata, *own], instances)
        rows = engine.read(lambda conn: {name: _count(conn, name) for name in ("instance", "history", "review")})
        return {"rows": rows, "copies": copies, "pages": visit(engine)}


def _demo(url: str, folder: Path) -> None:
    port = free_port()
    command = [sys.executable, "-m", "interlock", "up", "--port", str(port), "--data", str(folder), "--database", url]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, cwd=folder) as service:
        try:
            deadline = time.monotonic() + 120
            while not _answers(port):
                if time.monotonic() > deadline:
                    raise SystemExit("the demo did not start within 120 s")
                time.sleep(0.5)
            time.sleep(DEMO)
        finally:
            service.terminate()
            service.wait(60)


def _answers(port: int) -> bool:
    try:
        return httpx2.get(f"http://127.0.0.1:{port}/healthz", timeout=2).is_success
    except httpx2.HTTPError:
        return False


# -- copies


def _count(conn: sa.Connection, name: str) -> int:
    return int(conn.execute(sa.select(sa.func.count()).select_from(sa.table(name))).scalar_one())


def multiply(engine: Engine, schemas: list[sa.MetaData], instances: int) -> int:
    """Copy the rows of all tables that have ids, so often that there are so many instances."""
    copies = max(1, instances // engine.read(lambda conn: _count(conn, "instance")) - 1)
    tables = {one.name: one for schema in schemas for one in schema.sorted_tables}
    for name, table in tables.items():
        if name not in ONCE and any(isinstance(c.type, Id) for c in table.c):
            _execute(engine, lambda dialect, table=table: _copying(dialect, table, copies))
    for name in ("state_count", "rollup"):
        _execute(engine, lambda dialect, name=name: f"UPDATE {name} SET n = n * {copies + 1}")
    _execute(engine, lambda dialect: "ANALYZE")
    return copies


def _execute(engine: Engine, statement: Callable[[str], str]) -> None:
    """In a transaction of its own: the log of changes must not hold them all."""
    engine.store.write(lambda conn: conn.exec_driver_sql(statement(conn.dialect.name)))


def _copying(dialect: str, table: sa.Table, copies: int) -> str:
    """The statement that copies every row of the table."""
    named = {column.name for column in _named(table)}
    columns = [c for c in table.c if not (c is table.autoincrement_column and isinstance(c.type, sa.Integer))]
    values = [
        _other_id(dialect, c.name)
        if isinstance(c.type, Id)
        else f"{c.name} || '~' || k.n"
        if c.name in named
        else f'"{c.name}"'
        for c in columns
    ]
    into = ", ".join(f'"{c.name}"' for c in columns)
    if dialect == "postgresql":
        numbers = f"generate_series(1, {copies}) AS k(n)"
    else:
        numbers = (
            f"(WITH RECURSIVE up(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM up WHERE n < {copies}) SELECT n FROM up) k"
        )
    # The rows as they were: a statement must not see what it inserts.
    rows = f'(SELECT * FROM "{table.name}") AS r'
    return f'INSERT INTO "{table.name}" ({into}) SELECT {", ".join(values)} FROM {rows} CROSS JOIN {numbers}'


def _named(table: sa.Table) -> list[sa.Column[Any]]:
    """Texts that must be unique by themselves: one of each unique set of columns that has no id."""
    sets = [
        list(one.columns) for one in table.constraints if isinstance(one, sa.UniqueConstraint | sa.PrimaryKeyConstraint)
    ]
    sets += [list(one.columns) for one in table.indexes if one.unique]
    found = []
    for columns in sets:
        texts = [c for c in columns if isinstance(c.type, sa.Text)]
        if texts and not any(isinstance(c.type, Id) for c in columns):
            found.append(texts[-1])
    return found


def _other_id(dialect: str, name: str) -> str:
    """The same time and end, with the number of the copy between them."""
    if dialect == "postgresql":
        text = f"replace(CAST(\"{name}\" AS text), '-', '')"
        return f"CAST(substr({text}, 1, 16) || '8' || lpad(to_hex(k.n), 7, '0') || substr({text}, 25, 8) AS uuid)"
    return f'substr("{name}", 1, 16) || printf(\'8%07x\', k.n) || substr("{name}", 25, 8)'


# -- pages


def visit(engine: Engine) -> dict[str, float]:
    """Milliseconds until each page that links lead to is there; what is around a page is not remembered."""
    service = Service(engine, Settings())
    found: dict[str, float] = {}
    with TestClient(
        create_app(service, routers=engine.registry.routers, pages=dashboard()), base_url="http://localhost"
    ) as client:
        client.get(f"/login?link={service.people.login_link(service.people.find('owner').id)}")
        level, kinds = ["/ui"], {"/ui"}
        while level:
            following = []
            for path in level:
                took = []
                for _ in range(ROUNDS):
                    forget_frames()
                    begun = time.perf_counter()
                    answer = client.get(path)
                    took.append((time.perf_counter() - begun) * 1000)
                if not answer.is_success:
                    raise SystemExit(f"{path} answered {answer.status_code}")
                found[path] = statistics.median(took)
                for link in map(unescape, LETTERS.findall(answer.text)):
                    kind = kind_of(link, path)
                    if (
                        link.startswith("/ui")
                        and kind not in kinds
                        and not FILES.search(link)
                        and not re.search(SAME, link)
                    ):
                        kinds.add(kind)
                        following.append(link.partition("#")[0])
            level = following
    service.close()
    return found


def report(figures: dict[str, Any]) -> None:
    for database in ("SQLite", "PostgreSQL"):
        one = figures[database]
        table = Table("page", "ms", title=f"{database}: {one['rows']['instance']:,} instances")
        for path, took in sorted(one["pages"].items(), key=lambda page: -page[1])[:25]:
            table.add_row(path, f"{took:.0f}")
        Console().print(table)
