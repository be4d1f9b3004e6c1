"""An application's own tables: made by its own migrations, backed up, erased and removed like ours, also by a process
that does not have its code."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest
import sqlalchemy as sa

from interlock.engine import Engine
from interlock.engine.retention import archive
from interlock.engine.retention.erasing import Erased, Erasing
from interlock.engine.retention.policies import Policy, Retention
from interlock.machine import OWNER, USER, Actor, Application, InterlockError, Personal, Registry, installed
from interlock.store import SchemaMismatch, Store, StoreError, migrate, open_store, span
from interlock.store.application_tables import declared, known, record
from interlock.store.backup import write
from interlock.store.columns import id_, new_metadata, text
from interlock.store.errors import MigrationFailed
from interlock.store.health import Level, schema
from interlock.store.restoring import restore
from interlock.testing import Trial
from tests.support.notes import application as notes
from tests.support.notes.application import note
from tests.support.notes.tables import notes_line, notes_visitor, notes_word

ANN = "ann@example.org"
CHIEF = Actor(OWNER, "chief")
Place = Callable[[str], Store]
LINE = "alembic_version_notes"


def tables(store: Store) -> set[str]:
    return set(store.read(lambda conn: sa.inspect(conn).get_table_names()))


def set_revision(store: Store, revision: str) -> None:
    store.write(lambda conn: conn.execute(sa.text(f"UPDATE {LINE} SET version_num = '{revision}'")))


def rows(store: Store, table: sa.Table) -> list[tuple[Any, ...]]:
    return store.read(lambda conn: [tuple(row) for row in conn.execute(sa.select(table))])


def visited(trial: Trial, name: str = ANN) -> UUID:
    """A note that has ended, with a row in each table of the application."""
    it = trial.create("note")

    def fill(conn: sa.Connection) -> None:
        conn.execute(sa.insert(notes_visitor).values(instance_id=it, name=name, at=1))
        conn.execute(sa.insert(notes_line).values(id=uuid4(), instance_id=it, words=f"{name} was here", picture=b"\0x"))
        conn.execute(sa.insert(notes_word).values(word=f"here {it}", times=3, seal="sealed"))

    trial.engine.store.write(fill)
    trial.engine.fire(it, "finish", actor=Actor(USER, "porter"))
    return it


# -- migrations


def test_an_engine_makes_the_tables_of_its_applications(store: Store) -> None:
    Engine(store, Registry([notes]))
    assert {"notes_visitor", "notes_line", "notes_word", LINE} <= tables(store)
    found = migrate.status(store, [notes])
    assert [(one.name, one.current, one.pending) for one in found.branches] == [
        ("core", found.core.wanted, ()),
        ("notes", "0002", ()),
    ]
    assert [one.name for one in store.read(known) if one.application == "notes"] == sorted(
        ["notes_line", "notes_visitor", "notes_word"]
    )


def test_whoever_does_not_have_the_application_opens_the_database_all_the_same(store: Store) -> None:
    Engine(store, Registry([notes]))
    assert migrate.upgrade(store).ready
    assert Engine(store, [note], migrate_schema=False).page().instances == []


def test_what_an_application_lacks_is_shown_and_applied(store: Store) -> None:
    migrate.upgrade(store)
    found = migrate.status(store, [notes])
    assert (found.ready, found.usable, found.applications[0].pending) == (False, True, ("0001", "0002"))
    Engine(store, Registry([notes]), migrate_schema=False)  # it has no rows yet, so nothing is missing
    migrate.run_exclusively(store, lambda conn: migrate.bring(conn, [notes], {"notes": "0001"}))
    assert migrate.status(store, [notes]).applications[0].pending == ("0002",)
    assert schema(store, [notes]).level is Level.PROBLEM
    with pytest.raises(SchemaMismatch, match="have schema 0001 and need 0002; run: interlock db migrate"):
        Engine(store, Registry([notes]), migrate_schema=False)
    assert migrate.upgrade(store, [notes]).ready
    assert schema(store, [notes]).level is Level.OK


def test_tables_that_are_newer_than_the_applications_code_are_refused(store: Store) -> None:
    migrate.upgrade(store, [notes])
    set_revision(store, "0999")
    for way in (lambda: Engine(store, Registry([notes])), lambda: migrate.upgrade(store, [notes])):
        with pytest.raises(SchemaMismatch, match="'notes' have schema 0999, which is newer than its code"):
            way()
    assert schema(store, [notes]).level is Level.PROBLEM
    assert migrate.upgrade(store).ready


def test_all_of_it_is_one_transaction(store: Store) -> None:
    """A table of somebody else's has the name of the application's last one."""
    store.write(lambda conn: conn.execute(sa.text("CREATE TABLE notes_word (theirs INTEGER)")))
    before = tables(store)
    with pytest.raises(
        MigrationFailed, match=r"of the application 'notes' failed: .*notes_word.*; nothing was changed"
    ):
        migrate.upgrade(store, [notes])
    assert tables(store) == before
    assert "notes" not in store.read(migrate.applied)


FIRST = """
import sqlalchemy as sa
from alembic import op

