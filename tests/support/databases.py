"""Databases for tests on PostgreSQL: used again when the test left nothing behind but rows.

Making one from a template takes 300 ms on a busy machine, emptying its tables 2 ms by a connection that stays open; a
new one takes 12 ms. A database whose tables, triggers or settings were changed, or that has grown, is dropped.
"""

from __future__ import annotations

import shutil
import time
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg
import pytest
import sqlalchemy as sa

from interlock.machine import (
    attribute,
    installed,
)
from interlock.store import migrate, open_store, service_tables
from tests.support.servers import Postgres

TEMPLATE = "template_ready"
BIGGEST = 2_000_000
"""Bytes of a table; emptied it would still be as long."""
SHAPE = """
SELECT md5(string_agg(x, '|' ORDER BY x)) FROM (
  SELECT relname || relkind::text AS x FROM pg_class WHERE relnamespace = 'public'::regnamespace
  UNION ALL SELECT tgname || tgenabled::text FROM pg_trigger WHERE NOT tgisinternal
  UNION ALL SELECT c.relname || a.attname || a.attnotnull::text
    FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
    WHERE c.relnamespace = 'public'::regnamespace AND a.attnum > 0
  UNION ALL SELECT version_num FROM alembic_version
  UNION ALL SELECT name || application || columns || coalesce(personal, '') FROM application_table
  UNION ALL SELECT proname || md5(prosrc) FROM pg_proc WHERE pronamespace = 'public'::regnamespace
  UNION ALL SELECT setconfig::text FROM pg_db_role_setting
) t
"""
TABLES = (
    "SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'r' "
    r"AND relname NOT LIKE 'alembic\_version%' AND relname <> 'application_table'"
)
GROWN = "SELECT max(pg_relation_size(oid)) FROM pg_class WHERE relnamespace = 'public'::regnamespace"


def all_tables() -> list[sa.Table]:
    """Every table, of the core and of the applications."""
    applied = [attribute(one.tables) for one in installed().applications.values() if one.tables]
    return [table for one in (service_tables.metadata, *applied) for table in one.sorted_tables]


class Databases:
    """The databases of one server."""

    def __init__(self, server: Postgres) -> None:
        self._server = server
        self._free: list[str] = []
        self._emptying: dict[str, psycopg.Connection[Any]] = {}
        self._admin = psycopg.connect(server.url(), autocommit=True)
        self._admin.execute(f"CREATE DATABASE {TEMPLATE}".encode())
        with open_store(server.url(TEMPLATE), wakeup="poll") as store:
            migrate.upgrade(store, installed().applications.values())
        with psycopg.connect(server.url(TEMPLATE), autocommit=True) as conn:
            self._shape = conn.execute(SHAPE).fetchone()
            self._tables = [row[0] for row in conn.execute(TABLES)]

    def take(self) -> str:
        """The name of an empty database with our tables."""
        if self._free:
            return self._free.pop()
        name = f"test_{uuid4().hex}"
        self._admin.execute(f"CREATE DATABASE {name} TEMPLATE {TEMPLATE} STRATEGY FILE_COPY".encode())
        return name

    def give_back(self, name: str) -> None:
        if self._alone(name) and self._emptied(name):
            self._free.append(name)
        else:
            if kept := self._emptying.pop(name, None):
                kept.close()
            self._admin.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)".encode())

    def _alone(self, name: str) -> bool:
        """Whoever is still connected, such as a process that a test has killed, must not write into the next test."""
        kept = self._emptying.get(name)
        which = (name, kept.info.backend_pid if kept and not kept.closed else 0)
        others = "FROM pg_stat_activity WHERE datname = %s AND pid <> %s"
        self._admin.execute(f"SELECT pg_terminate_backend(pid) {others}".encode(), which)
        deadline = time.monotonic() + 5
        while self._admin.execute(f"SELECT 1 {others}".encode(), which).fetchone():
            if time.monotonic() > deadline:
                return False
        return True

    def _emptied(self, name: str) -> bool:
        try:
            conn = self._connection(name)
            if conn.execute(SHAPE).fetchone() != self._shape:
                return False
            grown = conn.execute(GROWN).fetchone()
            if grown is None or grown[0] > BIGGEST:
                return False
            conn.execute("; ".join(f"DELETE FROM {table}" for table in self._tables).encode())
            conn.execute("ALTER TABLE history ALTER COLUMN pos RESTART")
        except psycopg.Error:
            return False
        return True

    def _connection(self, name: str) -> psycopg.Connection[Any]:
        """Stays open between tests: what it knows of the tables is most of the work."""
        if name not in self._emptying:
            made = psycopg.connect(self._server.url(name), autocommit=True)
            self._emptying[name] = made
            made.execute("SET session_replication_role = replica")  # the history's triggers, for one
        return self._emptying[name]

    def close(self) -> None:
        for connection in (self._admin, *self._emptying.values()):
            connection.close()


def shared_database(request: pytest.FixtureRequest, folder: Path) -> str:
    """The address of a new database of the kind that the fixture's parameter names, for a fixture that lives longer."""
    if request.param == "sqlite":
        template: Path = request.getfixturevalue("sqlite_template")
        return f"sqlite:///{shutil.copy(template, folder / f'shared_{uuid4().hex}')}"
    server: Postgres = request.getfixturevalue("postgres")
    databases: Databases = request.getfixturevalue("databases")
    return server.url(databases.take())
