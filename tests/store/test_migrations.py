"""Migrations: one call brings any database to the schema of this code, whole or not at all; a newer one is refused."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg
import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext

from interlock.engine import Engine
from interlock.machine import attribute, installed
from interlock.store import SchemaMismatch, Store, migrate, open_store, service_tables
from tests.support.databases import all_tables
from tests.support.effects_and_reviews import parcel
from tests.support.notes import application as NOTES
from tests.support.racing import DEADLINE, together
from tests.support.servers import Postgres

pytestmark = pytest.mark.slow

MakeUrl = Callable[[], str]
NEWEST = migrate.revisions()[-1]


@pytest.fixture(params=["sqlite", "postgresql"])
def new_database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[MakeUrl]:
    """Makes empty databases: no table of ours is in them."""
    if request.param == "sqlite":
        yield lambda: f"sqlite:///{tmp_path}/{uuid4().hex}.db"
        return
    server: Postgres = request.getfixturevalue("postgres")
    names: list[str] = []

    def make() -> str:
        names.append(f"empty_{uuid4().hex}")
        with psycopg.connect(server.url(), autocommit=True) as conn:
            conn.execute(f"CREATE DATABASE {names[-1]} TEMPLATE template0")
        return server.url(names[-1])

    yield make
    with psycopg.connect(server.url(), autocommit=True) as conn:
        for name in names:
            conn.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def empty(new_database: MakeUrl) -> Iterator[Store]:
    with open_store(new_database(), wakeup="poll") as store:
        yield store


def tables(store: Store) -> set[str]:
    return set(store.read(lambda conn: sa.inspect(conn).get_table_names()))


def shape(conn: sa.Connection) -> dict[str, Any]:
    """Every table with its columns, keys, unique constraints and indexes, predicates included."""
    inspector = sa.inspect(conn)
    found: dict[str, Any] = {}
    for name in inspector.get_table_names():
        if name.startswith("alembic_version"):
            continue
        found[name] = (
            [(c["name"], str(c["type"]), c["nullable"], str(c["default"])) for c in inspector.get_columns(name)],
            inspector.get_pk_constraint(name)["constrained_columns"],
            sorted((u["name"], *u["column_names"]) for u in inspector.get_unique_constraints(name)),
            sorted(
                (i["name"], i["unique"], *i["column_names"], *sorted(map(str, i.get("dialect_options", {}).values())))
                for i in inspector.get_indexes(name)
            ),
        )
    return found


def everything(store: Store) -> list[Any]:
    """The schema as the database itself writes it down, triggers included."""
    if store.dialect == "sqlite":
        query = "SELECT type, name, sql FROM sqlite_master ORDER BY type, name"
    else:
        query = (
            "SELECT 'table', c.relname, c.relkind::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace "
            "WHERE n.nspname = 'public' UNION ALL SELECT 'trigger', tgname, pg_get_triggerdef(oid) FROM pg_trigger "
            "UNION ALL SELECT 'function', proname, prosrc FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace "
            "WHERE n.nspname = 'public' ORDER BY 1, 2, 3"
        )
    return store.read(lambda conn: [tuple(row) for row in conn.execute(sa.text(query))])


def set_revision(store: Store, revision: str) -> None:
    store.write(lambda conn: conn.execute(sa.text(f"UPDATE alembic_version SET version_num = '{revision}'")))


def test_an_empty_database_says_what_is_missing(empty: Store) -> None:
    found = migrate.status(empty)
    assert (found.core.current, found.core.wanted, found.core.pending) == (None, NEWEST, migrate.revisions())
    assert not found.ready
    assert not found.unknown


def test_an_empty_database_is_brought_to_the_schema_of_this_code(empty: Store) -> None:
    found = migrate.upgrade(empty)
    assert (found.core.current, found.core.pending, found.ready) == (found.core.wanted, (), True)
    assert tables(empty) == {*service_tables.metadata.tables, "alembic_version"}
    engine = Engine(empty, [parcel], migrate_schema=False)
    engine.create("parcel")
    assert engine.verify().problems == ()


def test_migrating_again_changes_nothing(empty: Store) -> None:
    migrate.upgrade(empty)
    it = Engine(empty, [parcel]).create("parcel")
    before = everything(empty)
    assert migrate.upgrade(empty).ready
    assert everything(empty) == before
    assert Engine(empty, [parcel]).get(it.id) == it


def test_an_engine_migrates_by_itself(empty: Store) -> None:
    Engine(empty, [parcel])
    assert migrate.status(empty).ready


def test_an_engine_that_must_not_migrate_says_what_to_run(new_database: MakeUrl) -> None:
    url = new_database()
    with open_store(url.replace("postgres@", "postgres:secret@"), wakeup="poll") as store:
        with pytest.raises(
            SchemaMismatch, match=f"has schema none and needs {NEWEST}; run: interlock db migrate"
        ) as refusal:
            Engine(store, [parcel], migrate_schema=False)
        assert "secret" not in str(refusal.value)
        assert tables(store) == set()


def test_many_threads_may_migrate_one_database_at_once(new_database: MakeUrl) -> None:
    url = new_database()

    def one(_: int) -> bool:
        with open_store(url, wakeup="poll") as store:
            return migrate.upgrade(store).ready

    assert together(6, one) == [True] * 6


def test_many_threads_may_migrate_databases_of_their_own_at_once(new_database: MakeUrl) -> None:
    urls = [new_database() for _ in range(4)]

    def one(number: int) -> set[str]:
        with open_store(urls[number], wakeup="poll") as store:
            migrate.upgrade(store)
            return tables(store)

    assert together(4, one) == [{*service_tables.metadata.tables, "alembic_version"}] * 4


def test_two_processes_may_migrate_one_database_at_once(new_database: MakeUrl) -> None:
    url = new_database()
    code = (
        "import sys; from interlock.store import open_store, migrate\n"
        "with open_store(sys.argv[1], wakeup='poll') as store:\n"
        "    sys.stdin.read(1); assert migrate.upgrade(store).ready; print('ready')"
    )
    started = [
        subprocess.Popen(
            [sys.executable, "-c", code, url], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        for _ in range(2)
    ]
    for process in started:
        assert process.stdin is not None
        process.stdin.write(b"!")
        process.stdin.flush()
    answers = [process.communicate(timeout=DEADLINE) for process in started]
    assert answers == [(b"ready\n", b"")] * 2


def test_whoever_comes_second_waits_until_the_first_has_migrated(postgres: Postgres) -> None:
    """Where two processes could change tables at once: the first is played by this test."""
    name = f"empty_{uuid4().hex}"
    with psycopg.connect(postgres.url(), autocommit=True) as conn:
        conn.execute(f"CREATE DATABASE {name} TEMPLATE template0")
    with (
        open_store(postgres.url(name), wakeup="poll") as store,
        psycopg.connect(postgres.url(name), autocommit=True) as first,
        ThreadPoolExecutor(1) as thread,
    ):
        first.execute("SELECT pg_advisory_lock(727001)")
        second = thread.submit(migrate.upgrade, store)
        deadline = time.monotonic() + DEADLINE
        while not first.execute("SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted").fetchone():
            assert time.monotonic() < deadline
            assert not second.done(), "it did not wait"
        assert tables(store) == set()
        first.execute("SELECT pg_advisory_unlock(727001)")
        assert second.result(DEADLINE).ready
    with psycopg.connect(postgres.url(), autocommit=True) as conn:
        conn.execute(f"DROP DATABASE {name} WITH (FORCE)")


WAYS: dict[str, Callable[[Store], object]] = {
    "migrating": migrate.upgrade,
    "using": lambda store: Engine(store, [parcel], migrate_schema=False),
    "migrating and using": lambda store: Engine(store, [parcel]),
}


@pytest.mark.parametrize("way", WAYS)
def test_a_database_that_is_newer_is_refused_with_a_clear_line_and_left_alone(empty: Store, way: str) -> None:
    migrate.upgrade(empty)
    set_revision(empty, "0999")
    found = migrate.status(empty)
    assert (found.core.current, found.core.pending, found.unknown) == ("0999", (), True)
    before = everything(empty)
    line = rf"schema 0999, which is newer than this code \(it knows up to {NEWEST}\); upgrade interlock, nothing was c"
    with pytest.raises(SchemaMismatch, match=line) as refusal:
        WAYS[way](empty)
    assert "\n" not in str(refusal.value)
    assert everything(empty) == before


@pytest.mark.parametrize("given", ["an address", "an open database"])
def test_an_engine_that_refuses_a_database_closes_what_it_opened_and_nothing_else(
    empty: Store, given: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    migrate.upgrade(empty)
    set_revision(empty, "0999")
    closed: list[Store] = []
    close = type(empty).close

    def note(store: Store) -> None:
        closed.append(store)
        close(store)

    monkeypatch.setattr(type(empty), "close", note)
    with pytest.raises(SchemaMismatch):
        Engine(empty.url if given == "an address" else empty, [parcel])
    assert len(closed) == (given == "an address")
    assert empty not in closed


def test_a_migration_that_fails_leaves_nothing_behind(empty: Store) -> None:
    """A table of somebody else's has the name of our last one, so the migration fails almost at its end."""
    last = "CREATE TABLE worker (theirs INTEGER)"
    empty.write(lambda conn: conn.execute(sa.text(last)))
    before = everything(empty)
    with pytest.raises(sa.exc.DBAPIError, match="worker"):
        migrate.upgrade(empty)
    assert everything(empty) == before
    assert migrate.status(empty).core.current is None
    empty.write(lambda conn: conn.execute(sa.text("DROP TABLE worker")))
    assert migrate.upgrade(empty).ready