revision, down_revision = "{revision}", None


def upgrade() -> None:
    op.create_table("box", sa.Column("id", sa.Uuid(), primary_key=True), sa.Column("words", sa.Text()))
    {also}
"""
BOX = new_metadata()
sa.Table("box", BOX, id_(primary=True), text("words"))


@pytest.mark.parametrize(
    ("revision", "also", "said"),
    [
        ("abc", "", "end in 'abc', its files in '0001': .* named after it, as v0001_what.py"),
        ("0001", "raise ValueError('half-way')", "'box' failed: ValueError: half-way; nothing was changed"),
        ("0001", "op.nonsense()", "'box' failed: AttributeError: "),
        ("0001", "op.drop_column('box', 'words')", "do not make the table 'box' as it is declared: words differs"),
        ("0001", "op.drop_table('box')", "do not make the table 'box' as it is declared: all of it differs"),
        (
            "0001",
            "op.create_table('crate', sa.Column('id', sa.Uuid(), primary_key=True))",
            "makes the table 'crate', which is not among its tables",
        ),
    ],
)
def test_migrations_that_do_not_make_what_is_declared_change_nothing(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, revision: str, also: str, said: str
) -> None:
    package = f"boxes_{uuid4().hex}"
    (tmp_path / package).mkdir()
    (tmp_path / package / "__init__.py").touch()
    (tmp_path / package / "v0001_first.py").write_text(FIRST.format(revision=revision, also=also))
    monkeypatch.syspath_prepend(tmp_path)
    box = Application("box", tables=f"{HERE}:BOX", migrations=package)
    before = tables(store)
    with pytest.raises(MigrationFailed, match=said):
        migrate.upgrade(store, [box])
    assert tables(store) == before


def test_a_changed_declaration_is_written_down_without_a_revision(store: Store) -> None:
    migrate.upgrade(store, [notes])
    less = replace(notes, personal=[Personal("notes_line", ["words"])])
    migrate.upgrade(store, [less])
    found = {one.name: one.personal for one in store.read(known) if one.application == "notes"}
    assert found == {"notes_line": Personal("notes_line", ("words",)), "notes_visitor": None, "notes_word": None}


def test_a_table_of_another_application_is_not_taken(store: Store) -> None:
    migrate.upgrade(store, [notes])
    with pytest.raises(InterlockError, match="belongs to the application 'notes' in this database"):
        migrate.upgrade(store, [replace(notes, name="papers")])
    with pytest.raises(InterlockError, match="'notes_line', which is taken; name it papers_notes_line"):
        migrate.upgrade(store, [notes, replace(notes, name="papers")])


# -- what is declared

WRONG = new_metadata()
sa.Table("wrong_kind", WRONG, id_(primary=True), sa.Column("at", sa.DateTime))
COUNTING = new_metadata()
sa.Table("counting", COUNTING, sa.Column("id", sa.Integer, primary_key=True))
OURS = new_metadata()
sa.Table("instance", OURS, id_(primary=True))
LOOSE = new_metadata()
sa.Table("loose", LOOSE, id_(primary=True), text("words"))
UNIQUE = new_metadata()
sa.Table("mail", UNIQUE, id_("instance_id", primary=True), text("address"), sa.UniqueConstraint("address"))
HERE = "tests.store.test_application_tables"


@pytest.mark.parametrize(
    ("application", "said"),
    [
        (Application("x", tables=f"{HERE}:WRONG", migrations="x"), "wrong_kind.at is a DateTime; use the columns of"),
        (Application("x", tables=f"{HERE}:COUNTING", migrations="x"), "an automatic number"),
        (Application("x", tables=f"{HERE}:OURS", migrations="x"), "'instance', which is taken; name it x_instance"),
        (Application("x", tables=f"{HERE}:LOOSE"), "has tables and no migrations"),
        (Application("x", migrations="x"), "names no tables for its migrations"),
        (Application("x", tables=f"{HERE}:HERE", migrations="x"), "is a str, not a MetaData"),
        (
            Application("x", tables=f"{HERE}:LOOSE", migrations="x", personal=[Personal("loose", ["words"])]),
            "needs a column instance_id",
        ),
        (
            Application(
                "x", tables=f"{HERE}:UNIQUE", migrations="x", personal=[Personal("mail", ["address"], "empty")]
            ),
            "mail.address is unique, so two rows cannot both be emptied; use erase='delete'",
        ),
        (
            Application("x", tables=f"{HERE}:UNIQUE", migrations="x", personal=[Personal("mail", ["adress"])]),
            "'mail' is named as personal; it needs a column instance_id of kind id, and adress as text",
        ),
        (
            Application("x", tables=f"{HERE}:LOOSE", migrations="x", personal=[Personal("gone", ["words"])]),
            "no table 'gone'",
        ),
    ],
)
def test_tables_that_could_not_be_kept_are_refused(application: Application, said: str) -> None:
    with pytest.raises(InterlockError, match=said):
        declared([application])


def test_an_application_without_revisions_is_refused(store: Store) -> None:
    with pytest.raises(InterlockError, match="the migrations of the application 'notes' cannot be loaded"):
        migrate.upgrade(store, [replace(notes, migrations="tests.no_such_package")])
    with pytest.raises(InterlockError, match="has no revision of the application 'notes'"):
        migrate.upgrade(store, [replace(notes, migrations="tests.support.notes")])
    with pytest.raises(InterlockError, match="cannot be named 'core'"):
        migrate.upgrade(store, [replace(notes, name="core")])


# -- backups


def test_a_backup_carries_the_rows_of_an_application_whose_code_is_not_here(store: Store, tmp_path: Path) -> None:
    trial = Trial(Registry([notes]), store=store)
    visited(trial)
    kept = {table: rows(store, table) for table in (notes_visitor, notes_line, notes_word)}
    file = tmp_path / "backup"
    manifest = write(store, file)
    assert manifest.applications["notes"].revision == "0002"
    for target in (tmp_path / "new.db", tmp_path / "other.db"):
        with open_store(f"sqlite:///{target}") as new:
            with pytest.raises(StoreError, match="has 3 rows of the application 'notes', which is not"):
                restore(new, file)
            assert tables(new) == set()
            if target.name == "new.db":
                restore(new, file, applications=[notes])
                assert {table: rows(new, table) for table in kept} == kept
                assert migrate.status(new, [notes]).ready
            else:
                restore(new, file, without=["notes"])
                assert "notes_line" not in tables(new)
                assert migrate.status(new).ready
    restore(store, file, applications=[*installed().applications.values(), notes], replace=True, now=1 << 60)
    assert {table: rows(store, table) for table in kept} == kept


def test_a_backup_of_older_tables_of_an_application_is_brought_to_its_code(store: Store, tmp_path: Path) -> None:
    file, older = tmp_path / "backup", replace(notes, tables=f"{HERE}:OLDER", personal=())
    with open_store(f"sqlite:///{tmp_path}/old.db") as old:
        migrate.upgrade(old)
        migrate.run_exclusively(old, lambda conn: migrate.bring(conn, [notes], {"notes": "0001"}))
        old.write(lambda conn: record(conn, ["notes"], declared([older])))
        old.write(lambda conn: conn.execute(sa.insert(notes_visitor).values(instance_id=uuid4(), name=ANN, at=1)))
        write(old, file)
    restore(store, file, applications=[notes], replace=True)
    assert (len(rows(store, notes_visitor)), rows(store, notes_word)) == (1, [])
    assert migrate.status(store, [notes]).ready


OLDER = new_metadata()
notes_visitor.to_metadata(OLDER)
notes_line.to_metadata(OLDER)


# -- personal data


def erase(trial: Trial, value: str = ANN) -> Erased:
    *_, report = Erasing(trial.engine, CHIEF, "asked to be forgotten").every(value)
    return report


@pytest.mark.parametrize("loaded", [True, False])
def test_erasure_finds_and_erases_what_an_application_keeps(store: Store, loaded: bool) -> None:
    trial = Trial(Registry([notes]), store=store)
    it, other = visited(trial), visited(trial, "ben@example.org")
    store.write(lambda conn: conn.execute(sa.insert(notes_word).values(word="hidden in exports", seal=ANN)))
    trial = Trial(Registry([notes]) if loaded else [note], store=store)
    report = erase(trial)
    assert report.instances == [it]
    assert (report.what["notes_visitor"], report.what["notes_line"]) == (1, 1)
    assert report.stays == {"notes_word": 1}
    assert {row[0]: row[1] for row in rows(store, notes_visitor)} == {it: "", other: "ben@example.org"}
    assert [row[1] for row in rows(store, notes_line)] == [other]
    assert trial.engine.verify().problems == ()


@pytest.mark.parametrize("loaded", [True, False])
def test_retention_archives_and_removes_them_with_the_instance(store: Store, tmp_path: Path, loaded: bool) -> None:
    trial = Trial(Registry([notes]), store=store)
    it = visited(trial)
    trial = Trial(Registry([notes]) if loaded else [note], store=store)
    trial.clock.advance(timedelta(days=91))
    policy = Policy(tmp_path, span(timedelta(days=90)))
    report = Retention(trial.engine, policy).run()
    assert report.total == 1, report
    [line] = [line.text.decode() for file in report.files for line in archive.lines(file)]
    assert '"notes_visitor":[{"name":"ann@example.org","at":1}]' in line
    assert f"{ANN} was here" in line
    assert (rows(store, notes_visitor), rows(store, notes_line)) == ([], [])
    assert rows(store, notes_word) == [(f"here {it}", 3, "sealed")]
