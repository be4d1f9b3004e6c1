"""Backups: everything in one file, consistent while others write; restored whole or not at all, on either database."""

from __future__ import annotations

import hashlib
import json
import threading
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest
import sqlalchemy as sa

from interlock.engine import Engine, Result, feed
from interlock.machine import EffectUnknown, Go
from interlock.store import SchemaMismatch, Store, StoreError, migrate, open_store, partitions, snapshot
from interlock.store import service_tables as s
from interlock.store import tables as t
from interlock.store.backup import Backup, BackupDamaged, Manifest, check, write
from interlock.store.positions import START
from interlock.store.restoring import restore
from interlock.testing import Trial, broken_laws
from interlock.watch import rollups
from tests.support.backups import damage
from tests.support.databases import Databases
from tests.support.effects_and_reviews import at_work, parcel
from tests.support.servers import Postgres

pytestmark = pytest.mark.slow

KINDS = ("sqlite", "postgresql")
ACROSS = pytest.mark.parametrize(
    ("source", "target"),
    [
        ("sqlite", "postgresql"),
        ("postgresql", "sqlite"),
        *(pytest.param(kind, kind, marks=pytest.mark.soak) for kind in KINDS),
    ],
)
"""Into the other kind everything is tried that is tried into the same; into the same, in the long run only."""
Place = Callable[[str], Store]


@pytest.fixture
def place(tmp_path: Path, postgres: Postgres, databases: Databases) -> Iterator[Place]:
    """Makes an empty database of this kind, as often as it is asked."""
    opened: list[Store] = []
    taken: list[str] = []

    def make(kind: str) -> Store:
        if kind == "sqlite":
            url = f"sqlite:///{tmp_path}/{uuid4().hex}.db"
        else:
            taken.append(databases.take())
            url = postgres.url(taken[-1])
        store = open_store(url, durability="normal", wakeup="poll")
        opened.append(store)
        return store

    yield make
    for store in opened:
        store.close()
    for name in taken:
        databases.give_back(name)


def never(_: Any) -> Go:
    raise AssertionError("these tests play the handler themselves")


MACHINE = parcel.with_handlers({"packing": never, "posting": never})


def filled(store: Store) -> Trial:
    """A bit of everything: small and big data, bytes, letters of all kinds, an alert with a fraction."""
    trial = Trial([MACHINE], store=store)
    for number in range(5):
        trial.create(
            "parcel", {"user": "Zoë\u2028 \U0001f600 \\ \t \" '", "note": "x" * 700 * number}, key=f"k{number}"
        )
    first, second, third = trial.claim(3)
    task = at_work(trial, first)
    trial.engine.keep_artifact(first.id, "scan", bytes(range(256)) * 20, media_type="image/png")
    effect = task.intend("label", {"to": "Rome"})
    task.sent(effect)
    task.confirm(effect, {"receipt": 0.1})
    trial.finish(first, Go("posting"))
    at_work(trial, second).sent(at_work(trial, second).intend("label", {}))
    trial.finish(third, Go("posting"))
    trial.write(
        lambda unit: unit.insert(
            s.alert,
            rule="late",
            status="open",
            sentence="it is late",
            value=0.1 + 0.2,
            threshold=1e300,
            opened_at=1,
            seen_at=2,
        )
    )
    trial.engine.write(rollups.roll)
    trial.create("parcel", {"user": "late"})
    return trial


def content(store: Store, folder: Path) -> dict[str, list[list[Any]]]:
    """Every row of every table; the number of a transaction, and what comes of it, is the database's own affair."""
    aside = folder / uuid4().hex
    aside.mkdir()
    found = {part.columns.table: list(part.rows()) for part in snapshot.take(store, aside).parts}
    return {name: sorted(rows, key=repr) for name, rows in found.items() if rows}


def there(store: Store) -> set[str]:
    return set(store.read(lambda conn: sa.inspect(conn).get_table_names()))


@ACROSS
def test_a_backup_of_either_database_is_restored_into_either(
    place: Place, tmp_path: Path, source: str, target: str
) -> None:
    old, new, file = place(source), place(target), tmp_path / "backup"
    filled(old)
    made = write(old, file)
    assert (made.dialect, made.schema, made.count("instance"), made.count("artifact")) == (
        source,
        migrate.revisions()[-1],
        6,
        1,
    )
    assert restore(new, file) == check(file) == made
    assert content(new, tmp_path) == content(old, tmp_path)
    assert migrate.status(new).ready
    with Engine(new, [MACHINE]) as engine:
        assert (engine.verify().problems, engine.verify().instances) == ((), 6)


