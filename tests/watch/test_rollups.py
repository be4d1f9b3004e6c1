"""The roll-ups say what a full scan would say, whoever adds up, in whatever pieces."""

from __future__ import annotations

import threading
from datetime import timedelta
from typing import Any

import pytest
import sqlalchemy as sa

from interlock.engine import Engine
from interlock.machine import Fail, Go, Registry
from interlock.store import SECOND, Store, micros, open_store
from interlock.store import service_tables as s
from interlock.testing import START, Trial, VirtualClock, random_walk
from interlock.watch import rollups
from interlock.watch.histogram import DAY, HOUR
from tests.support.machines import (
    ANN,
    BOSS,
    LETTER,
    PARCEL,
    THE_SYSTEM,
    Unreachable,
    claim_one,
    do,
    pass_time,
)
from tests.support.racing import DEADLINE
from tests.support.recount import counted, present, recount, rolled
from tests.support.rollups import JOB, STUBBORN, STUCK, engine_of, roll_all
from tests.support.waiting import eventually


@pytest.mark.parametrize("limit", [1, 2, 7])
def test_it_does_not_matter_where_a_batch_ends(url: str, limit: int) -> None:
    random_walk(STUBBORN, store=url, seed=3, steps=60)
    with engine_of(url, STUBBORN) as engine:
        assert engine.read(rollups.behind)
        roll_all(engine, limit)
        slow = engine.read(lambda conn: recount(conn, engine.registry))
        assert (engine.read(counted), engine.read(rolled)) == (slow.present, slow.sums)


def test_the_very_first_look_adds_up_already(store: Store) -> None:
    engine = Engine(store, [PARCEL], clock=VirtualClock())
    assert not engine.read(rollups.behind)
    engine.create("parcel")
    eventually(lambda: engine.read(rollups.behind))
    assert engine.write(rollups.roll) is False
    assert engine.read(counted) == {("default", "parcel", "ordered"): 1}


def test_a_row_is_counted_once(store: Store) -> None:
    engine = Engine(store, [PARCEL], clock=VirtualClock())
    engine.create("parcel")
    for _ in range(3):
        roll_all(engine)
    assert engine.read(counted) == {("default", "parcel", "ordered"): 1}


def test_while_one_process_adds_up_another_has_nothing_to_do(postgres_url: str) -> None:
    with open_store(postgres_url, wakeup="poll") as store:
        engine = Engine(store, [PARCEL], clock=VirtualClock())
        engine.create("parcel")
        roll_all(engine)
        engine.create("parcel")
        eventually(lambda: engine.read(rollups.behind))
        inside, go_on = threading.Event(), threading.Event()

        def slowly() -> None:
            def job(unit: Any) -> None:
                rollups.roll(unit)
                inside.set()
                assert go_on.wait(DEADLINE)

            engine.write(job)

        thread = threading.Thread(target=slowly)
        thread.start()
        assert inside.wait(DEADLINE)
        assert engine.write(rollups.roll) is False
        go_on.set()
        thread.join(DEADLINE)
        assert engine.read(counted) == {("default", "parcel", "ordered"): 2}


def test_a_transaction_that_commits_late_is_counted_too(postgres_url: str) -> None:
    """It took its position first and commits second; whoever went by positions would never count it."""
    with open_store(postgres_url, wakeup="poll") as store:
        engine = Engine(store, [PARCEL], clock=VirtualClock())
        inside, go_on = threading.Event(), threading.Event()

        def late() -> None:
            def job(conn: sa.Connection) -> None:
                engine.within(conn).create("parcel")
                inside.set()
                assert go_on.wait(DEADLINE)

            store.write(job)

        thread = threading.Thread(target=late)
        thread.start()
        assert inside.wait(DEADLINE)
        engine.create("parcel")
        engine.write(rollups.roll)
        assert engine.read(counted) == {}, "what comes after an open transaction waits for it"
        go_on.set()
        thread.join(DEADLINE)
        roll_all(engine)
        assert engine.read(counted) == {("default", "parcel", "ordered"): 2}


def ends(engine: Engine) -> dict[str, int]:
    roll_all(engine)
    return {state: n for (_, _, measure, state), (n, _) in engine.read(rolled).items() if measure == "finished"}


def test_passing_through_a_final_state_is_no_end(store: Store) -> None:
    with Trial([PARCEL], store=store) as trial:
        trial.create("parcel")
        do(trial, Go(("shipped", "ordered")))
        assert ends(trial.engine) == {}
        do(trial, Go("shipped"))
        assert ends(trial.engine) == {"shipped": 1}


def test_what_is_reopened_and_ends_again_has_ended_twice(store: Store) -> None:
    with Trial([PARCEL], store=store) as trial:
        it = trial.create("parcel")
        do(trial, Go("shipped"))
        pass_time(trial, hours=1)
        trial.engine.fire(it, "reopen", actor=ANN)
        trial.engine.fire(it, "approve", actor=ANN)
        assert ends(trial.engine) == {"shipped": 2}


def test_what_is_tried_again_by_itself_has_not_ended_and_what_is_given_up_has(store: Store) -> None:
    with Trial([JOB], store=store) as trial:
        trial.create("job")
        do(trial, Fail(Unreachable("no answer")))
        assert ends(trial.engine) == {}
        pass_time(trial, hours=1)
        do(trial, Fail(Unreachable("no answer")))
        assert ends(trial.engine) == {"failed": 1}


