"""Audit: history cannot be changed, and where somebody did it all the same, verifying finds it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
import sqlalchemy as sa

from interlock.engine import NotFound, Past
from interlock.engine.audit import (
    chain,
    checkpoint_verification,
    checkpointing,
    checkpoints,
    purges,
    replaying,
    verifying,
)
from interlock.engine.audit.signing import Keys
from interlock.engine.unit import Unit
from interlock.machine import OWNER, Actor, Go, Outcome
from interlock.store import Store
from interlock.store import tables as t
from interlock.store.retention_tables import checkpoint
from interlock.testing import START, Trial
from interlock.worker import Task
from tests.support.databases import shared_database
from tests.support.effects_and_reviews import ANN, Purchase, purchase

H, I, P = t.history, t.instance, t.purge  # noqa: E741
Change = Callable[[sa.Connection, UUID], Any]


def draft(task: Task[Purchase]) -> Outcome:
    return Go("review", data={"amount": 5 if task.data.note else 9}, reason="the cheapest")


def pay(_: Task[Purchase]) -> Outcome:
    return Go("paid")


MACHINE = purchase.with_handlers({"drafting": draft, "review": pay})


@pytest.fixture
def trial(store: Store) -> Iterator[Trial]:
    with Trial([MACHINE], store=store) as trial:
        yield trial


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def spoilt(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Trial]:
    """A database without the triggers, for all who tamper: each with an instance of its own."""
    with Trial([MACHINE], store=shared_database(request, tmp_path_factory.mktemp("audit"))) as trial:
        trial.engine.store.write(drop_triggers)
        yield trial


def six_rows(trial: Trial, every: timedelta = timedelta(minutes=1)) -> UUID:
    """A purchase that was created, moved, moved back, moved, paused and resumed."""
    it = trial.create("purchase", {"item": "chairs"})
    trial.advance(every)
    trial.engine.fire(it, "redo", actor=ANN, data={"note": "cheaper"})
    trial.advance(every)
    trial.engine.pause(it, actor=ANN)
    trial.advance(every)
    trial.engine.resume(it, actor=ANN)
    assert [row.kind for row in trial.engine.history(it)] == ["created", "moved", "moved", "moved", "paused", "resumed"]
    return it


@pytest.fixture
def it(trial: Trial) -> UUID:
    return six_rows(trial)


def drop_triggers(conn: sa.Connection) -> None:
    """What only the database's administrator can do."""
    if conn.dialect.name == "sqlite":
        for name in ("history_no_replace", "history_no_delete", "history_no_update"):
            conn.exec_driver_sql(f"DROP TRIGGER {name}")
    else:
        conn.exec_driver_sql("ALTER TABLE history DISABLE TRIGGER ALL")


def row_of(it: UUID, seq: int) -> sa.ColumnElement[bool]:
    return sa.and_(H.c.instance_id == it, H.c.seq == seq)


def purge(trial: Trial, it: UUID, kind: str, upto: int) -> None:
    """Leave to remove, as retention and erasure write it down."""

    def run(unit: Unit) -> None:
        last = unit.conn.execute(sa.select(H.c.hash).where(row_of(it, upto))).scalar_one()
        purges.permit(unit, kind, [(it, upto, last, None)], Actor(OWNER, "chief"), "asked to")

    trial.engine.write(run)


def run_sql(trial: Trial, statement: sa.Executable) -> Any:
    return trial.engine.store.write(lambda conn: conn.execute(statement).rowcount)


def test_an_untouched_history_verifies(trial: Trial, it: UUID) -> None:
    verdict = trial.engine.verify()
    assert (verdict.instances, verdict.rows, verdict.problems) == (1, 6, ())
    assert trial.engine.verify(it) == replaying.Verdict(1, 6)


def test_each_row_vouches_for_itself_and_for_the_row_before_it(trial: Trial, it: UUID) -> None:
    rows = trial.engine.read(lambda conn: conn.execute(sa.select(H).order_by(H.c.seq)).all())
    before = chain.START
    for number, row in enumerate(rows, 1):
        assert row.seq == number
        digest = chain.digest(row.payload)
        before = chain.link(
            before, it, row.seq, row.kind, row.from_state, row.to_state, row.event, row.actor, row.at, digest
        )
        assert bytes(row.hash) == before
    assert bytes(trial.get(it).head) == before


def rows(change: Callable[[UUID], sa.Executable]) -> Change:
    return lambda conn, it: conn.execute(change(it))


def row(number: int, **values: Any) -> Change:
    return rows(lambda it: sa.update(H).where(row_of(it, number)).values(**values))


def instance(**values: Any) -> Change:
    return rows(lambda it: sa.update(I).where(I.c.id == it).values(**values))