def test_the_migrations_give_what_the_tables_say(store: Store) -> None:
    versions = [branch.version_table for branch in migrate.branches(installed().applications.values())]
    options: dict[str, Any] = {
        "compare_type": True,
        "include_name": lambda name, kind, _: kind != "table" or name not in versions,
    }
    everything = sa.MetaData()
    for table in all_tables():
        table.to_metadata(everything)
    drift = store.read(lambda conn: compare_metadata(MigrationContext.configure(conn, opts=options), everything))
    assert drift == []


def test_the_migrations_give_the_very_columns_and_indexes_that_the_tables_say(new_database: MakeUrl) -> None:
    """Alembic does not compare the predicates of partial indexes, and those are what claims live on."""
    with open_store(new_database(), wakeup="poll") as migrated, open_store(new_database(), wakeup="poll") as created:
        applications = [*installed().applications.values(), NOTES]
        migrate.upgrade(migrated, applications)
        for metadata in (service_tables.metadata, *(attribute(one.tables) for one in applications if one.tables)):
            created.schema(metadata.create_all)
        wanted = created.read(shape)
        assert "wake = 'work'" in str(wanted["instance"])
        assert migrated.read(shape) == wanted


def test_the_names_of_the_files_say_what_alembic_says() -> None:
    from alembic.script import ScriptDirectory

    for branch in migrate.branches([*installed().applications.values(), NOTES]):
        scripts = ScriptDirectory.from_config(migrate._config(branch))
        assert branch.revisions == tuple(s.revision for s in scripts.walk_revisions())[::-1]
