"""Halting: once a halt is committed, no step of the machine starts, on either database, until it is resumed."""

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
from tests.support.machines import ANN, LETTER, PARCEL, claim_one, do, pass_time, trial_of
from tests.support.racing import race
from tests.support.waiting import eventually

CHIEF = Actor(OWNER, "chief")


@pytest.fixture
def trial(store: Store) -> Iterator[Trial]:
    with trial_of(store, PARCEL, LETTER) as trial:
        yield trial


def ready(trial: Trial) -> bool:
    """Whether a worker would try to claim."""
    core = trial.engine.core
    return trial.engine.read(lambda conn: picking.anything_ready(core, conn, core.clock.now(), trial.queues))


# -- halted


def test_nothing_of_a_halted_machine_is_claimed_and_the_others_go_on(trial: Trial) -> None:
    trial.create("parcel")
    letter = trial.create("letter")
    trial.engine.halts.halt("parcel", actor=ANN)
    assert [claim.id for claim in trial.claim(5)] == [letter]
    assert trial.claim(5) == []
    assert not ready(trial)


def test_a_halt_of_everything_stops_every_machine(trial: Trial) -> None:
    trial.create("parcel")
    trial.create("letter")
    trial.engine.halts.halt("*", actor=ANN)
    assert trial.claim(5) == []
    assert not ready(trial)


def test_a_machine_in_a_queue_that_others_use_is_halted_alone(trial: Trial) -> None:
    trial.create("parcel", queue="letter")
    letter = trial.create("letter")
    trial.engine.halts.halt("parcel", actor=ANN)
    assert [claim.id for claim in trial.claim(5)] == [letter]


def test_a_handler_that_runs_comes_to_its_end(trial: Trial) -> None:
    it = trial.create("parcel")
    claim = claim_one(trial)
    trial.engine.halts.halt("*", actor=ANN)
    assert trial.finish(claim, Go("checking"))
    assert trial.state(it) == "checking"


def test_people_decide_and_timers_fire_while_it_is_halted(trial: Trial) -> None:
    decided, waiting = trial.create("letter"), trial.create("letter")
    do(trial, Go("waiting"))
    do(trial, Go("waiting"))
    trial.engine.halts.halt("*", actor=ANN)
    trial.engine.fire(decided, "rewrite", actor=ANN)
    assert trial.state(decided) == "draft"
    assert trial.claim(5) == []
    pass_time(trial, hours=25)
    assert trial.state(waiting) == "binned"


def test_halting_twice_keeps_who_was_first(trial: Trial) -> None:
    first = trial.engine.halts.halt("parcel", actor=ANN, reason="a strike")
    trial.clock.advance(timedelta(minutes=1))
    assert trial.engine.halts.halt("parcel", actor=CHIEF, reason="another") == first
    assert trial.engine.halts.all() == [first]
    assert (first.machine, first.actor, first.reason) == ("parcel", "user:ann", "a strike")


def test_a_machine_that_nobody_knows_cannot_be_halted(trial: Trial) -> None:
    with pytest.raises(NotFound, match="'parcels'"):
        trial.engine.halts.halt("parcels", actor=ANN)
    assert trial.engine.halts.all() == []


# -- resuming


def test_what_was_halted_goes_on_where_it_was(trial: Trial) -> None:
    it = trial.create("parcel")
    trial.engine.halts.halt("parcel", actor=ANN)
    assert trial.claim() == []
    trial.engine.halts.resume("parcel", actor=CHIEF)
    assert ready(trial)
    assert claim_one(trial).id == it


def test_workers_are_woken_at_once_when_it_is_resumed(trial: Trial) -> None:
    trial.engine.halts.halt("*", actor=ANN)
    woken: list[frozenset[str]] = []
    leave = trial.engine.store.subscribe(woken.append)
    trial.engine.halts.resume("*", actor=ANN)
    leave()
    assert set(trial.queues) <= frozenset().union(*woken)


def test_resuming_everything_leaves_a_machine_that_is_halted_by_itself(trial: Trial) -> None:
    trial.create("parcel")
    letter = trial.create("letter")
    for machine in ("parcel", "*"):
        trial.engine.halts.halt(machine, actor=ANN)
    trial.engine.halts.resume("*", actor=ANN)
    assert [claim.id for claim in trial.claim(5)] == [letter]