@ACROSS
def test_work_goes_on_after_a_restore_and_what_was_sent_is_not_sent_again(
    place: Place, tmp_path: Path, source: str, target: str
) -> None:
    old, new, file = place(source), place(target), tmp_path / "backup"
    before = Trial([MACHINE], store=old)
    answered, silent_, untouched = (before.create("parcel", {"user": name}) for name in ("a", "b", "c"))
    first, second = before.claim(2)
    for claim in (first, second):
        task = at_work(before, claim)
        effect = task.intend("label", {})
        task.sent(effect)
        if claim is first:
            task.confirm(effect, "printed")
    write(old, file)
    restore(new, file)
    after = Trial([MACHINE], store=new)
    assert [claim.id for claim in after.claim(5)] == [untouched], "the others are still held"
    after.lose(before.worker)
    claims = {claim.id: claim for claim in after.claim(5)}
    again = at_work(after, claims[answered]).intend("label", {})
    assert (again.done, again.answer, again.sends) == (True, "printed", 1)
    with pytest.raises(EffectUnknown):
        at_work(after, claims[silent_]).intend("label", {})
    assert after.finish(claims[answered], Go(("posting", "delivered")))
    assert after.engine.verify().problems == ()


@pytest.mark.parametrize("kind", KINDS)
def test_a_backup_made_under_load_is_of_one_moment(place: Place, tmp_path: Path, kind: str) -> None:
    old, new, file = place(kind), place("sqlite"), tmp_path / "backup"
    trial = Trial([MACHINE], store=old)
    stop, made = threading.Event(), threading.Event()

    def work() -> None:
        worker, turn = trial.new_worker(), 0
        while not stop.is_set():
            trial.create("parcel", {"user": "u"})
            claims = trial.engine.claim(worker, trial.queues, 4, turn)
            for claim in claims:
                at_work(trial, claim).intend("label", {})
            trial.engine.finish([Result(claim, Go(("posting", "delivered"))) for claim in claims])
            turn += 1
            if turn == 10:
                made.set()

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    assert made.wait(30)
    manifest = write(old, file)
    stop.set()
    for thread in threads:
        thread.join()
    restore(new, file)
    with Engine(new, [MACHINE]) as engine:
        verdict = engine.verify()
    assert (verdict.problems, verdict.instances) == ((), manifest.count("instance"))
    assert manifest.count("instance") >= 10
    effects = sa.select(sa.func.count()).select_from(
        t.effect.join(t.instance, t.effect.c.instance_id == t.instance.c.id)
    )
    with open_store(new.url) as again:
        assert again.read(lambda conn: conn.execute(effects).scalar_one()) == manifest.count("effect")


@ACROSS
def test_the_feed_and_the_sums_go_on_where_they_were(place: Place, tmp_path: Path, source: str, target: str) -> None:
    old, new, file = place(source), place(target), tmp_path / "backup"
    trial = filled(old)
    seen = trial.engine.read(lambda conn: [(h.instance_id, h.seq) for h in feed.read(conn, START)])
    write(old, file)
    restore(new, file)
    after = Trial([MACHINE], store=new)
    assert after.engine.read(lambda conn: [(h.instance_id, h.seq) for h in feed.read(conn, START)]) == seen
    made = after.create("parcel", {"user": "new"})
    last = after.engine.read(lambda conn: feed.read(conn, START))[-1]
    assert last.instance_id == made
    after.engine.write(rollups.roll)
    counts = after.engine.read(lambda conn: {r.state: r.n for r in conn.execute(sa.select(s.state_count))})
    assert counts == {"packing": 5, "posting": 2}