def swap(conn: sa.Connection, it: UUID) -> None:
    for old, new in ((2, 1000), (3, 2), (1000, 3)):
        conn.execute(sa.update(H).where(row_of(it, old)).values(seq=new))


def shorten(conn: sa.Connection, it: UUID) -> None:
    """The last row goes, and the instance is changed to match."""
    conn.execute(sa.delete(H).where(row_of(it, 6)))
    head = sa.select(H.c.hash).where(row_of(it, 5)).scalar_subquery()
    conn.execute(sa.update(I).where(I.c.id == it).values(seq=5, head=head))


def invent(conn: sa.Connection, it: UUID) -> None:
    conn.execute(
        sa.insert(H).values(
            instance_id=it,
            seq=7,
            kind="moved",
            from_state="review",
            to_state="paid",
            event="paid",
            actor="user:ann",
            at=1,
            hash=b"y" * 32,
        )
    )


STRANGER = UUID(int=7)
TAMPERINGS: dict[str, Change] = {
    "a payload is changed": row(2, payload='{"set":{}}'),
    "a payload is changed with its digest": row(2, payload="{}", digest=chain.digest("{}")),
    "a payload is emptied without leave": row(2, payload=None),
    "a payload is emptied with its digest": row(2, payload=None, digest=None),
    "a payload is nonsense": row(2, payload="{{{"),
    "a payload is a list": row(2, payload="[1]"),
    "a payload is made up": row(6, payload='{"reason":"x"}'),
    "a kind is changed": row(3, kind="forced"),
    "a source is changed": row(3, from_state="paid"),
    "a target is changed": row(3, to_state="paid"),
    "an event is changed": row(3, event="approve"),
    "an actor is changed": row(3, actor="user:bob"),
    "a moment is changed": row(3, at=1),
    "a hash is changed": row(6, hash=b"x" * 32),
    "a row is numbered anew": row(6, seq=7),
    "a row is given to another instance": row(6, instance_id=STRANGER),
    "a row is made up": invent,
    "two rows are swapped": swap,
    "the first row is gone": rows(lambda it: sa.delete(H).where(row_of(it, 1))),
    "a row is gone": rows(lambda it: sa.delete(H).where(row_of(it, 3))),
    "the last row is gone": rows(lambda it: sa.delete(H).where(row_of(it, 6))),
    "the last rows are gone": rows(lambda it: sa.delete(H).where(H.c.instance_id == it, H.c.seq > 3)),
    "the last row is gone and the instance agrees": shorten,
    "all rows are gone": rows(lambda it: sa.delete(H).where(H.c.instance_id == it)),
    "the instance is gone": rows(lambda it: sa.delete(I).where(I.c.id == it)),
    "the instance is in another state": instance(state="paid"),
    "the instance has other data": instance(data='{"item":"thrones"}'),
    "the instance has data that is nonsense": instance(data="{{{"),
    "the instance has no data": instance(data=None),
    "the instance is paused in secret": instance(paused_at=1),
    "the instance has another seq": instance(seq=9),
    "the instance has another head": instance(head=b"z" * 32),
}


def test_tampering_is_found(spoilt: Trial) -> None:
    """Each with an instance of its own, and all at once: to verify a database takes long."""
    # Quickly, so that nothing becomes due of those that others have spoilt.
    instances = {name: six_rows(spoilt, timedelta(0)) for name in TAMPERINGS}
    sound = six_rows(spoilt, timedelta(0))
    for name, it in instances.items():
        spoilt.engine.store.write(lambda conn, name=name, it=it: TAMPERINGS[name](conn, it))  # type: ignore[misc]
    problems = spoilt.engine.verify().problems
    assert [name for name, it in instances.items() if not any(one.startswith(str(it)) for one in problems)] == []
    assert spoilt.engine.verify(sound).problems == ()


def test_tampering_with_big_data_beside_the_row_is_found(trial: Trial) -> None:
    it = trial.create("purchase", {"item": "x" * 5000})
    for text in ('{"item":"thrones"}', "{{{"):
        run_sql(trial, sa.update(t.instance_data).values(data=text))
        (problem,) = trial.engine.verify().problems
        assert str(it) in problem
        assert "data" in problem


# -- the database itself refuses

