"""The roller and the alerter keep up by themselves, and cost next to nothing while nothing happens."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import pytest
import sqlalchemy as sa

from interlock.config import AlertSettings
from interlock.engine import Engine
from interlock.store import Store, failpoints, micros
from interlock.store import service_tables as s
from interlock.store import tables as t
from interlock.store.positions import START
from interlock.testing import START as BEGUN
from interlock.testing import Trial, VirtualClock
from interlock.watch import alerts, rollups, rules
from interlock.watch.histogram import HOUR
from interlock.watch.rules import Rule
from interlock.worker.alerter import Alerter
from interlock.worker.roller import Roller
from tests.support.machines import ANN, PARCEL
from tests.support.recount import counted
from tests.support.waiting import eventually


@pytest.fixture
def engine(store: Store) -> Engine:
    return Engine(store, [PARCEL], clock=VirtualClock())


@contextmanager
def running(*loops: Any) -> Iterator[None]:
    for loop in loops:
        loop.start()
    try:
        yield
    finally:
        for loop in loops:
            loop.stop()
        for loop in loops:
            loop.join(20)


@contextmanager
def writes() -> Iterator[list[str]]:
    """The names of the writes that were committed meanwhile."""
    seen: list[str] = []
    failpoints.hook = lambda name: seen.append(name.removesuffix(":after")) if name.endswith(":after") else None
    try:
        yield seen
    finally:
        failpoints.hook = None


def test_what_happens_is_added_up_because_it_was_hinted(engine: Engine) -> None:
    """The next look by itself would come in an hour."""
    with running(Roller(engine, pause=3600, shortest=0.01)):
        for n in (1, 2, 3):
            engine.create("parcel")
            # PostgreSQL may hold a row back for a moment: another hint, as any later commit would give.
            eventually(lambda n=n: engine.store.hint() or engine.read(counted) == {("default", "parcel", "ordered"): n})


def test_it_looks_by_itself_too(engine: Engine) -> None:
    roller = Roller(engine, pause=0.05, shortest=0.01)
    with running(roller):
        engine.store.write(lambda conn: engine.within(conn).create("parcel"))
        eventually(lambda: engine.read(counted) == {("default", "parcel", "ordered"): 1})


@pytest.mark.parametrize(
    ("hints", "wakes"), [((), True), (("*history",), True), (("parcel", "*history"), True), (("parcel",), False)]
)
def test_it_is_woken_by_history_and_by_what_may_be_anything(
    engine: Engine, hints: tuple[str, ...], wakes: bool
) -> None:
    roller = Roller(engine)
    roller._hinted(frozenset(hints))
    assert roller._awake.is_set() is wakes


def test_it_rolls_at_most_four_times_a_second(engine: Engine) -> None:
    roller = Roller(engine, pause=3600)
    begun = time.monotonic()
    with running(roller):
        eventually(lambda: engine.store.hint(local=True) or roller.rounds >= 3)
    assert time.monotonic() - begun >= 0.5, "the third round begins half a second after the first"


def test_an_idle_roller_only_reads(engine: Engine) -> None:
    engine.create("parcel")
    roller = Roller(engine, shortest=0.0)
    eventually(lambda: roller.once() or engine.read(rollups.position) != START)
    with writes() as seen:
        for _ in range(3):
            assert roller.once() is False
        roller.prune()
    assert seen == []


def test_a_long_history_is_added_up_in_one_round_of_small_writes(engine: Engine) -> None:
    roller = Roller(engine, shortest=0.0)
    roller._limit = 10
    engine.create_many("parcel", [None] * 45)
    with writes() as seen:
        eventually(lambda: roller.once() or engine.read(counted) == {("default", "parcel", "ordered"): 45})
    assert seen.count("roll") >= 5


def test_it_removes_what_is_too_old(engine: Engine) -> None:
    old = micros(BEGUN) - 50 * HOUR
    values = {"workspace": "w", "machine": "m", "measure": "created", "state": "", "size": 0, "n": 1, "total": 0}
    engine.store.write(lambda conn: conn.execute(sa.insert(s.rollup).values(span="minute", at=old, worst=0, **values)))
    Roller(engine).prune()
    assert engine.read(lambda conn: conn.execute(sa.select(sa.func.count()).select_from(s.rollup)).scalar()) == 0


def test_a_roller_that_was_stopped_hears_no_hints(engine: Engine) -> None:
    roller = Roller(engine, pause=3600, shortest=0.0)
    with running(roller):
        eventually(lambda: roller.rounds >= 1)
    engine.store.hint(local=True)
    assert engine.store._hints == []


# -- the alerter


@pytest.fixture
def trial(store: Store) -> Iterator[Trial]:
    with Trial([PARCEL], store=store) as made:
        yield made


def test_the_alerter_opens_and_tells(trial: Trial) -> None:
    alerter = Alerter(trial.engine, AlertSettings(notify=["mail:ops@example.org"]), pause=0.01)
    trial.create("parcel")
    trial.clock.advance(timedelta(hours=1))
    with running(alerter):
        eventually(lambda: trial.engine.read(alerts.open_alerts))
    [alert] = trial.engine.read(alerts.open_alerts)
    assert alert.rule == "queue_lag"
    values = trial.engine.read(lambda conn: conn.execute(sa.select(t.outbox.c.recipient)).scalars().all())
    assert values == ["ops@example.org"]


def test_rules_of_ones_own_count_from_the_next_look(trial: Trial) -> None:
    alerter = Alerter(trial.engine)
    assert alerter.once() is False
    trial.engine.write(lambda unit: rules.put(unit, Rule(name="quiet", metric="throughput", op="<", threshold=1), ANN))
    alerter.once()
    assert [alert.rule for alert in trial.engine.read(alerts.open_alerts)] == ["quiet"]


def test_while_all_is_well_the_alerter_only_reads(trial: Trial) -> None:
    alerter = Alerter(trial.engine)
    with writes() as seen:
        for _ in range(3):
            alerter.once()
            trial.clock.advance(timedelta(seconds=15))
    assert seen == []


def test_several_alerters_look_as_often_as_one(trial: Trial) -> None:
    """Or an alert would close after one look of each of two."""
    several = [Alerter(trial.engine) for _ in range(3)]
    it = trial.create("parcel")
    trial.clock.advance(timedelta(hours=1))
    with writes() as seen:
        for alerter in several:
            alerter.once()
        assert seen == ["alert"]
        trial.engine.pause(it)
        trial.clock.advance(timedelta(seconds=15))
        for alerter in several:
            alerter.once()
        assert len(trial.engine.read(alerts.open_alerts)) == 1
        trial.clock.advance(timedelta(seconds=15))
        several[1].once()
    assert trial.engine.read(alerts.open_alerts) == []