def test_on_postgresql_the_feeds_order_is_kept_where_commits_overtook_positions(place: Place, tmp_path: Path) -> None:
    old, new, file = place("postgresql"), place("sqlite"), tmp_path / "backup"
    trial = Trial([MACHINE], store=old)
    early = trial.create("parcel", {"user": "early"})
    late = trial.create("parcel", {"user": "late"})
    with old.read(lambda conn: conn.engine.connect()) as conn, conn.begin():
        # As if the first had got its position before the second, and its transaction after it.
        conn.exec_driver_sql("ALTER TABLE history DISABLE TRIGGER history_keep")
        conn.execute(sa.update(t.history).where(t.history.c.instance_id == early).values(xact=t.history.c.xact + 10))
        # And as if the second lay behind it on the disk: nothing but the order asked for gives the right one.
        conn.execute(sa.update(t.history).where(t.history.c.instance_id == late).values(xact=t.history.c.xact + 0))
        conn.execute(
            sa.insert(s.cursor).values(
                name="rollup",
                pos=2**62,
                xact=sa.select(t.history.c.xact).where(t.history.c.instance_id == late).scalar_subquery(),
            )
        )
        conn.exec_driver_sql("ALTER TABLE history ENABLE TRIGGER history_keep")
    write(old, file)
    restore(new, file)
    order = sa.select(t.history.c.instance_id, t.history.c.pos, t.history.c.xact).order_by(t.history.c.pos)
    assert new.read(lambda conn: [tuple(row) for row in conn.execute(order)]) == [(late, 1, 0), (early, 2, 0)]
    assert new.read(lambda conn: conn.execute(sa.select(s.cursor.c.xact, s.cursor.c.pos)).one()) == (0, 1)


# -- what is refused


@pytest.mark.parametrize("kind", KINDS)
def test_a_database_with_rows_is_replaced_only_if_that_is_said(place: Place, tmp_path: Path, kind: str) -> None:
    old, new, file = place("sqlite"), place(kind), tmp_path / "backup"
    filled(old)
    write(old, file)
    other = Trial([MACHINE], store=new)
    other.create("parcel", {"user": "other"})
    before = content(new, tmp_path)
    with pytest.raises(StoreError, match=r"the database is not empty: it has rows in definition, .*--replace"):
        restore(new, file)
    assert content(new, tmp_path) == before
    with pytest.raises(StoreError, match="1 workers are alive in this database; stop them"):
        restore(new, file, replace=True, now=other.clock.now())
    restore(new, file, replace=True, now=2**60)
    assert content(new, tmp_path) == content(old, tmp_path)


@pytest.mark.parametrize("kind", KINDS)
def test_history_is_append_only_after_a_restore_too(place: Place, tmp_path: Path, kind: str) -> None:
    old, new, file = place("sqlite"), place(kind), tmp_path / "backup"
    filled(old)
    write(old, file)
    restore(new, file)
    restore(new, file, replace=True, now=2**60)
    with pytest.raises(sa.exc.DBAPIError, match="append-only"):
        new.write(lambda conn: conn.execute(sa.delete(t.history)))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("where", ["cut", "empty", "other", "flipped"])
def test_a_damaged_file_is_refused_and_changes_nothing(place: Place, tmp_path: Path, kind: str, where: str) -> None:
    old, new, file = place("sqlite"), place(kind), tmp_path / "backup"
    filled(old)
    write(old, file)
    damage(file, where)
    before = there(new)
    with pytest.raises(BackupDamaged, match=str(file)):
        check(file)
    with pytest.raises(BackupDamaged, match=str(file)):
        restore(new, file)
    assert there(new) == before


def rewritten(file: Path, change: Callable[[dict[str, Any]], None]) -> Path:
    """The same backup with another manifest, as another release would have written it."""
    made = file.with_name(f"{file.name}-{uuid4().hex}")
    with zipfile.ZipFile(file) as old, zipfile.ZipFile(made, "w") as new:
        manifest = json.loads(old.read("manifest.json"))
        change(manifest)
        for name in old.namelist():
            if name != "manifest.json":
                new.writestr(name, old.read(name))
        new.writestr("manifest.json", json.dumps(manifest))
    return made


def test_rows_that_were_changed_are_found_by_their_sum(place: Place, tmp_path: Path) -> None:
    old, file = place("sqlite"), tmp_path / "backup"
    filled(old)
    write(old, file)
    other = rewritten(file, lambda manifest: manifest["tables"][0].update(sha256="0" * 64))
    with pytest.raises(BackupDamaged, match="or others than it had"):
        restore(place("sqlite"), other)
    lost = rewritten(file, lambda manifest: manifest["tables"].append({**manifest["tables"][0], "name": "nothing"}))
    with pytest.raises(BackupDamaged, match="the table nothing cannot be read"):
        check(lost)