REFUSED: dict[str, tuple[str, str]] = {
    "update": ("UPDATE history SET actor = 'nobody'", "a row cannot be changed"),
    "update of a payload": ("UPDATE history SET payload = NULL", "a row cannot be changed"),
    "delete": ("DELETE FROM history", "only after a purge row allows it"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_the_database_itself_refuses_to_change_history(trial: Trial, it: UUID, name: str) -> None:
    statement, why = REFUSED[name]
    with pytest.raises(sa.exc.DBAPIError, match=why):
        run_sql(trial, sa.text(statement))
    assert trial.engine.verify().rows == 6


def test_postgresql_refuses_to_truncate_history(postgres_url: str) -> None:
    with Trial([MACHINE], store=postgres_url) as trial:
        trial.create("purchase", {"item": "chairs"})
        for table in ("history", "history CASCADE", "purge"):
            with pytest.raises(sa.exc.DBAPIError, match=r"cannot be truncated|purge rows are kept"):
                run_sql(trial, sa.text(f"TRUNCATE {table}"))
        assert trial.engine.verify().rows == 1


REPLACEMENTS = {
    "the same number": "(instance_id, seq, kind, actor, at, hash) SELECT instance_id, seq, kind, actor, at, hash",
    "the same place": "(pos, instance_id, seq, kind, actor, at, hash) "
    "SELECT pos, instance_id, seq + 1, kind, actor, at, hash",
    "the same row": "SELECT *",
}


@pytest.mark.parametrize("name", REPLACEMENTS)
def test_sqlite_refuses_to_replace_history(sqlite_url: str, name: str) -> None:
    with Trial([MACHINE], store=sqlite_url) as trial:
        trial.create("purchase", {"item": "chairs"})
        with pytest.raises(sa.exc.DBAPIError, match="append-only: this row exists"):
            run_sql(trial, sa.text(f"INSERT OR REPLACE INTO history {REPLACEMENTS[name]} FROM history"))
        with pytest.raises(sa.exc.DBAPIError, match="a row cannot be changed"):
            run_sql(trial, sa.text("UPDATE OR REPLACE history SET actor = 'nobody'"))
        assert trial.engine.verify().problems == ()


# -- purge: leave to remove, exactly as far as it says


FORGED = "a purge says that its rows were removed, and it is still there: the purge is forged"


def test_a_purge_of_rows_lets_exactly_those_rows_go(trial: Trial, it: UUID) -> None:
    other = trial.create("purchase", {"item": "tea"})
    purge(trial, it, "rows", 4)
    for refused in (H.c.instance_id == other, row_of(it, 5), H.c.instance_id == it):
        with pytest.raises(sa.exc.DBAPIError, match="only after a purge row allows it"):
            run_sql(trial, sa.delete(H).where(refused))
    with pytest.raises(sa.exc.DBAPIError, match="a row cannot be changed"):
        run_sql(trial, sa.update(H).where(row_of(it, 1)).values(payload=None))
    assert run_sql(trial, sa.delete(H).where(H.c.instance_id == it, H.c.seq <= 4)) == 4


def test_rows_of_an_instance_that_is_there_are_never_removed(trial: Trial, it: UUID) -> None:
    """Retention removes an instance with all its rows, so whoever removed some had another purpose."""
    purge(trial, it, "rows", 4)
    assert f"{it}: {FORGED}" in trial.engine.verify().problems
    run_sql(trial, sa.delete(H).where(H.c.instance_id == it, H.c.seq <= 4))
    assert f"{it}: seq 1 is missing, 5 follows" in trial.engine.verify().problems


def test_a_purge_of_payloads_lets_exactly_those_be_emptied(trial: Trial, it: UUID) -> None:
    purge(trial, it, "payloads", 4)
    erase = sa.update(H).values(payload=None)
    for refused in (
        sa.update(H).where(row_of(it, 1)).values(payload="{}"),
        sa.update(H).where(row_of(it, 1)).values(payload=None, digest=None),
        sa.update(H).where(row_of(it, 1)).values(payload=None, actor="nobody"),
        erase.where(row_of(it, 5)),
        erase,
    ):
        with pytest.raises(sa.exc.DBAPIError, match="a row cannot be changed"):
            run_sql(trial, refused)
    with pytest.raises(sa.exc.DBAPIError, match="only after a purge row allows it"):
        run_sql(trial, sa.delete(H).where(row_of(it, 1)))
    assert run_sql(trial, erase.where(H.c.seq <= 4)) == 4
    rows = trial.engine.history(it)
    assert [row.erased for row in rows[:2]] == [True, True]
    assert rows[0].payload == {}


def test_payloads_are_emptied_only_where_the_history_says_that_it_was_erased(trial: Trial, it: UUID) -> None:
    purge(trial, it, "payloads", 4)
    run_sql(trial, sa.update(H).where(H.c.seq <= 4).values(payload=None))
    problems = trial.engine.verify().problems
    assert f"{it}: a purge says that it was erased up to seq 4, and no row of its history says so" in problems
    assert f"{it}: the payload of seq 1 was emptied without leave" in problems


def test_purge_rows_are_kept(trial: Trial, it: UUID) -> None:
    purge(trial, it, "rows", 2)
    for refused in (sa.delete(P), sa.update(P).values(upto_seq=6)):
        with pytest.raises(sa.exc.DBAPIError, match="they prove what was removed"):
            run_sql(trial, refused)


# -- the past


def test_the_state_at_any_moment_of_the_past_is_known(trial: Trial, it: UUID) -> None:
    rows = trial.engine.history(it)

    def at(minutes: float) -> Past:
        return trial.engine.at(it, START + timedelta(minutes=minutes))

    drafted = {"item": "chairs", "amount": 9, "note": ""}
    assert at(0.5) == Past(2, rows[1].at, "review", drafted, False)
    assert (at(1).state, at(1).data["note"], at(1).data["amount"]) == ("review", "cheaper", 5)
    assert (at(2).paused, at(2.9).paused, at(3).paused) == (True, True, False)
    with pytest.raises(NotFound, match="at that moment"):
        at(-1)


def test_replaying_the_whole_history_gives_the_present(trial: Trial, it: UUID) -> None:
    present = trial.get(it)
    replayed = replaying.replay(trial.engine.history(it))
    assert replayed is not None
    assert (replayed.seq, replayed.state, replayed.data) == (present.seq, present.state, present.data)
    assert trial.engine.at(it, datetime(2099, 1, 1, tzinfo=UTC)) == replayed


def test_a_long_history_is_replayed_and_verified_whole(trial: Trial) -> None:
    it = trial.create("purchase", {"item": "chairs"})

    def many(unit: Any) -> None:
        instance = unit.lock(it)
        for number in range(2500):
            unit.record(instance, "noted", ANN, payload={"set": {"note": str(number)}})
        instance.set_data({**instance.data, "note": "2499"})

    trial.write(many)
    assert trial.engine.at(it, trial.clock.time).data["note"] == "2499"
    assert trial.engine.verify(it) == replaying.Verdict(1, 2501, ())


def test_verifying_finds_nothing_wrong_while_others_write(trial: Trial, it: UUID) -> None:
    """Each of its reads is one snapshot: a row that is written between two statements is in none of them."""
    written: list[str] = []

    def write_between(_c: Any, _d: Any, statement: str, *_: Any) -> None:
        if "FROM instance" in statement and not written:
            written.append(statement)
            trial.engine.keep_artifact(it, "offer", b"...", media_type="text/plain")

    sa.event.listen(sa.Engine, "after_cursor_execute", write_between)
    try:
        verdict = trial.engine.verify()
    finally:
        sa.event.remove(sa.Engine, "after_cursor_execute", write_between)
    assert written
    assert verdict.problems == ()
    assert trial.engine.verify(it).rows == 7


def test_many_instances_are_verified_in_short_reads(trial: Trial) -> None:
    trial.engine.create_many("purchase", [{"item": str(n)} for n in range(7)])
    parts = list(verifying.verify(trial.engine.store, batch=3))
    assert [part.instances for part in parts if part.instances] == [3, 3, 1]
    assert not any(part.problems for part in parts)


def test_an_instance_that_does_not_exist_cannot_be_verified(trial: Trial) -> None:
    with pytest.raises(NotFound, match="there is no instance"):
        trial.engine.verify(UUID(int=1))


def test_a_checkpoint_holds_the_newest_row_however_transactions_interleave(trial: Trial) -> None:
    """On PostgreSQL one that began first may write last; the feed is ordered by when they began."""
    engine = trial.engine
    keys = Keys([b"k" * 32])
    first, second = trial.create("purchase", {"item": "a"}), trial.create("purchase", {"item": "b"})
    begun, go = threading.Event(), threading.Event()

    def slow(unit: Unit) -> None:
        unit.record(unit.lock(first), "noted", ANN)
        unit.conn.execute(sa.update(I).where(I.c.id == first).values(priority=I.c.priority))
        begun.set()
        assert go.wait(30)
        unit.record(unit.lock(second), "noted", ANN, payload={"by": "the slow one"})

    def quick(unit: Unit) -> None:
        unit.record(unit.lock(second), "noted", ANN, payload={"by": "the quick one"})

    thread = threading.Thread(target=lambda: engine.write(slow))
    thread.start()
    assert begun.wait(30)
    if engine.store.dialect == "sqlite":  # it has one writer
        go.set()
        thread.join()
        engine.write(quick)
    else:
        engine.write(quick)
        go.set()
        thread.join()
    list(checkpointing.write(engine.store, keys, engine.clock.now()))
    seq = engine.get(second).seq
    [row] = engine.read(lambda conn: conn.execute(sa.select(checkpoint.c.leaves)).all())
    assert {one: top for one, top, _ in checkpoints.leaves(row.leaves)}[second] == seq
    assert sum(part.problems != () for part in checkpoint_verification.verify(engine.store, keys)) == 0
