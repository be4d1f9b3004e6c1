"""A trial on an engine that the program opened itself."""

from __future__ import annotations

from datetime import timedelta

import pytest

from interlock.engine import Engine
from interlock.machine import FINAL, SYSTEM, WAITING, Go, Machine, State, Timer, Transition
from interlock.testing import Trial, VirtualClock
from interlock.worker import Task

egg = Machine(
    "egg",
    initial="raw",
    states=[
        State("raw"),
        State("boiling", WAITING, waits_for="the clock", timers=(Timer(timedelta(minutes=5), fire="ring"),)),
        State("done", FINAL),
    ],
    transitions=[Transition("raw", "boiling", on="boil"), Transition("boiling", "done", on="ring", by=SYSTEM)],
)


@egg.work("raw")
def boil(_: Task[object]) -> Go:
    return Go("boiling")


def test_an_engine_of_the_programs_own_runs_in_a_trial_and_stays_open(sqlite_url: str) -> None:
    with Engine(sqlite_url, [egg], clock=VirtualClock()) as engine:
        with Trial(engine) as trial:
            it = trial.create("egg")
            trial.advance(minutes=5)
            assert trial.path(it) == ["raw", "boiling", "done"]
        assert engine.get(it).state == "done"


def test_time_that_passes_by_itself_cannot_be_advanced(sqlite_url: str) -> None:
    with Engine(sqlite_url, [egg]) as engine, Trial(engine) as trial:
        it = trial.create("egg")
        trial.run_until_idle()
        assert trial.state(it) == "boiling"
        with pytest.raises(TypeError, match=r"open it with clock=VirtualClock\(\)"):
            trial.advance(minutes=5)