def test_a_name_that_is_a_statement_is_no_name(place: Place, tmp_path: Path) -> None:
    old, file = place("sqlite"), tmp_path / "backup"
    filled(old)
    write(old, file)
    evil = rewritten(file, lambda manifest: manifest["tables"][0].update(name='worker"; DROP TABLE history; --'))
    with pytest.raises(BackupDamaged, match="is not a backup"):
        restore(place("sqlite"), evil)


def test_a_newer_schema_or_format_is_refused_in_one_line(place: Place, tmp_path: Path) -> None:
    old, new, file = place("sqlite"), place("sqlite"), tmp_path / "backup"
    filled(old)
    write(old, file)
    newer = rewritten(file, lambda manifest: manifest.update(schema="0999"))
    with pytest.raises(SchemaMismatch, match="has schema 0999, which is newer than this code") as refusal:
        restore(new, newer)
    assert "\n" not in str(refusal.value)
    with pytest.raises(StoreError, match="has format 2 of backups, this code reads 1"):
        restore(new, rewritten(file, lambda manifest: manifest.update(format=2)))
    assert there(new) == set()


def as_of(file: Path, schema: str, known: dict[str, set[str]]) -> Path:
    """The backup as a release with only these tables and columns would have written it."""
    made = file.with_name(f"{file.name}-{schema}")
    with Backup(file) as backup, zipfile.ZipFile(made, "w") as new:
        tables = []
        for table in backup.manifest.tables:
            kept = [n for n, name in enumerate(table.columns) if name in known.get(table.name, ())]
            if not kept:
                continue
            lines = [json.dumps([json.loads(line)[n] for n in kept]) + "\n" for line in backup.lines(table)]
            text = "".join(lines).encode()
            new.writestr(table.entry, text)
            tables.append(
                {
                    "name": table.name,
                    "columns": [table.columns[n] for n in kept],
                    "kinds": [table.kinds[n] for n in kept],
                    "rows": len(lines),
                    "sha256": hashlib.sha256(text).hexdigest(),
                }
            )
        about = {"format": 1, "made_by": "an older one", "made_at": 1, "schema": schema, "dialect": "sqlite"}
        new.writestr("manifest.json", json.dumps({**about, "tables": tables}))
    return made


@pytest.mark.parametrize("kind", KINDS)
def test_a_backup_of_an_older_schema_is_brought_to_this_one(place: Place, tmp_path: Path, kind: str) -> None:
    old, new, file = place("sqlite"), place(kind), tmp_path / "backup"
    filled(old)
    old.write(lambda conn: conn.execute(sa.update(t.worker).values(in_place=0)))  # as a process of that schema
    write(old, file)
    scratch = place("sqlite")
    migrate.run_exclusively(scratch, lambda conn: migrate.bring(conn, to={"core": "0004"}))
    names = there(scratch)
    known = scratch.read(lambda conn: {n: {c["name"] for c in sa.inspect(conn).get_columns(n)} for n in names})
    older = as_of(file, "0004", known)
    restore(new, older)
    assert migrate.status(new).ready
    after, before = content(new, tmp_path), content(old, tmp_path)
    assert {name: after[name] for name in known if name in after} == {n: before[n] for n in known if n in before}
    assert len(after["instance"]) == 6


def test_a_file_that_is_there_is_not_overwritten_and_nothing_is_left_beside(place: Place, tmp_path: Path) -> None:
    old, folder = place("sqlite"), tmp_path / "kept"
    filled(old)
    folder.mkdir()
    file = folder / "backup"
    write(old, file)
    before = file.read_bytes()
    with pytest.raises(StoreError, match="backups are not overwritten"):
        write(old, file)
    assert (file.read_bytes(), list(folder.iterdir()), file.stat().st_mode & 0o777) == (before, [file], 0o600)
    with pytest.raises(StoreError, match=r"cannot write to .*: No such file or directory; name another file"):
        write(old, tmp_path / "nowhere" / "backup")
    with pytest.raises(StoreError, match="there is no file"):
        restore(old, tmp_path / "nothing")


