"""The feed tells everything once, in order, although transactions commit out of order."""

from __future__ import annotations

import threading
from datetime import timedelta
from uuid import uuid4

import pytest
import sqlalchemy as sa

from interlock.apps.sample import parcel as sample
from interlock.engine import Engine, InvalidData, Result, feed
from interlock.machine import Go
from interlock.store import Store, open_store
from interlock.store import service_tables as s
from interlock.store import tables as t
from interlock.store.positions import START, Position
from interlock.testing import VirtualClock
from tests.support.effects_and_reviews import parcel
from tests.support.racing import DEADLINE


@pytest.fixture
def engine(store: Store) -> Engine:
    return Engine(store, [parcel])


def everything(engine: Engine, after: Position = START) -> list[tuple[object, int]]:
    return [(h.instance_id, h.seq) for h in engine.feed(after)]


def test_events_are_sent_in_order_with_their_owner(engine: Engine) -> None:
    first = engine.create("parcel", workspace="red")
    second = engine.create("parcel")
    events = engine.feed(START)
    assert [(h.instance_id, h.workspace, h.machine, h.kind) for h in events] == [
        (first.id, "red", "parcel", "created"),
        (second.id, "default", "parcel", "created"),
    ]
    assert everything(engine, events[0].position) == [(second.id, 1)]
    assert everything(engine, events[1].position) == []


def test_only_events_of_the_asked_workspaces_are_sent(engine: Engine) -> None:
    red = engine.create("parcel", workspace="red")
    engine.create("parcel", workspace="blue")
    events = engine.read(lambda conn: feed.read(conn, START, workspaces={"red"}))
    assert [h.instance_id for h in events] == [red.id]


def test_a_reader_that_starts_now_hears_only_of_what_comes(engine: Engine) -> None:
    engine.create("parcel")
    here = engine.read(feed.now)
    later = engine.create("parcel")
    assert everything(engine, here) == [(later.id, 1)]


def test_a_transaction_that_commits_late_is_not_missed(postgres_url: str) -> None:
    """It took its position first and commits second; a reader who went by positions would never see it."""
    with open_store(postgres_url, wakeup="poll") as store:
        engine = Engine(store, [parcel])
        inside, go_on = threading.Event(), threading.Event()
        slow: list[object] = []

        def late() -> None:
            def job(conn: sa.Connection) -> None:
                slow.append(engine.within(conn).create("parcel").id)
                inside.set()
                assert go_on.wait(DEADLINE)

            store.write(job)

        thread = threading.Thread(target=late)
        thread.start()
        assert inside.wait(DEADLINE)
        quick = engine.create("parcel")
        seen = engine.feed(START)
        go_on.set()
        thread.join(DEADLINE)
        seen += engine.feed(seen[-1].position if seen else START)
        assert sorted(str(h.instance_id) for h in seen) == sorted([str(slow[0]), str(quick.id)])


def test_a_database_restored_from_a_dump_goes_on_telling(postgres_url: str) -> None:
    """A dump keeps the numbers of the transactions, the new server counts its own."""
    with open_store(postgres_url, wakeup="poll") as store:
        engine = Engine(store, [parcel])
        old = engine.create("parcel")

        def as_restored(conn: sa.Connection) -> None:
            conn.exec_driver_sql("ALTER TABLE history DISABLE TRIGGER history_keep")
            conn.exec_driver_sql("UPDATE history SET xact = xact + 1000000")
            conn.exec_driver_sql("ALTER TABLE history ENABLE TRIGGER history_keep")
            conn.execute(sa.insert(s.cursor).values(name="x", xact=1_000_000, pos=1))

        store.write(as_restored)
        assert everything(engine) == []
        again = Engine(store, [parcel])
        new = again.create("parcel")
        assert everything(again) == [(old.id, 1), (new.id, 1)]
        assert again.verify().problems == ()
        assert store.read(lambda conn: conn.execute(sa.select(s.cursor.c.xact)).scalar()) == 0


def test_a_position_is_read_back_as_it_was_written() -> None:
    assert feed.parse(str(Position(7, 42))) == Position(7, 42)


@pytest.mark.parametrize("text", ["", "7", "7-", "-7", "a-b", "7-1.5", "1-" + "9" * 60])
def test_a_position_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(InvalidData, match="not a position in the feed"):
        feed.parse(text)


def test_a_row_says_how_long_it_was_there_and_how_long_its_step_had_waited(store: Store) -> None:
    """From the entry into the state to the move out of it, and from the ready step to its claim."""
    clock = VirtualClock()
    engine = Engine(store, [sample], clock=clock)
    made = engine.create("parcel", {"content": "tea"})
    clock.advance(timedelta(seconds=5))
    [claim] = engine.claim(uuid4(), ["parcel"], 1)
    clock.advance(timedelta(seconds=2))
    assert engine.finish([Result(claim, Go("labelling"))]) == [True]
    rows = sa.select(t.history.c.dwell, t.history.c.waited).where(t.history.c.instance_id == made.id)
    values = [tuple(row) for row in store.read(lambda conn: conn.execute(rows.order_by(t.history.c.seq)).all())]
    assert values == [(None, None), (7_000_000, 5_000_000)]
