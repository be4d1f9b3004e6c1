"""Again: a step that did what it could for now has passed, and its failures count anew."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import pytest

from interlock.machine import FINAL, Again, Fail, Failures, Go, Machine, Rule, State, Transition, fixed
from interlock.store import Store
from interlock.testing import Trial
from tests.support.machines import by_hand, claim_one, do, pass_time, trial_of

MINUTE = timedelta(minutes=1)
poll = by_hand(
    Machine(
        "poll",
        initial="asking",
        states=[State("asking"), State("reporting"), State("done", FINAL)],
        transitions=[
            Transition("asking", "reporting", on="answered"),
            Transition("reporting", "asking", on="ask_again"),
            Transition("reporting", "done", on="reported"),
        ],
        failures=Failures(otherwise=Rule((Exception,), retries=3, backoff=fixed(MINUTE))),
    )
)


@pytest.fixture
def trial(store: Store) -> Iterator[Trial]:
    with trial_of(store, poll) as trial:
        yield trial


def blip(trial: Trial) -> None:
    do(trial, Fail(ConnectionError("blip")))
    pass_time(trial, minutes=1)


def later(trial: Trial) -> None:
    do(trial, Again(MINUTE))
    pass_time(trial, minutes=1)


def test_a_poller_with_an_error_now_and_then_goes_on_for_ever(trial: Trial) -> None:
    it = trial.create("poll")
    for _ in range(12):
        blip(trial)
        later(trial)
    assert trial.get(it).failures == {}
    assert trial.engine.dead_letters.find() == []


def test_failures_in_a_row_are_bounded_as_before(trial: Trial) -> None:
    it = trial.create("poll")
    for _ in range(5):
        later(trial)
    for _ in range(4):
        blip(trial)
    assert trial.get(it).wake is None
    assert len(trial.engine.dead_letters.find()) == 1


def test_crashes_count_anew_too(trial: Trial) -> None:
    it = trial.create("poll")
    for _ in range(4):
        trial.lose(claim_one(trial, worker=trial.new_worker()).worker)
        later(trial)
    assert trial.get(it).failures == {}


def test_failures_of_other_steps_stay(trial: Trial) -> None:
    it = trial.create("poll")
    do(trial, Go("reporting"))
    blip(trial)
    do(trial, Go("asking"))
    assert trial.get(it).failures == {}
    blip(trial)
    do(trial, Go("reporting"))
    blip(trial)
    counted = trial.get(it).failures
    assert counted == {"reporting|Exception": 1}
    later(trial)
    assert trial.get(it).failures == {}


def test_data_that_does_not_fit_is_no_pass(store: Store) -> None:
    with trial_of(store, poll) as trial:
        it = trial.create("poll")
        blip(trial)
        do(trial, Again(MINUTE, data={"when": object()}))
        assert trial.get(it).failures == {"asking|Exception": 2}
