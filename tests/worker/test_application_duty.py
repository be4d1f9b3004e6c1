"""Duties of applications: one process at a time runs each, and one that fails forever does no harm."""

from __future__ import annotations

import logging
from datetime import timedelta
from typing import Any

import pytest

from interlock.config import Settings
from interlock.engine import Engine
from interlock.machine import Application, Duty, InterlockError, Registry
from interlock.store import Store
from interlock.testing import VirtualClock
from interlock.worker.application_duty import ApplicationDuty
from interlock.worker.duties import working

HOUR = timedelta(hours=1)


def engine_on(store: Store, *duties: Duty) -> Engine:
    return Engine(store, Registry([Application("shop", duties=duties)]), clock=VirtualClock())


def test_no_two_processes_run_a_duty_at_the_same_time(store: Store) -> None:
    runs: list[str] = []

    def sweep(_: Any) -> bool:
        runs.append("one")
        assert not other.once()  # while this one runs
        return False

    duty = Duty("sweep", HOUR, sweep)
    engine = engine_on(store, duty)
    one = ApplicationDuty(engine, duty)
    other = ApplicationDuty(engine, Duty("sweep", HOUR, lambda _: bool(runs.append("other"))))
    one.once()
    other.once()  # the lease is kept for the next run
    assert runs == ["one"]
    assert isinstance(engine.clock, VirtualClock)
    engine.clock.advance(timedelta(seconds=31))  # its process is gone
    other.once()
    assert runs == ["one", "other"]


def test_a_process_that_stops_leaves_its_duties_to_others(store: Store) -> None:
    duty = Duty("sweep", HOUR, lambda _: False)
    engine = engine_on(store, duty)
    one = ApplicationDuty(engine, duty)
    one.start()
    one.stop()
    one.join(10)
    assert engine.leases.find("duty:sweep") is None


def test_a_duty_that_always_fails_is_tried_as_often_as_it_would_run(
    store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    engine = engine_on(store)
    loop = ApplicationDuty(engine, Duty("sweep", HOUR, lambda _: bool(1 / 0)))
    assert (loop.longest_wait, ApplicationDuty(engine, Duty("often", timedelta(seconds=1), print)).longest_wait) == (
        3600,
        5,
    )
    loop._stopping.wait = lambda timeout=None: loop.troubles < 3 or loop._stopping.set()  # type: ignore[method-assign,assignment,return-value,func-returns-value]
    with caplog.at_level(logging.WARNING, "interlock.worker"):
        loop._run()
    assert [record.getMessage() for record in caplog.records] == ["sweep failed, trying again: division by zero"] * 3
    assert [record.exc_info is not None for record in caplog.records] == [True, False, False]


def test_a_duty_with_the_name_of_a_loop_of_ours_runs_too(store: Store) -> None:
    engine = engine_on(store, Duty("roller", HOUR, lambda _: False))
    assert [type(loop).__name__ for loop in working(engine, Settings()) if loop.name == "roller"] == [
        "Roller",
        "ApplicationDuty",
    ]


def test_two_duties_do_not_have_the_same_name() -> None:
    twice = [Application(name, duties=[Duty("sweep", HOUR, lambda _: False)]) for name in ("shop", "store")]
    with pytest.raises(InterlockError, match="two duties are named 'sweep'; name each after its application"):
        _ = Registry(twice).duties
