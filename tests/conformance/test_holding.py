"""Holding: once a hold is committed no step of the machine starts, on either database, until it is let go on."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from datetime import timedelta

import pytest
import sqlalchemy as sa

from interlock.engine import NotFound, Refused, picking
from interlock.machine import OWNER, Actor, Go
from interlock.store import Store, failpoints
from interlock.store.service_tables import action
from interlock.store.tables import instance
from interlock.testing import Trial
from tests.conformance.machines import ANN, LETTER, PARCEL, claim_one, do, pass_time, race, trial_of
from tests.worker.waiting import eventually

CHIEF = Actor(OWNER, "chief")


@pytest.fixture
def trial(store: Store) -> Iterator[Trial]:
    with trial_of(store, PARCEL, LETTER) as trial:
        yield trial


def ready(trial: Trial) -> bool:
    """Whether a worker would try to claim."""
    core = trial.engine.core
    return trial.engine.read(lambda conn: picking.anything_ready(core, conn, core.clock.now(), trial.queues))


# -- what stands still


def test_nothing_of_a_held_machine_is_claimed_and_the_others_go_on(trial: Trial) -> None:
    trial.create("parcel")
    letter = trial.create("letter")
    trial.engine.holds.hold("parcel", actor=ANN)
    assert [claim.id for claim in trial.claim(5)] == [letter]
    assert trial.claim(5) == []
    assert not ready(trial)


def test_a_hold_on_everything_stops_every_machine(trial: Trial) -> None:
    trial.create("parcel")
    trial.create("letter")
    trial.engine.holds.hold("*", actor=ANN)
    assert trial.claim(5) == []
    assert not ready(trial)


def test_a_machine_in_a_queue_that_others_use_stands_still_alone(trial: Trial) -> None:
    trial.create("parcel", queue="letter")
    letter = trial.create("letter")
    trial.engine.holds.hold("parcel", actor=ANN)
    assert [claim.id for claim in trial.claim(5)] == [letter]


def test_a_handler_that_runs_comes_to_its_end(trial: Trial) -> None:
    it = trial.create("parcel")
    claim = claim_one(trial)
    trial.engine.holds.hold("*", actor=ANN)
    assert trial.finish(claim, Go("checking"))
    assert trial.state(it) == "checking"


def test_people_decide_and_timers_fire_while_it_is_held(trial: Trial) -> None:
    decided, waiting = trial.create("letter"), trial.create("letter")
    do(trial, Go("waiting"))
    do(trial, Go("waiting"))
    trial.engine.holds.hold("*", actor=ANN)
    trial.engine.fire(decided, "rewrite", actor=ANN)
    assert trial.state(decided) == "draft"
    assert trial.claim(5) == []
    pass_time(trial, hours=25)
    assert trial.state(waiting) == "binned"


def test_holding_twice_keeps_who_was_first(trial: Trial) -> None:
    first = trial.engine.holds.hold("parcel", actor=ANN, reason="a strike")
    trial.clock.advance(timedelta(minutes=1))
    assert trial.engine.holds.hold("parcel", actor=CHIEF, reason="another") == first
    assert trial.engine.holds.all() == [first]
    assert (first.machine, first.actor, first.reason) == ("parcel", "user:ann", "a strike")


def test_a_machine_that_nobody_knows_cannot_be_held(trial: Trial) -> None:
    with pytest.raises(NotFound, match="'parcels'"):
        trial.engine.holds.hold("parcels", actor=ANN)
    assert trial.engine.holds.all() == []


# -- letting go on


def test_what_was_held_goes_on_where_it_was(trial: Trial) -> None:
    it = trial.create("parcel")
    trial.engine.holds.hold("parcel", actor=ANN)
    assert trial.claim() == []
    trial.engine.holds.release("parcel", actor=CHIEF)
    assert ready(trial)
    assert claim_one(trial).id == it


def test_workers_are_told_at_once_that_it_goes_on(trial: Trial) -> None:
    trial.engine.holds.hold("*", actor=ANN)
    told: list[frozenset[str]] = []
    leave = trial.engine.store.subscribe(told.append)
    trial.engine.holds.release("*", actor=ANN)
    leave()
    assert set(trial.queues) <= frozenset().union(*told)


def test_letting_everything_go_on_leaves_a_machine_that_is_held_by_itself(trial: Trial) -> None:
    trial.create("parcel")
    letter = trial.create("letter")
    for machine in ("parcel", "*"):
        trial.engine.holds.hold(machine, actor=ANN)
    trial.engine.holds.release("*", actor=ANN)
    assert [claim.id for claim in trial.claim(5)] == [letter]


def test_what_is_not_held_cannot_be_let_go_on(trial: Trial) -> None:
    with pytest.raises(Refused, match="is not held"):
        trial.engine.holds.release("parcel", actor=ANN)


def test_who_stopped_it_and_who_let_it_go_on_is_written_down(trial: Trial) -> None:
    trial.engine.holds.hold("parcel", actor=ANN, reason="a strike")
    trial.engine.holds.hold("parcel", actor=ANN, reason="a strike")
    trial.engine.holds.release("parcel", actor=CHIEF)
    rows = trial.engine.read(lambda conn: conn.execute(sa.select(action).order_by(action.c.id)).all())
    assert [(row.what, row.target, row.actor) for row in rows] == [
        ("hold", "parcel", "user:ann"),
        ("release", "parcel", "owner:chief"),
    ]
    assert "a strike" in rows[0].details


# -- explained


def test_explain_says_that_it_is_held_by_whom_and_why(trial: Trial) -> None:
    it = trial.create("parcel")
    trial.engine.holds.hold("parcel", actor=ANN, reason="a strike")
    told = trial.engine.explain(it)
    assert told.waits_for == "person"
    assert "All work of parcel stands still: user:ann stopped it at " in told.sentence
    assert "(a strike)" in told.sentence
    trial.engine.holds.hold("*", actor=CHIEF)
    assert "All work stands still: owner:chief" in trial.engine.explain(it).sentence
    trial.engine.holds.release("*", actor=ANN)
    trial.engine.holds.release("parcel", actor=ANN)
    assert "stands still" not in trial.engine.explain(it).sentence


def test_explain_does_not_speak_of_a_hold_where_a_person_must_act_or_a_worker_is_at_it(trial: Trial) -> None:
    waiting, worked = trial.create("parcel"), trial.create("parcel")
    do(trial, Go("checking"))
    claim_one(trial)
    trial.engine.holds.hold("*", actor=ANN)
    for it in (waiting, worked):
        assert "stands still" not in trial.engine.explain(it).sentence


# -- exact: claims and holds at the same moment


@contextmanager
def stopped_at(point: str) -> Iterator[tuple[threading.Event, Callable[[], None]]]:
    """Whoever reaches the point waits there; the event says that somebody did, the function lets them go on."""
    there, go = threading.Event(), threading.Event()

    def hook(name: str) -> None:
        if name == point:
            there.set()
            assert go.wait(30)

    failpoints.hook = hook
    try:
        yield there, go.set
    finally:
        go.set()
        failpoints.hook = None


def waits(trial: Trial) -> bool:
    """Whether a transaction waits for the table of holds; SQLite's writers come one after the other anyway."""
    if trial.engine.store.dialect == "sqlite":
        return True
    blocked = "SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = 'hold'::regclass"
    return bool(trial.engine.read(lambda conn: conn.exec_driver_sql(blocked).scalar_one()))