def test_a_damaged_database_gives_no_backup(place: Place, tmp_path: Path) -> None:
    old, file = place("sqlite"), tmp_path / "backup"
    filled(old)
    old.close()
    path = Path(old.url.removeprefix("sqlite:///"))
    whole = bytearray(path.read_bytes())
    for page in range(20, len(whole) // 4096):
        whole[page * 4096 : page * 4096 + 64] = b"\xaa" * 64
    path.write_bytes(whole)
    with open_store(old.url, wakeup="poll") as broken, pytest.raises(StoreError, match="is damaged"):
        write(broken, file)
    assert not file.exists()


# -- beside


@pytest.mark.parametrize("kind", KINDS)
def test_everything_can_be_halted_so_that_nothing_starts_by_itself(place: Place, tmp_path: Path, kind: str) -> None:
    old, new, file = place("sqlite"), place(kind), tmp_path / "backup"
    filled(old)
    write(old, file)
    restore(new, file, halted_by="user:ann")
    after = Trial([MACHINE], store=new)
    assert after.claim(5) == []
    [halt] = after.engine.halts.all()
    assert (halt.machine, halt.actor, halt.reason) == ("*", "user:ann", "restored from a backup")


@pytest.mark.parametrize("kind", KINDS)
def test_new_history_comes_after_all_that_was_added_up_even_where_rows_were_removed(
    place: Place, tmp_path: Path, kind: str
) -> None:
    old, new, file = place("sqlite"), place(kind), tmp_path / "backup"
    trial = Trial([MACHINE], store=old)
    gone = trial.create("parcel", {"user": "gone"})
    trial.engine.write(rollups.roll)
    head = trial.get(gone).head

    def remove(conn: sa.Connection) -> None:
        conn.execute(
            sa.insert(t.purge).values(
                no=1,
                instance_id=gone,
                kind="rows",
                upto_seq=1,
                last_hash=head,
                actor="user:ann",
                reason="old",
                at=1,
                hash=b"-",
            )
        )
        conn.execute(sa.delete(t.history))
        conn.execute(sa.delete(t.instance))

    old.write(remove)
    write(old, file)
    restore(new, file)
    after = Trial([MACHINE], store=new)
    after.create("parcel", {"user": "next"})
    assert after.engine.read(rollups.behind)


def test_a_file_is_read_again_before_it_is_given_out(place: Place, tmp_path: Path) -> None:
    old, file = place("sqlite"), tmp_path / "backup"
    filled(old)
    received: list[tuple[str, int, int, bool]] = []
    made = write(old, file, lambda what, done, total: received.append((what, done, total, file.exists())))
    assert list(dict.fromkeys(what for what, *_ in received)) == ["copying", "checking the copy", "writing", "checking"]
    assert received[-1] == ("checking", made.rows, made.rows, False)


def test_what_is_restored_can_be_read_from_the_file_alone(place: Place, tmp_path: Path) -> None:
    old, file = place("sqlite"), tmp_path / "backup"
    filled(old)
    made = write(old, file)
    with Backup(file) as backup:
        assert isinstance(backup.manifest, Manifest)
        rows = {table.name: list(backup.rows(table)) for table in backup.manifest.tables}
    assert {UUID(row[0]) for row in rows["instance"]} == set(
        old.read(lambda conn: conn.execute(sa.select(t.instance.c.id)).scalars())
    )
    assert [len(rows[table.name]) for table in made.tables] == [table.rows for table in made.tables]
    with Trial([MACHINE], store=old) as trial:
        assert broken_laws(trial.engine) == []


def test_a_history_kept_by_months_is_backed_up_and_replaced(place: Place, tmp_path: Path) -> None:
    old, file = place("postgresql"), tmp_path / "backup"
    trial = filled(old)
    before = content(old, tmp_path)
    partitions.apply(old, trial.clock.now())
    trial.create("parcel", {"user": "after"})
    write(old, file)
    for store in (place("sqlite"), old):
        restore(store, file, replace=True, now=2**60)
        engine = Engine(store, [MACHINE])
        assert (engine.verify().problems, engine.verify().instances) == ((), len(before["instance"]) + 1)
        engine.create("parcel", {"user": "next"})
        assert engine.verify().problems == ()
    assert not old.read(partitions.partitioned)
