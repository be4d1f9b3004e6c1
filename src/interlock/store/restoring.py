"""Restoring a backup: all of it or nothing, in one transaction, into either kind of database.

The tables are made as the backup's schema has them, filled, and then brought to the schema of this code. Whoever held
work when the backup was made is not there any more: their leases run out, and the work is taken back as after a crash.
"""

from __future__ import annotations

import sqlite3
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from interlock.store import migrate, service_tables
from interlock.store.backup import Backup, Manifest, Table, Tell, silent
from interlock.store.clock import Micros, SystemClock
from interlock.store.columns import metadata
from interlock.store.database import Store
from interlock.store.errors import SchemaMismatch, StoreError
from interlock.store.snapshot import FEED, Row
from interlock.store.tables import worker as W

if TYPE_CHECKING:
    import psycopg

BATCH = 2_000
EVERYTHING = "*"


def restore(
    store: Store,
    file: Path,
    *,
    replace: bool = False,
    hold: str | None = None,
    now: Micros | None = None,
    tell: Tell = silent,
) -> Manifest:
    """Fill the database from a backup; refused where it has rows, unless they are to be replaced.

    With `hold`, which names who wants it, no work starts until somebody lets it go on.
    """
    moment = SystemClock().now() if now is None else now
    with Backup(file) as backup:
        known = migrate.revisions()
        if backup.manifest.schema not in known:
            raise SchemaMismatch(
                f"{file} has schema {backup.manifest.schema}, which is newer than this code (it knows up to "
                f"{known[-1]}); upgrade interlock, nothing was changed"
            )

        def run(conn: sa.Connection) -> None:
            _make_room(conn, replace, moment)
            migrate.bring(conn, backup.manifest.schema)
            _fill(conn, backup, tell)
            tell("finishing", 0, 0)
            _go_on_counting(conn)
            migrate.bring(conn)
            if hold is not None:
                _hold(conn, hold, moment)

        migrate.alone(store, run)
        return backup.manifest


# -- making room


def _make_room(conn: sa.Connection, replace: bool, now: Micros) -> None:
    there = set(sa.inspect(conn).get_table_names())
    ours = sorted(there & (set(metadata.tables) | {"alembic_version"}))
    full = [name for name in ours if name != "alembic_version" and _has_rows(conn, name)]
    if full and not replace:
        raise StoreError(
            f"the database is not empty: it has rows in {', '.join(full[:5])}{' …' if len(full) > 5 else ''}; "
            "restore into another, or replace all of it with --replace"
        )
    if "worker" in full:
        alive = sa.select(sa.func.count()).where(W.c.status.in_(("alive", "draining")), W.c.until > now)
        count = conn.execute(alive).scalar_one()
        if count:
            raise StoreError(f"{count} workers are at work in this database; stop them before it is replaced")
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


def _fill(conn: sa.Connection, backup: Backup, tell: Tell) -> None:
    raw: Any = conn.connection.dbapi_connection
    done, total = 0, backup.manifest.rows
    for table in backup.manifest.tables:
        rows = backup.rows(table)
        while batch := list(islice(rows, BATCH)):
            if isinstance(raw, sqlite3.Connection):
                _insert(raw, table, batch)
            else:
                _copy(raw, table, batch)
            done += len(batch)
            tell("restoring", done, total)


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


def _go_on_counting(conn: sa.Connection) -> None:
    """New history comes after all that was ever read, also where the newest rows were removed by leave."""
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


def _hold(conn: sa.Connection, actor: str, now: Micros) -> None:
    held = service_tables.hold
    if conn.execute(sa.select(held.c.machine).where(held.c.machine == EVERYTHING)).first() is None:
        conn.execute(sa.insert(held).values(machine=EVERYTHING, actor=actor, reason="restored from a backup", at=now))