def test_a_failure_that_leads_on_to_a_final_state_ends_only_there(store: Store) -> None:
    with Trial([STUBBORN], store=store) as trial:
        trial.create("job")
        do(trial, Fail(Unreachable("no answer")))
        assert ends(trial.engine) == {"given_up": 1}


def test_what_an_owner_forces_to_rest_has_ended(store: Store) -> None:
    with Trial([JOB], store=store) as trial:
        it = trial.create("job")
        trial.engine.force(it, "failed", actor=BOSS, reason="a mess")
        assert ends(trial.engine) == {"failed": 1}


def test_what_is_sent_to_where_nothing_is_tried_again_has_ended(store: Store) -> None:
    with Trial([STUCK], store=store) as trial:
        trial.engine.fire(trial.create("job"), "fail", actor=THE_SYSTEM)
        assert ends(trial.engine) == {"failed": 1}


def test_an_error_that_looks_like_json_is_one_failed_attempt(store: Store) -> None:
    """A key is recognised by its text, so another text must not look like one."""
    with Trial([JOB], store=store) as trial:
        trial.create("job")
        do(trial, Fail(Unreachable('}]},"exhausted":true,{"crash":1,"error":{ \x00 \ud800 %_\\')))
        assert ends(trial.engine) == {}
        assert trial.engine.read(rolled)["default", "job", "failed", "first"] == (1, 0)


def test_a_state_that_is_called_like_a_key_is_counted(store: Store) -> None:
    with Trial([PARCEL], store=store) as trial:
        it = trial.create("parcel", {"item": '"took":1', "note": '{"error":{'})
        claim_one(trial)
        trial.engine.fire(it, "stop", actor=ANN)
        roll_all(trial.engine)
        values = {measure for _, _, measure, _ in trial.engine.read(rolled)}
        assert values == {"created", "waited", "moved"}


def test_machines_that_only_other_processes_know_are_added_up_too(store: Store) -> None:
    clock = VirtualClock()
    engine = Engine(store, [PARCEL], clock=clock)
    it = engine.create("parcel")
    engine.fire(it.id, "cancel", actor=ANN)
    stranger = Engine(store, [LETTER], clock=clock)
    assert ends(stranger) == {"cancelled": 1}


def test_each_workspace_has_sums_of_its_own(store: Store) -> None:
    engine = Engine(store, [PARCEL], clock=VirtualClock())
    engine.create("parcel", workspace="red")
    engine.create("parcel", workspace="blue")
    roll_all(engine)
    assert engine.read(counted) == engine.read(present)
    assert {workspace for workspace, *_ in engine.read(rolled)} == {"red", "blue"}


def put(conn: sa.Connection, span: str, at: int) -> None:
    values = {"workspace": "w", "machine": "m", "measure": "created", "state": "", "size": 0, "n": 1, "total": 0}
    conn.execute(sa.insert(s.rollup).values(span=span, at=at, worst=0, **values))


def test_old_sums_are_removed_in_pieces(store: Store) -> None:
    engine = Engine(store, [PARCEL], clock=VirtualClock())
    now = micros(START)

    def fill(conn: sa.Connection) -> None:
        for number in range(7):
            put(conn, "minute", now - 49 * HOUR - number)
            put(conn, "hour", now - 401 * DAY - number)
        for kept in (now, now - 47 * HOUR):
            put(conn, "minute", kept)
        put(conn, "hour", now - 399 * DAY)

    assert not engine.read(lambda conn: rollups.anything_old(conn, now))
    store.write(fill)
    assert engine.read(lambda conn: rollups.anything_old(conn, now))
    assert [engine.write(lambda unit: rollups.prune(unit, 4)) for _ in range(2)] == [True, False]
    left = engine.read(lambda conn: conn.execute(sa.select(s.rollup.c.span, s.rollup.c.at)).all())
    assert {tuple(row) for row in left} == {
        ("minute", now),
        ("minute", now - 47 * HOUR),
        ("hour", now - 399 * DAY),
    }
    assert not engine.read(lambda conn: rollups.anything_old(conn, now))


def test_a_history_from_long_ago_is_added_up_by_the_hour_only(store: Store) -> None:
    clock = VirtualClock()
    engine = Engine(store, [PARCEL], clock=clock)
    engine.create("parcel")
    clock.advance(timedelta(days=3))
    roll_all(engine)
    assert engine.read(rolled) == {("default", "parcel", "created", "ordered"): (1, 0)}
    assert engine.read(lambda conn: rolled(conn, "minute")) == {}


def test_sums_stand_at_the_beginning_of_their_minute_and_hour(store: Store) -> None:
    clock = VirtualClock(START + timedelta(minutes=17, seconds=31))
    engine = Engine(store, Registry([PARCEL]), clock=clock)
    engine.create("parcel")
    roll_all(engine)
    rows = engine.read(lambda conn: conn.execute(sa.select(s.rollup.c.span, s.rollup.c.at)).all())
    assert {tuple(row) for row in rows} == {("hour", micros(START)), ("minute", micros(START) + 17 * 60 * SECOND)}
