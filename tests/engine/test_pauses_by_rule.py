"""Pauses by a failure rule: rest in a waiting state until a moment, then go on by itself."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from interlock.machine import (
    FAILED,
    FINAL,
    SYSTEM,
    WAITING,
    Fail,
    Failures,
    LimitReached,
    Machine,
    Pause,
    Rule,
    State,
    Transition,
)
from interlock.store import Store, micros, span
from interlock.testing import Trial
from tests.support.machines import Unreachable, by_hand, do, job, kinds, last_row, pass_time, trial_of

MINUTE = timedelta(minutes=1)


def only(rule: Rule, *, state: str | None = None) -> Failures:
    return Failures(state=state, rules=(rule,))


@pytest.mark.parametrize(("state", "path"), [(None, ["first", "paused"]), ("failed", ["first", "failed", "paused"])])
def test_a_pause_rests_in_its_state_and_the_system_resumes(store: Store, state: str | None, path: list[str]) -> None:
    rule = Rule((Unreachable,), retries=5, pause=Pause("paused", resume="resume", wait=timedelta(hours=1)))
    with trial_of(store, job(only(rule, state=state))) as trial:
        it = trial.create("job")
        do(trial, Fail(Unreachable()))
        after = trial.get(it)
        assert (trial.path(it), after.wake, after.due_event) == (path, "resume", "resume")
        assert after.due_at == trial.clock.now() + span(timedelta(hours=1))
        assert trial.engine.dead_letters.find() == []
        pass_time(trial, minutes=60)
        assert trial.path(it) == [*path, "first"]
        assert last_row(trial, it).actor == "system"


def test_a_pause_has_its_own_number_of_rounds(store: Store) -> None:
    pause = Pause("paused", resume="resume", wait=timedelta(hours=1))
    with trial_of(store, job(only(Rule((Unreachable,), retries=2, pause=pause, then="given_up")))) as trial:
        it = trial.create("job")
        for _ in range(3):
            do(trial, Fail(Unreachable()))
            pass_time(trial, hours=1)
        assert trial.path(it) == ["first", "paused", "first", "paused", "first", "given_up"]


def until(trial: Trial, **parts: float) -> datetime:
    return trial.clock.time + timedelta(**parts)


def test_a_pause_without_a_wait_lasts_until_the_moment_that_the_error_names(store: Store) -> None:
    rule = Rule((LimitReached,), retries=None, pause=Pause("paused", resume="resume"))
    with trial_of(store, job(only(rule))) as trial:
        it = trial.create("job")
        moment = until(trial, days=3, seconds=7)
        do(trial, Fail(LimitReached("used up", until=moment)))
        assert trial.get(it).due_at == micros(moment)


def test_a_pause_until_a_named_moment_may_come_any_number_of_times(store: Store) -> None:
    rule = Rule((LimitReached,), retries=None, pause=Pause("paused", resume="resume"))
    with trial_of(store, job(only(rule))) as trial:
        it = trial.create("job")
        for _ in range(12):
            do(trial, Fail(LimitReached("used up", until=until(trial, hours=1))))
            pass_time(trial, hours=1)
        assert (trial.state(it), trial.engine.dead_letters.find()) == ("first", [])


@pytest.mark.parametrize(("moment", "wait"), [(-5, 1), (None, 60)])
def test_a_moment_that_is_past_or_missing_does_not_make_it_spin(store: Store, moment: int | None, wait: int) -> None:
    rule = Rule((LimitReached,), retries=None, pause=Pause("paused", resume="resume"))
    with trial_of(store, job(only(rule))) as trial:
        it = trial.create("job")
        named = until(trial, minutes=moment) if moment is not None else None
        do(trial, Fail(LimitReached("used up", until=named)))
        assert trial.get(it).due_at == trial.clock.now() + span(wait * MINUTE)


def test_where_no_way_leads_to_the_pause_it_waits_in_its_step(store: Store) -> None:
    aside = by_hand(
        Machine(
            "aside",
            initial="step",
            states=[
                State("step"),
                State("other"),
                State("failed", FAILED),
                State("done", FINAL),
                State("paused", WAITING, waits_for="the moment set by the system"),
            ],
            transitions=[
                Transition("step", "other", on="pass"),
                Transition("other", "failed", on="fail"),
                Transition("other", "done", on="finish"),
                Transition("failed", "paused", on="wait", by=SYSTEM),
                Transition(("failed", "paused"), "other", on="retry", by=SYSTEM),
            ],
            failures=Failures(
                state="failed", rules=(Rule((LimitReached,), retries=None, pause=Pause("paused", resume="retry")),)
            ),
        )
    )
    with trial_of(store, aside) as trial:
        it = trial.create("aside")
        moment = until(trial, hours=3)
        do(trial, Fail(LimitReached("used up", until=moment)))
        after = trial.get(it)
        assert (after.state, after.wake, after.due_at) == ("step", "work", micros(moment))
        assert kinds(trial, it) == ["created", "failed"]
