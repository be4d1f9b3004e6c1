"""Restores a backup, all of it or nothing, in one transaction, into either kind of database.

The tables are created with the schema of the backup, filled, and then migrated to the schema of this code. Workers from
the time of the backup no longer exist: their claims are taken back as after a crash.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterable, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from interlock.machine import Application
from interlock.store import migrate, service_tables
from interlock.store.application_tables import known
from interlock.store.backup import Backup, Manifest, Progress, Table, no_progress
from interlock.store.clock import Micros, SystemClock
from interlock.store.columns import metadata
from interlock.store.database import Store
from interlock.store.errors import SchemaMismatch, StoreError
from interlock.store.snapshot import DERIVED, FEED, Row
from interlock.store.tables import worker as W

if TYPE_CHECKING:
    import psycopg

BATCH = 2_000
EVERYTHING = "*"


def restore(
    store: Store,
    file: Path,
    *,
    applications: Iterable[Application] = (),
    without: Collection[str] = (),
    replace: bool = False,
    halted_by: str | None = None,
    now: Micros | None = None,
    progress: Progress = no_progress,
) -> Manifest:
    """Fill the database from a backup. Refused if it has rows, unless `replace` is set.

    The code of an application creates its tables. If it is not loaded, name the application in `without` to leave its
    rows out. With `halted_by`, an actor, every machine is halted: no work starts until somebody resumes it.
    """
    moment = SystemClock().now() if now is None else now
    with Backup(file) as backup:
        order = migrate.revisions()
        if backup.manifest.schema not in order:
            raise SchemaMismatch(
                f"{file} has schema {backup.manifest.schema}, which is newer than this code (it knows up to "
                f"{order[-1]}); upgrade interlock, nothing was changed"
            )
        loaded = [one for one in applications if one.name not in without]
        left_out = _left_out(backup, loaded, without)
        revisions = {n: one.revision for n, one in backup.manifest.applications.items() if n not in left_out}

        def run(conn: sa.Connection) -> None:
            _make_room(conn, replace, moment)
            migrate.bring(conn, loaded, {migrate.CORE.name: backup.manifest.schema, **revisions})
            _fill(conn, backup, left_out, progress)
            progress("finishing", 0, 0)
            _advance_positions(conn)
            migrate.bring(conn, loaded)
            if halted_by is not None:
                _halt(conn, halted_by, moment)

        migrate.run_exclusively(store, run)
        return backup.manifest


def _left_out(backup: Backup, loaded: Sequence[Application], without: Collection[str]) -> set[str]:
    """The applications that are left out. Refused if rows would be lost that `without` does not name."""
    lines = {branch.name: branch for branch in migrate.branches(loaded)[1:]}
    found: set[str] = set()
    for name, one in backup.manifest.applications.items():
        rows = sum(backup.manifest.count(table) for table in one.tables)
        if name not in lines:
            if rows and name not in without:
                raise StoreError(
                    f"{backup.file} has {rows:,} rows of the application {name!r}, which is not loaded; load it (--app "
                    f"package.module:application), or leave them out: --without {name}"
                )
            found.add(name)
        elif one.revision not in lines[name].revisions:
            raise SchemaMismatch(
                f"{backup.file} has schema {one.revision} of the application {name!r}, which is newer than its code "
                f"(it knows up to {lines[name].revisions[-1]}); upgrade its package, nothing was changed"
            )
    return found


# -- making room


def _make_room(conn: sa.Connection, replace: bool, now: Micros) -> None:
    there = set(sa.inspect(conn).get_table_names())
    applied = known(conn) if DERIVED in there else []
    versions = {migrate.CORE.version_table, *(migrate.version_table(one.application) for one in applied)}
    ours = sorted(there & {*metadata.tables, *(one.name for one in applied), *versions})
    full = [name for name in ours if name not in {*versions, DERIVED} and _has_rows(conn, name)]
    if full and not replace:
        raise StoreError(
            f"the database is not empty: it has rows in {', '.join(full[:5])}{' …' if len(full) > 5 else ''}; "
            "restore into another, or replace all of it with --replace"
        )
    if "worker" in full:
        alive = sa.select(sa.func.count()).where(W.c.status.in_(("alive", "draining")), W.c.until > now)
        count = conn.execute(alive).scalar_one()
        if count:
            raise StoreError(f"{count} workers are alive in this database; stop them first")
    if not ours:
        return
    if conn.dialect.name == "sqlite":
        for name in ours:
            conn.exec_driver_sql(f'DROP TABLE "{name}"')
        return
    listed = ", ".join(f'"{name}"' for name in ours)
    conn.exec_driver_sql(f"DROP TABLE {listed}")
    functions = conn.exec_driver_sql(
        "SELECT oid::regprocedure::text FROM pg_proc "
        r"WHERE proname LIKE 'interlock\_%%' AND pronamespace = current_schema()::regnamespace"
    )
    for function in functions.scalars().all():
        conn.exec_driver_sql(f"DROP FUNCTION {function}")


def _has_rows(conn: sa.Connection, table: str) -> bool:
    return conn.exec_driver_sql(f'SELECT 1 FROM "{table}" LIMIT 1').first() is not None


# -- filling


def _fill(conn: sa.Connection, backup: Backup, left_out: Collection[str], progress: Progress) -> None:
    raw: Any = conn.connection.dbapi_connection
    skipped = {table for name in left_out for table in backup.manifest.applications[name].tables}
    wanted = [table for table in backup.manifest.tables if table.name not in skipped]
    done, total = 0, sum(table.rows for table in wanted)
    for table in wanted:
        rows = backup.rows(table)
        while batch := list(islice(rows, BATCH)):
            if isinstance(raw, sqlite3.Connection):
                _insert(raw, table, batch)
            else:
                _copy(raw, table, batch)
            done += len(batch)
            progress("restoring", done, total)


def _listed(table: Table) -> str:
    return ", ".join(f'"{name}"' for name in table.columns)


def _insert(raw: sqlite3.Connection, table: Table, rows: list[Row]) -> None:
    marks = ", ".join("?" * len(table.columns))
    raw.executemany(f'INSERT INTO "{table.name}" ({_listed(table)}) VALUES ({marks})', rows)


def _copy(raw: psycopg.Connection[Any], table: Table, rows: list[Row]) -> None:
    statement = f'COPY "{table.name}" ({_listed(table)}) FROM STDIN'
    with raw.cursor() as cursor, cursor.copy(statement.encode()) as copy:
        for row in rows:
            copy.write_row(row)


def _advance_positions(conn: sa.Connection) -> None:
    """Let new history rows come after all that were ever read, also if the newest were removed."""
    names = ", ".join(f"'{name}'" for name in sorted(FEED))
    last = conn.exec_driver_sql("SELECT coalesce(max(pos), 0) FROM history").scalar_one()
    read = conn.exec_driver_sql(f"SELECT coalesce(max(pos), 0) FROM cursor WHERE name IN ({names})").scalar_one()
    highest = max(last, read)
    if not highest:
        return
    if conn.dialect.name == "sqlite":
        conn.exec_driver_sql("DELETE FROM sqlite_sequence WHERE name = 'history'")
        conn.exec_driver_sql("INSERT INTO sqlite_sequence (name, seq) VALUES ('history', ?)", (highest,))
    else:
        conn.exec_driver_sql("SELECT setval(pg_get_serial_sequence('history', 'pos'), %s)", (highest,))


def _halt(conn: sa.Connection, actor: str, now: Micros) -> None:
    halt = service_tables.halt
    if conn.execute(sa.select(halt.c.machine).where(halt.c.machine == EVERYTHING)).first() is None:
        conn.execute(sa.insert(halt).values(machine=EVERYTHING, actor=actor, reason="restored from a backup", at=now))
