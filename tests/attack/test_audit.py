"""Whoever owns the database but not the audit key changes something; verifying finds it.

`ALONE`: found by the database alone, without any checkpoint. `SIGNED`: found with the checkpoints and the audit key,
although the chains were computed anew. What is in neither is in the table of docs/explanation/audit.md.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
import sqlalchemy as sa

from interlock.engine import actions
from interlock.engine.audit import chain, checkpoint_verification, checkpointing, checkpoints
from interlock.engine.audit.signing import BadKey, Keys
from interlock.engine.retention.erasing import Erasing
from interlock.engine.retention.policies import Policy, Retention
from interlock.store import open_store, service_tables, span
from interlock.store import tables as t
from interlock.store.backup import write as back_up
from interlock.store.restoring import restore
from interlock.store.retention_tables import checkpoint as C
from interlock.testing import Trial
from tests.support.forging import (
    ANN,
    CHIEF,
    KEYS,
    World,
    again,
    cut_last,
    delete_whole,
    forge_erasure,
    forge_purge,
    invoice,
    note,
    rechain,
    redigest,
    rehash_checkpoint,
    take_triggers_off,
    world,
)

H, I, P = t.history, t.instance, t.purge  # noqa: E741
R, D, E, O, A, F = t.review, t.dead_letter, t.effect, t.outbox, t.artifact, t.artifact_ref  # noqa: E741
Attack = Callable[[sa.Connection, World], Any]


@pytest.fixture(scope="module")
def ready(sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, World]:
    """A file with the world in it: copied for each test, it need not be built again."""
    path = tmp_path_factory.mktemp("ready") / "interlock.db"
    shutil.copy(sqlite_template, path)
    with open_store(f"sqlite:///{path}", durability="normal", wakeup="poll") as store:
        made = world(store)
        made.trial.close()
    # A connection that is not collected yet keeps the last rows in the file beside it.
    with closing(sqlite3.connect(path)) as conn:
        conn.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return path, made


@pytest.fixture
def w(url: str, ready: tuple[Path, World], tmp_path: Path) -> Iterator[World]:
    path, built = ready
    if url.startswith("sqlite"):
        shutil.copy(path, tmp_path / "interlock.db")
    with open_store(url, durability="normal", wakeup="poll") as store:
        made = again(built, store) if url.startswith("sqlite") else world(store)
        with made.trial:
            yield made


def of_paid(table: sa.Table, **values: Any) -> Attack:
    return lambda conn, w: conn.execute(sa.update(table).where(table.c.instance_id == w.paid).values(**values))


def of_instance(**values: Any) -> Attack:
    return lambda conn, w: conn.execute(sa.update(I).where(I.c.id == w.paid).values(**values))


def of_letter(**values: Any) -> Attack:
    return lambda conn, w: conn.execute(sa.update(D).where(D.c.instance_id == w.broken).values(**values))


def without(table: sa.Table) -> Attack:
    return lambda conn, w: conn.execute(sa.delete(table).where(table.c.instance_id.in_([w.paid, w.broken])))


def decide_by_sql(conn: sa.Connection, w: World) -> None:
    values = {"status": "decided", "decision": "pay", "answer": "{}", "decided_by": "user:ann", "decided_at": 1}
    conn.execute(sa.update(R).where(R.c.instance_id == w.waits).values(**values))


def swap_content(conn: sa.Connection, w: World) -> None:
    conn.execute(sa.update(A).values(content=b"1 Euro"))


def swap_artifact(conn: sa.Connection, w: World) -> None:
    name = hashlib.sha256(b"1 Euro").hexdigest()
    conn.execute(sa.insert(A).values(hash=name, size=6, content=b"1 Euro", at=1))
    conn.execute(sa.update(F).values(hash=name))


def forge_effect(conn: sa.Connection, w: World) -> None:
    row = dict(conn.execute(sa.select(E)).one()._mapping)
    row |= {"id": w.waits, "instance_id": w.waits, "key": "mine", "status": "confirmed"}
    conn.execute(sa.insert(E).values(**row))


def null_payloads(conn: sa.Connection, w: World) -> None:
    forge_purge(conn, w.paid, "payloads", chained=True)
    conn.execute(sa.update(H).where(H.c.instance_id == w.paid).values(payload=None))
    conn.execute(sa.update(I).where(I.c.id == w.paid).values(data='{"total":1}'))


def cut_rows(conn: sa.Connection, w: World) -> None:
    forge_purge(conn, w.paid, "rows", chained=True)
    conn.execute(sa.delete(H).where(H.c.instance_id == w.paid, H.c.seq <= 2))


def unchained(conn: sa.Connection, w: World) -> None:
    forge_purge(conn, w.paid, "rows", chained=False)
    delete_whole(conn, w.paid)


ALONE: dict[str, Attack] = {
    "workspace": of_instance(workspace="other"),
    "key": of_instance(key="may"),
    "no key": of_instance(key=None),
    "labels": of_instance(labels='{"for":"bob"}'),
    "machine": of_instance(machine="note"),
    "version": of_instance(version=7),
    "parent": lambda conn, w: conn.execute(sa.update(I).where(I.c.id == w.child).values(parent=w.waits)),
    "root": lambda conn, w: conn.execute(sa.update(I).where(I.c.id == w.child).values(root=w.waits)),
    "state": of_instance(state="refused"),
    "data": of_instance(data='{"file":"march.pdf","total":1}'),
    "the decision": of_paid(R, decision="no"),
    "the answer": of_paid(R, answer='{"limit":900000}'),
    "who decided": of_paid(R, decided_by="user:bob"),
    "when it was decided": of_paid(R, decided_at=1),
    "what was asked": of_paid(R, title="Refuse it?"),
    "its evidence": of_paid(R, evidence='{"seen":true}'),
    "a decision taken back": of_paid(R, status="closed", decision=None),
    "a decision that nobody took": decide_by_sql,
    "a review removed": without(R),
    "the content of an artifact": swap_content,
    "another artifact": swap_artifact,
    "an artifact's name": of_paid(F, name="offer"),
    "an artifact removed": without(F),
    "an artifact's content removed": lambda conn, w: conn.execute(sa.delete(A)),
    "an effect's request": of_paid(E, request_hash="0" * 64),
    "an effect's key": of_paid(E, key="other"),
    "an effect's answer": of_paid(E, answer='"paid twice"'),
    "an effect's outcome": of_paid(E, status="failed"),
    "an effect forgotten": of_paid(E, status="intended", answer=None),
    "an effect removed": without(E),
    "an effect invented": forge_effect,
    "a dead letter's error": of_letter(error='{"type":"Broken","message":"all is well","where":[]}'),
    "a dead letter's data": of_letter(data="{}"),
    "what became of it": of_letter(status="discarded"),
    "who closed it": of_letter(closed_by="user:bob"),
    "its note": of_letter(note="never mind"),
    "a dead letter opened again": of_letter(status="open", closed_at=None, closed_by=None, note=None),
    "a dead letter removed": without(D),
    "a message's text": of_paid(O, body='{"total":1}'),
    "a message's recipient": of_paid(O, recipient="bob@example.org"),
    "a message removed": without(O),
    "payloads nulled and data rewritten": null_payloads,
    "rows removed under a forged purge": cut_rows,
    "an instance removed under a purge out of the chain": unchained,
    "an instance without its history": lambda conn, w: conn.execute(sa.delete(H).where(H.c.instance_id == w.paid)),
    "a history without its instance": lambda conn, w: conn.execute(sa.delete(I).where(I.c.id == w.paid)),
}


@pytest.mark.soak("postgresql")
@pytest.mark.parametrize("name", ALONE)
def test_the_database_alone_shows_what_was_changed(w: World, name: str) -> None:
    engine = w.trial.engine
    engine.core.audit_keys = None
    assert engine.verify().problems == ()
    engine.store.write(take_triggers_off)
    engine.store.write(lambda conn: ALONE[name](conn, w) and None)
    assert engine.verify().problems != ()


def new_payload(conn: sa.Connection, w: World) -> None:
    """Another total from the first to the last row, with everything computed anew."""
    for row in conn.execute(sa.select(H).where(H.c.instance_id == w.paid)).all():
        payload = (row.payload or "").replace('"total":120', '"total":1')
        conn.execute(sa.update(H).where(H.c.pos == row.pos).values(payload=payload or None))
    [data] = conn.execute(sa.select(I.c.data).where(I.c.id == w.paid)).scalars()
    conn.execute(sa.update(I).where(I.c.id == w.paid).values(data=data.replace('"total":120', '"total":1')))
    rechain(conn, w.paid)


def new_actor(conn: sa.Connection, w: World) -> None:
    conn.execute(sa.update(H).where(H.c.instance_id == w.paid, H.c.actor == "user:ann").values(actor="user:bob"))
    rechain(conn, w.paid)


def new_side_row(table: sa.Table, **values: Any) -> Attack:
    def run(conn: sa.Connection, w: World) -> None:
        it = w.broken if table is D else w.paid
        conn.execute(sa.update(table).where(table.c.instance_id == it).values(**values))
        redigest(conn, it, table)

    return run


def purged(conn: sa.Connection, w: World) -> None:
    forge_purge(conn, w.paid, "rows", chained=True)
    delete_whole(conn, w.paid)


def leaf_removed(conn: sa.Connection, w: World) -> None:
    """The instance goes, and its leaf with it; the checkpoint cannot be signed anew."""
    [blob] = conn.execute(sa.select(C.c.leaves).where(C.c.no == 1)).scalars()
    kept = b"".join(
        checkpoints.LEAF.pack(one.bytes, seq, half) for one, seq, half in checkpoints.leaves(blob) if one != w.paid
    )
    rehash_checkpoint(conn, 1, leaves=kept)
    delete_whole(conn, w.paid)


def place_moved(conn: sa.Connection, w: World) -> None:
    """So that nothing new is ever signed: rows that come now are passed over."""
    conn.execute(
        sa.update(service_tables.cursor).where(service_tables.cursor.c.name == "audit").values(pos=2**40, xact=2**40)
    )


SIGNED: dict[str, Attack] = {
    "the last row cut and the instance rolled back": lambda conn, w: cut_last(conn, w.paid),
    "an instance deleted with its whole history": lambda conn, w: delete_whole(conn, w.paid),
    "a chain recomputed": new_payload,
    "another actor": new_actor,
    "a decision in a chain recomputed": new_side_row(R, decision="no"),
    "an effect in a chain recomputed": new_side_row(E, answer='"paid twice"'),
    "a dead letter in a chain recomputed": new_side_row(D, status="discarded"),
    "a message in a chain recomputed": new_side_row(O, recipient="bob@example.org"),
    "an artifact in a chain recomputed": new_side_row(F, name="offer"),
    "an instance removed under a forged purge": purged,
    "an erasure that was forged": lambda conn, w: forge_erasure(conn, w.paid),
    "a leaf removed with its instance": leaf_removed,
    "an action changed": lambda conn, w: conn.execute(sa.update(service_tables.action).values(actor="user:bob")),
    "an action removed": lambda conn, w: conn.execute(sa.delete(service_tables.action)),
}


@pytest.mark.soak("postgresql")
@pytest.mark.parametrize("name", [*ALONE, *SIGNED])
def test_a_checkpoint_shows_what_was_changed(w: World, name: str) -> None:
    engine = w.trial.engine
    kept = engine.checkpoint()
    w.trial.create("note")  # life goes on, also in an instance that is covered
    w.trial.engine.fire(w.child, "done", actor=ANN)
    assert engine.verify(against=kept).problems == ()
    engine.store.write(take_triggers_off)
    engine.store.write(lambda conn: (ALONE | SIGNED)[name](conn, w) and None)
    assert engine.verify(against=kept).problems != ()


@pytest.mark.soak("postgresql")
@pytest.mark.parametrize("name", [name for name in SIGNED if not name.startswith("a leaf")])
def test_what_only_a_checkpoint_shows_is_not_seen_without_one(w: World, name: str) -> None:
    """The other half of the table: it says no more than is true."""
    engine = w.trial.engine
    engine.store.write(take_triggers_off)
    engine.store.write(lambda conn: SIGNED[name](conn, w) and None)
    verdict = engine.verify()
    assert verdict.problems == ()
    assert verdict.notes == ("there is no checkpoint: what was removed or rewritten with its whole chain is not found",)


def test_checkpoints_that_were_deleted_are_missed_by_whoever_has_a_copy(w: World) -> None:
    engine = w.trial.engine
    engine.checkpoint()
    w.trial.create("note")
    kept = engine.checkpoint()
    engine.store.write(take_triggers_off)
    w.run(sa.delete(C).where(C.c.no == 2))
    assert engine.verify().problems != ()  # the place that they had reached is behind the first
    w.run(sa.delete(C), sa.delete(service_tables.cursor).where(service_tables.cursor.c.name == "audit"))
    [problem] = engine.verify(against=kept).problems
    assert problem.startswith("the database is older than checkpoint 2 of ")
    assert "it has none" in problem


def test_a_checkpoint_cannot_be_signed_without_the_key(w: World) -> None:
    engine = w.trial.engine
    engine.core.audit_keys = Keys([b"x" * 32])
    kept = engine.checkpoint()
    engine.core.audit_keys = KEYS
    problems = engine.verify(against=kept).problems
    assert any("no checkpoint is signed with a key that is here" in problem for problem in problems)


@pytest.mark.soak("postgresql")
def test_a_lost_key_is_followed_by_another_that_vouches_for_the_past(w: World) -> None:
    engine = w.trial.engine
    kept = engine.checkpoint()
    Erasing(engine, CHIEF, "asked to").one(w.paid)
    engine.core.audit_keys = Keys([b"x" * 32])
    with pytest.raises(BadKey, match="if it is lost: interlock audit checkpoint --new-key"):
        engine.checkpoint()
    engine.checkpoint(new_key=True)
    assert engine.verify(against=kept).problems == ()
    engine.core.audit_keys = KEYS
    assert any("checkpoint 2 is not signed" in problem for problem in engine.verify().problems)


@pytest.mark.soak("postgresql")
def test_a_place_that_was_moved_is_seen_and_nothing_is_passed_over(w: World) -> None:
    engine = w.trial.engine
    engine.checkpoint()
    engine.store.write(lambda conn: place_moved(conn, w))
    it = w.trial.create("note")
    assert any("it was moved, or newer checkpoints were removed" in problem for problem in engine.verify().problems)
    engine.checkpoint()
    assert engine.verify().problems == ()
    engine.store.write(take_triggers_off)
    engine.store.write(lambda conn: delete_whole(conn, it))
    assert any("which checkpoint 2 has signed, is gone" in problem for problem in engine.verify().problems)


@pytest.mark.soak("postgresql")
def test_rows_that_no_checkpoint_covers_are_seen_also_where_others_were_removed(w: World, tmp_path: Path) -> None:
    engine, trial = w.trial.engine, w.trial
    engine.fire(w.child, "done", actor=ANN)
    w.run(sa.update(O).values(status="delivered"))
    engine.checkpoint()
    trial.advance(timedelta(days=30))
    Retention(engine, Policy(tmp_path, default=span(timedelta(days=1)))).run()
    it = trial.create("note")
    engine.checkpoint()
    assert engine.verify().problems == ()
    engine.store.write(take_triggers_off)
    row = engine.read(lambda conn: conn.execute(sa.select(H).where(H.c.instance_id == it)).one())
    seq = row.seq + 1
    hashed = chain.link(bytes(row.hash), it, seq, "noted", None, None, None, "x", row.at, None)
    w.run(
        sa.insert(H).values(pos=1, instance_id=it, seq=seq, kind="noted", actor="x", at=row.at, hash=hashed, xact=0),
        sa.update(I).where(I.c.id == it).values(seq=seq, head=hashed),
    )
    assert any("none covers it beyond seq 1" in problem for problem in engine.verify().problems)


@pytest.mark.soak("postgresql")
@pytest.mark.parametrize("forge", [purged, lambda conn, w: forge_erasure(conn, w.paid)])
def test_a_checkpoint_under_the_name_of_another_key_vouches_for_nothing(w: World, forge: Attack) -> None:
    engine = w.trial.engine
    kept = engine.checkpoint()
    engine.store.write(take_triggers_off)
    engine.store.write(lambda conn: forge(conn, w) and None)
    w.trial.create("note")
    second = engine.checkpoint()
    w.run(sa.update(C).where(C.c.no == 1).values(key_id="deadbeefdeadbeef"))
    for against in (None, kept, second):
        problems = engine.verify(against=against).problems
        assert any("has no seal of the audit key" in problem for problem in problems)
        assert any("checkpoint 1 was changed" in problem for problem in problems)


@pytest.mark.soak("postgresql")
@pytest.mark.parametrize("forged", [{"rows": 1}, {"mac": b"x" * 32}, {"vouched": 100}, {"pos": 2**40}, {"leaves": b""}])
@pytest.mark.parametrize("rehash", [False, True])
def test_nothing_is_signed_upon_a_checkpoint_that_was_forged(w: World, forged: dict[str, Any], rehash: bool) -> None:
    engine = w.trial.engine
    engine.checkpoint()
    w.trial.create("note")
    engine.store.write(take_triggers_off)
    if rehash:
        engine.store.write(lambda conn: rehash_checkpoint(conn, 1, **forged))
    else:
        w.run(sa.update(C).values(**forged))
    with pytest.raises(checkpoints.Forged, match="nothing is signed upon it"):
        engine.checkpoint()
    assert engine.verify().problems != ()
    assert "nothing is signed upon it" in engine.read(lambda conn: checkpoints.why_not_signed(conn, KEYS, None))


@pytest.mark.soak("postgresql")
def test_a_key_that_was_changed_is_named_by_the_first_checkpoint_of_the_new_one(w: World) -> None:
    engine = w.trial.engine
    engine.checkpoint()
    w.trial.create("note")
    engine.core.audit_keys = Keys([b"b" * 32, bytes(range(32))])
    kept = engine.checkpoint()
    assert engine.verify(against=kept).problems == ()
    engine.core.audit_keys = Keys([b"b" * 32])
    assert engine.verify(against=kept).problems == ()


@pytest.mark.soak("postgresql")
def test_a_rollback_is_not_forgotten_when_it_is_signed_upon(w: World, tmp_path: Path) -> None:
    """Every line of the file counts, not only its last."""
    engine = w.trial.engine
    file = tmp_path / "elsewhere" / "checkpoints"
    one = engine.checkpoint()
    back_up(engine.store, tmp_path / "old")
    w.trial.create("note")
    two = engine.checkpoint()
    assert one is not None
    assert two is not None
    checkpoints.keep(file, [one, two])
    assert engine.verify(against=checkpoints.from_argument(str(file))).problems == ()
    with open_store(f"sqlite:///{tmp_path}/restored.db") as store:
        restore(store, tmp_path / "old")
        with Trial([invoice, note], store=store) as other:
            other.engine.core.audit_keys = KEYS
            other.create("note")
            with pytest.raises(checkpoints.Forged, match="rolled back, restored or changed, so nothing is signed"):
                other.engine.checkpoint(kept=checkpoints.last_in_file(file))
            made = other.engine.checkpoint()  # somebody whose file is another one
            assert made is not None
            checkpoints.keep(file, [made])
            problems = other.engine.verify(against=checkpoints.from_argument(str(file))).problems
            assert any("was given twice, with different contents" in problem for problem in problems)


@pytest.mark.soak("postgresql")
def test_actions_are_signed_whatever_their_moment_is(w: World) -> None:
    """A clock may step, and a moment may be written by hand."""
    engine, trial = w.trial.engine, w.trial
    act = service_tables.action
    w.run(sa.insert(act).values(id=UUID(int=1), actor="user:x", what="x", target="y", at=engine.clock.now() + 10**13))
    engine.checkpoint()
    trial.advance(minutes=10)
    old = engine.clock.now() - 2 * 86_400 * 10**6
    w.run(sa.insert(act).values(id=UUID(int=2), actor="user:ann", what="w", target="t", at=old))
    trial.write(lambda unit: actions.record(unit, CHIEF, "token.make", "evil"))
    list(checkpointing.write(engine.store, KEYS, engine.clock.now(), sweep=False))
    [problem] = engine.verify().problems
    assert problem == f"the action {UUID(int=2)} is older than the newest checkpoint, and none covers it"
    engine.checkpoint()
    assert engine.verify().problems == ()
    assert list(checkpointing.write(engine.store, KEYS, engine.clock.now())) == []  # each is signed once
    w.run(sa.delete(act).where(act.c.target == "evil"))
    w.run(sa.delete(act).where(act.c.id == UUID(int=2)))
    assert len(engine.verify().problems) == 2


@pytest.mark.soak("postgresql")
@pytest.mark.parametrize("column", ["finished_at", "created_at", "entered_at"])
def test_what_was_backdated_is_found_and_not_removed_by_its_age(w: World, tmp_path: Path, column: str) -> None:
    engine = w.trial.engine
    engine.fire(w.child, "done", actor=ANN)
    w.run(sa.update(O).values(status="delivered"))
    engine.checkpoint()
    policy = Policy(tmp_path, default=span(timedelta(days=3650)))
    values = {"finished_at": 1, "created_at": 1, column: 1}
    w.run(sa.update(I).where(I.c.id == w.paid).values(**values))
    assert Retention(engine, policy).run().instances.total() == 0
    assert engine.verify().problems != ()


def test_verifying_beside_the_work_calls_nothing_a_forgery(w: World, tmp_path: Path) -> None:
    engine, trial = w.trial.engine, w.trial
    engine.checkpoint()
    trial.advance(minutes=10)
    trial.write(lambda unit: actions.record(unit, CHIEF, "token.make", "two"))
    engine.checkpoint()
    parts = checkpoint_verification.verify(engine.store, KEYS)
    found = [next(parts)]
    trial.advance(timedelta(days=30))
    Retention(engine, Policy(tmp_path, rows={"action": span(timedelta(days=1))})).run()
    for part in parts:
        found.append(part)
        trial.create("note")
        engine.checkpoint()
    assert [problem for part in found for problem in part.problems] == []


def test_a_removal_beside_the_first_checkpoint_needs_no_seal(w: World) -> None:
    engine = w.trial.engine
    engine.fire(w.child, "done", actor=ANN)
    new = engine.read(lambda conn: checkpointing._look(conn, engine.clock.now()))
    engine.core.audit_keys = None
    Erasing(engine, CHIEF, "asked to").one(w.child)
    engine.store.write(lambda conn: checkpointing._write(conn, new, KEYS, engine.clock.now()))
    engine.core.audit_keys = KEYS
    assert engine.verify().problems == ()


UNREADABLE: dict[str, str] = {
    "labels without end": "UPDATE instance SET labels = '{deep}' WHERE id = '{it}'",
    "labels said twice": """UPDATE instance SET labels = '{{"for":"bob","for":"ann"}}' WHERE id = '{it}'""",
    "data said twice": """UPDATE instance SET data = replace(data, '"total":120', '"total":1,"total":120')""",
    "another key to be found by": "UPDATE instance SET unique_key = 'may' WHERE id = '{it}'",
}
UNREADABLE_IN_SQLITE: dict[str, str] = {
    "data that is no text": "UPDATE instance SET data = CAST(x'7b22ff227d' AS TEXT) WHERE id = '{it}'",
    "a seq that is text": "UPDATE instance SET seq = 'abc' WHERE id = '{it}'",
    "a head that is text": "UPDATE instance SET head = 'abc' WHERE id = '{it}'",
    "a moment that is text": "UPDATE instance SET created_at = 'abc' WHERE id = '{it}'",
    "hashes that are text": "UPDATE history SET hash = 'abc' WHERE instance_id = '{it}'",
    "payloads that are bytes": "UPDATE history SET payload = x'00ff' WHERE instance_id = '{it}'",
    "content that is text": "UPDATE artifact SET content = 'abc'",
    "a size that is text": "UPDATE artifact SET size = 'abc'",
    "an answer of bytes": "UPDATE effect SET answer = x'00ff'",
    "a decision of bytes": "UPDATE review SET answer = x'00ff'",
    "leaves that are text": "UPDATE checkpoint SET leaves = 'abc'",
    "a checkpoint's hash that is text": "UPDATE checkpoint SET hash = 'abc'",
    "a purge hash that is text": "UPDATE checkpoint SET purge_hash = 'abc'",
    "details of bytes": "UPDATE action SET details = x'00ff'",
    "details that are no text": "UPDATE action SET details = CAST(x'ff' AS TEXT)",
}


@pytest.mark.soak("postgresql")
@pytest.mark.parametrize("name", [*UNREADABLE, *UNREADABLE_IN_SQLITE])
def test_a_row_that_cannot_be_read_is_a_problem_and_hides_no_other(w: World, name: str) -> None:
    engine = w.trial.engine
    if name in UNREADABLE_IN_SQLITE and engine.store.dialect != "sqlite":
        return  # the columns of PostgreSQL have types
    kept = engine.checkpoint()
    engine.store.write(take_triggers_off)
    statement = (UNREADABLE | UNREADABLE_IN_SQLITE)[name]
    it = w.paid.hex if engine.store.dialect == "sqlite" else w.paid
    w.run(sa.text(statement.format(it=it, deep="[" * 100_000).replace(":", "\\:")))
    assert engine.verify(against=kept).problems != ()
    w.run(sa.update(I).where(I.c.id == w.waits).values(state="refused"))
    assert any(str(w.waits) in problem for problem in engine.verify(against=kept).problems)


# -- what is allowed is not called a forgery


def test_retention_and_erasure_after_a_checkpoint_verify_against_it(w: World, tmp_path: Path) -> None:
    engine, trial = w.trial.engine, w.trial
    kept = engine.checkpoint()
    engine.fire(w.child, "done", actor=ANN)
    w.run(sa.update(O).values(status="delivered"))
    Erasing(engine, CHIEF, "asked to").one(w.child)
    assert engine.verify(against=kept).problems == ()
    trial.advance(timedelta(days=30))
    policy = Policy(tmp_path, default=span(timedelta(days=1)), rows={"action": span(timedelta(days=1))})
    report = Retention(engine, policy).run()
    assert report.instances.total() >= 1
    verdict = engine.verify(against=kept)
    assert verdict.problems == ()
    assert any("instances were removed, each with its purge" in answer for answer in verdict.notes)
    engine.checkpoint()
    assert engine.verify(against=kept).problems == ()


@pytest.mark.soak("postgresql")
def test_data_rewritten_after_an_erasure_is_seen(w: World) -> None:
    engine = w.trial.engine
    Erasing(engine, CHIEF, "asked to").one(w.paid)
    assert engine.verify().problems == ()
    w.run(sa.update(I).where(I.c.id == w.paid).values(data=json.dumps({"erased": "never"})))
    assert engine.verify().problems != ()


@pytest.mark.soak("postgresql")
def test_nothing_is_removed_by_a_process_without_the_key(w: World) -> None:
    engine = w.trial.engine
    engine.checkpoint()
    engine.core.audit_keys = None
    with pytest.raises(BadKey, match="which is not here, so nothing is removed"):
        Erasing(engine, CHIEF, "asked to").one(w.paid)


@pytest.mark.soak("postgresql")
def test_a_backup_is_verified_and_an_older_one_is_called_older(w: World, tmp_path: Path) -> None:
    engine = w.trial.engine
    first = engine.checkpoint()
    back_up(engine.store, tmp_path / "old")
    w.trial.create("note")
    second = engine.checkpoint()
    with open_store(f"sqlite:///{tmp_path}/restored.db") as store:
        restore(store, tmp_path / "old")
        with Trial([invoice, note], store=store) as other:
            other.engine.core.audit_keys = KEYS
            assert other.engine.verify(against=first).problems == ()
            [problem] = other.engine.verify(against=second).problems
            assert problem.startswith("the database is older than checkpoint 2 of ")
            other.create("note")
            assert other.engine.checkpoint() is not None
            assert other.engine.verify(against=first).problems == ()


def test_much_history_is_signed_in_several_short_transactions(w: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpointing, "MOST", 3)
    made = list(checkpointing.write(w.trial.engine.store, KEYS, w.trial.clock.now()))
    assert len(made) > 3
    assert list(checkpointing.write(w.trial.engine.store, KEYS, w.trial.clock.now())) == []
    assert w.trial.engine.verify(against=made[0]).problems == ()