def test_a_hold_waits_for_the_claim_that_is_under_way(trial: Trial) -> None:
    trial.create("parcel")
    with stopped_at("claim:before") as (there, go_on), ThreadPoolExecutor(2) as pool:
        claimed = pool.submit(trial.claim)
        assert there.wait(30)
        held: Future[object] = pool.submit(lambda: trial.engine.holds.hold("*", actor=ANN))
        eventually(lambda: held.done() or waits(trial))
        assert not held.done()
        go_on()
        assert len(claimed.result(30)) == 1
        held.result(30)


def test_a_claim_that_comes_while_a_hold_is_committed_sees_it(trial: Trial) -> None:
    trial.create("parcel")
    with stopped_at("hold:before") as (there, go_on), ThreadPoolExecutor(2) as pool:
        held = pool.submit(lambda: trial.engine.holds.hold("parcel", actor=ANN))
        assert there.wait(30)
        claimed = pool.submit(trial.claim)
        eventually(lambda: claimed.done() or waits(trial))
        assert not claimed.done()
        go_on()
        held.result(30)
        assert claimed.result(30) == []


def test_once_a_hold_is_committed_no_claim_is_written_any_more(trial: Trial) -> None:
    trial.engine.create_many("parcel", [None] * 120)
    begun = threading.Event()

    def taken() -> int:
        query = sa.select(sa.func.count()).select_from(instance).where(instance.c.wake == "lease")
        return trial.engine.read(lambda conn: conn.execute(query).scalar_one())

    def job(number: int) -> int:
        if number == 0:
            assert begun.wait(30)
            trial.engine.holds.hold("parcel", actor=ANN)
            return taken()
        worker, mine = trial.new_worker(), 0
        while claims := trial.engine.claim(worker, ["parcel"], 2, number):
            mine += len(claims)
            begun.set()
        return mine

    at_the_hold, *mine = race(4, job)
    assert at_the_hold == taken() == sum(mine)