def test_what_is_not_halted_cannot_be_resumed(trial: Trial) -> None:
    with pytest.raises(Refused, match="is not halted"):
        trial.engine.halts.resume("parcel", actor=ANN)


def test_who_halted_and_who_resumed_it_is_recorded(trial: Trial) -> None:
    trial.engine.halts.halt("parcel", actor=ANN, reason="a strike")
    trial.engine.halts.halt("parcel", actor=ANN, reason="a strike")
    trial.engine.halts.resume("parcel", actor=CHIEF)
    rows = trial.engine.read(lambda conn: conn.execute(sa.select(action).order_by(action.c.id)).all())
    assert [(row.what, row.target, row.actor) for row in rows] == [
        ("halt", "parcel", "user:ann"),
        ("resume", "parcel", "owner:chief"),
    ]
    assert "a strike" in rows[0].details


# -- explained


def test_explain_says_that_it_is_halted_by_whom_and_why(trial: Trial) -> None:
    it = trial.create("parcel")
    trial.engine.halts.halt("parcel", actor=ANN, reason="a strike")
    explained = trial.engine.explain(it)
    assert explained.waits_for == "person"
    assert "All work of parcel is halted: user:ann stopped it at " in explained.sentence
    assert "(a strike)" in explained.sentence
    trial.engine.halts.halt("*", actor=CHIEF)
    assert "All work is halted: owner:chief" in trial.engine.explain(it).sentence
    trial.engine.halts.resume("*", actor=ANN)
    trial.engine.halts.resume("parcel", actor=ANN)
    assert "is halted" not in trial.engine.explain(it).sentence


def test_explain_does_not_speak_of_a_halt_where_a_person_must_act_or_a_worker_is_at_it(trial: Trial) -> None:
    waiting, worked = trial.create("parcel"), trial.create("parcel")
    do(trial, Go("checking"))
    claim_one(trial)
    trial.engine.halts.halt("*", actor=ANN)
    for it in (waiting, worked):
        assert "is halted" not in trial.engine.explain(it).sentence


# -- exact: claims and halts at the same moment


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
    """Whether a transaction waits for the table of halts; SQLite's writers come one after the other anyway."""
    if trial.engine.store.dialect == "sqlite":
        return True
    blocked = "SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = 'halt'::regclass"
    return bool(trial.engine.read(lambda conn: conn.exec_driver_sql(blocked).scalar_one()))


def test_a_halt_waits_for_the_claim_that_is_under_way(trial: Trial) -> None:
    trial.create("parcel")
    with stopped_at("claim:before") as (there, go_on), ThreadPoolExecutor(2) as pool:
        claimed = pool.submit(trial.claim)
        assert there.wait(30)
        halted: Future[object] = pool.submit(lambda: trial.engine.halts.halt("*", actor=ANN))
        eventually(lambda: halted.done() or waits(trial))
        assert not halted.done()
        go_on()
        assert len(claimed.result(30)) == 1
        halted.result(30)


def test_a_claim_that_comes_while_a_halt_is_committed_sees_it(trial: Trial) -> None:
    trial.create("parcel")
    with stopped_at("halt:before") as (there, go_on), ThreadPoolExecutor(2) as pool:
        halted = pool.submit(lambda: trial.engine.halts.halt("parcel", actor=ANN))
        assert there.wait(30)
        claimed = pool.submit(trial.claim)
        eventually(lambda: claimed.done() or waits(trial))
        assert not claimed.done()
        go_on()
        halted.result(30)
        assert claimed.result(30) == []


def test_once_a_halt_is_committed_no_claim_is_written_any_more(trial: Trial) -> None:
    trial.engine.create_many("parcel", [None] * 120)
    begun = threading.Event()

    def taken() -> int:
        query = sa.select(sa.func.count()).select_from(instance).where(instance.c.wake == "lease")
        return trial.engine.read(lambda conn: conn.execute(query).scalar_one())

    def job(number: int) -> int:
        if number == 0:
            assert begun.wait(30)
            trial.engine.halts.halt("parcel", actor=ANN)
            return taken()
        worker, mine = trial.new_worker(), 0
        while claims := trial.engine.claim(worker, ["parcel"], 2, number):
            mine += len(claims)
            begun.set()
        return mine

    at_the_halt, *mine = race(4, job)
    assert at_the_halt == taken() == sum(mine)
