"""Health checks of an SQLite file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import sqlalchemy as sa

from interlock.store.health import GB, MB, Check, Finding, Level, Size, graded, size_text

MOST = 10
"""How many kinds of damage are reported at most."""


def checks(*, fast: bool) -> tuple[Check, ...]:
    return (_journal, _pages) if fast else (_journal, _pages, _whole, _references)


def files(path: Path) -> Iterator[Finding]:
    """The database file and its journal."""
    size = path.stat().st_size
    yield Finding(Level.OK, "file", f"{path} has {size_text(size)}")
    beside = path.with_name(path.name + "-wal")
    journal = beside.stat().st_size if beside.exists() else 0
    yield graded(
        "journal",
        journal,
        max(256 * MB, size / 2),
        max(2 * GB, 2 * size),
        f"the journal {beside.name} has {size_text(journal)}",
        "a reader that never ends keeps it from being emptied: look for a program that has the file open (lsof) and "
        "end it, or stop every process once",
    )


def _pragma(conn: sa.Connection, name: str) -> int:
    return int(conn.exec_driver_sql(f"PRAGMA {name}").scalar_one())


def _journal(conn: sa.Connection) -> Iterator[Finding]:
    mode = conn.exec_driver_sql("PRAGMA journal_mode").scalar_one()
    if mode != "wal":
        do = "it lies where SQLite cannot share memory, such as a network drive: move it to a local disk"
        yield Finding(Level.PROBLEM, "journal mode", f"the journal is {mode!r} instead of 'wal'", do)


def _pages(conn: sa.Connection) -> Iterator[Finding]:
    free, pages, size = (_pragma(conn, name) for name in ("freelist_count", "page_count", "page_size"))
    share = free / pages if pages else 0
    level = Level.WARNING if share > 0.5 and free * size > 256 * MB else Level.OK
    yield Finding(
        level,
        "free pages",
        f"{share:.0%} of the file, {size_text(free * size)}, is free and will be used again",
        'give it back to the disk when nobody works: sqlite3 FILE "VACUUM"' if level else "",
    )


def _whole(conn: sa.Connection) -> Iterator[Finding]:
    problems = [row[0] for row in conn.exec_driver_sql(f"PRAGMA integrity_check({MOST})")]
    if problems == ["ok"]:
        yield Finding(Level.OK, "integrity", "every page and index is whole")
        return
    do = "stop every process, copy the file aside, and restore the last backup; sqlite3's .recover may save the rest"
    yield Finding(Level.PROBLEM, "integrity", f"the file is damaged: {'; '.join(problems)[:500]}", do)


def _references(conn: sa.Connection) -> Iterator[Finding]:
    lost = conn.exec_driver_sql("PRAGMA foreign_key_check").all()
    if lost:
        tables = ", ".join(sorted({row[0] for row in lost}))
        do = "rows refer to what is not there; look into these tables, or restore the last backup"
        yield Finding(Level.PROBLEM, "references", f"{len(lost):,} broken references in {tables}", do)
    else:
        yield Finding(Level.OK, "references", "no reference leads nowhere")


def sizes(conn: sa.Connection) -> list[Size]:
    """Tables and indexes, the largest first; none if this SQLite does not know."""
    try:
        rows = conn.exec_driver_sql(
            "SELECT s.name, m.type, sum(s.pgsize) FROM dbstat s JOIN sqlite_master m ON m.name = s.name "
            "GROUP BY s.name, m.type ORDER BY 3 DESC"
        ).all()
    except sa.exc.DatabaseError:  # it has no such table, or the file is damaged
        return []
    return [Size(name, kind, size) for name, kind, size in rows]
