"""Health checks of a database: findings, each with what to do about it. They write nothing."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path

import sqlalchemy as sa

from interlock.machine import Application
from interlock.store import migrate
from interlock.store.clock import SECOND
from interlock.store.database import Store
from interlock.store.errors import StoreBusy

MB = 1_000_000
GB = 1_000 * MB
Check = Callable[[sa.Connection], Iterator["Finding"]]


class Level(IntEnum):
    """How severe a finding is; also the exit code of the command."""

    OK = 0
    WARNING = 1
    PROBLEM = 2


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one check."""

    level: Level
    name: str
    says: str
    do: str = ""
    """What to do about it; empty if all is well."""


@dataclass(frozen=True, slots=True)
class Size:
    """The size of a table or an index, in bytes and rows, as far as the database knows."""

    name: str
    kind: str
    size: int
    rows: int | None = None
    dead: int | None = None


@dataclass(frozen=True, slots=True)
class Health:
    """All findings."""

    findings: tuple[Finding, ...]
    sizes: tuple[Size, ...]

    @property
    def level(self) -> Level:
        return max((finding.level for finding in self.findings), default=Level.OK)


def graded(name: str, value: float, warning: float, problem: float, says: str, do: str) -> Finding:
    """A finding whose level depends on a value."""
    level = Level.PROBLEM if value >= problem else Level.WARNING if value >= warning else Level.OK
    return Finding(level, name, says, do if level else "")


def size_text(size: float) -> str:
    """A number of bytes for people."""
    return f"{size / GB:,.1f} GB" if size >= GB else f"{size / MB:,.1f} MB"


def duration_text(seconds: float) -> str:
    """A length of time for people."""
    for unit, length in (("days", 86_400), ("hours", 3_600), ("minutes", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:,.0f} {unit}"
    return f"{seconds:,.1f} seconds"


def schema(store: Store, applications: Iterable[Application] = ()) -> Finding:
    found = migrate.status(store, applications)
    for one in found.branches:
        whose = "the schema" if one is found.core else f"the schema of the application {one.name}"
        if one.unknown:
            says = f"{whose} is {one.current}, newer than this code, which knows up to {one.wanted}"
            what = "interlock" if one is found.core else f"the package of {one.name}"
            return Finding(Level.PROBLEM, "schema", says, f"upgrade {what} on this machine")
        if not one.ready and (one is found.core or one.current is not None):
            says = f"{whose} is {one.current or 'missing'}, this code needs {one.wanted}"
            return Finding(Level.PROBLEM, "schema", says, "run: interlock db migrate")
    applied = "".join(f", {one.name} {one.current or 'has no tables yet'}" for one in found.applications)
    return Finding(Level.OK, "schema", f"the schema is {found.core.current}{applied}, as this code needs it")


def clock(store: Store) -> Finding:
    offset = abs(store.clock_offset()) / SECOND
    return graded(
        "clock",
        offset,
        1.0,
        30.0,
        f"this machine's clock and the database's are {offset:.2f} seconds apart",
        "let a time service set the clocks (chrony, systemd-timesyncd); the engine follows the database's meanwhile",
    )


def disk(folder: Path) -> Finding:
    """The free space of the disk with this folder."""
    found = shutil.disk_usage(folder)
    share = found.free / found.total
    level = Level.OK
    if found.free < 2 * GB or share < 0.1:
        level = Level.PROBLEM if found.free < GB / 5 or share < 0.02 else Level.WARNING
    says = f"{size_text(found.free)} of {size_text(found.total)} are free in {folder}"
    do = "make room, or let old instances go: see interlock retention run --dry-run"
    return Finding(level, "disk", says, do if level else "")


def look(store: Store, applications: Iterable[Application] = (), *, fast: bool = False) -> Health:
    """All checks of the database."""
    findings = [schema(store, applications), clock(store)]
    if store.dialect == "sqlite":
        from interlock.store import health_sqlite

        path = Path(sa.make_url(store.url).database or "")
        findings += [disk(path.resolve().parent), *health_sqlite.files(path)]
        checks, sizes = health_sqlite.checks(fast=fast), health_sqlite.sizes
    else:
        from interlock.store import health_postgres

        checks, sizes = health_postgres.CHECKS, health_postgres.sizes
    for check in checks:
        findings += patiently(store, check)
    return Health(tuple(findings), tuple(store.read(sizes)))


def patiently(store: Store, check: Check) -> list[Finding]:
    """The findings of a check. If it would have to wait for a lock, that is the finding."""

    def read(conn: sa.Connection) -> list[Finding]:
        if conn.dialect.name == "postgresql":
            conn.exec_driver_sql("SELECT set_config('lock_timeout', '1s', true)")
        return list(check(conn))

    try:
        return store.read(read)
    except StoreBusy as error:
        do = "somebody has locked a table: see the lock waits, and end the session that hangs"
        return [Finding(Level.PROBLEM, "locks", f"a table could not be looked at: {error}", do)]
