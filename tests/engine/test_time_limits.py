"""Time limits: a handler that runs past its time is fenced off; one that says it lives gets its time anew."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from interlock.engine import Claim, Fenced, finishing
from interlock.machine import Failures, Go, HandlerTimeout, Rule, Work, fixed
from interlock.store import Store, span
from interlock.testing import Trial
from interlock.worker import Task
from tests.support.machines import (
    ANN,
    claim_one,
    decided_by_the_test,
    job,
    kinds,
    last_row,
    pass_time,
    trial_of,
)

LIMIT = timedelta(minutes=10)
JOB = job(timeout=LIMIT)


@pytest.fixture
def trial(store: Store) -> Iterator[Trial]:
    with trial_of(store, JOB) as trial:
        yield trial


def extend(trial: Trial, claim: Claim) -> int:
    until: int = trial.write(lambda unit: finishing.extend(unit, claim))
    return until


def test_until_its_time_is_up_a_handler_is_left_alone(trial: Trial) -> None:
    it = trial.create("job")
    claim = claim_one(trial)
    pass_time(trial, minutes=10, microseconds=-1)
    assert trial.get(it).holder == trial.worker
    assert trial.finish(claim, Go("second")) is True


def test_past_its_time_it_is_fenced_off_and_the_step_fails_by_the_rules(trial: Trial) -> None:
    it = trial.create("job")
    claim = claim_one(trial)
    pass_time(trial, minutes=10)
    after = trial.get(it)
    assert (after.holder, after.wake, after.failures) == (None, "work", {"first|Exception": 1})
    row = last_row(trial, it)
    assert (row.kind, row.actor, row.payload["why"]) == ("failed", "system", "deadline")
    assert row.payload["error"]["type"] == "HandlerTimeout"
    assert row.payload["took"] == span(LIMIT)
    assert trial.finish(claim, Go("second")) is False


def test_a_late_tick_takes_it_away_all_the_same(trial: Trial) -> None:
    it = trial.create("job")
    claim_one(trial)
    pass_time(trial, hours=30)
    assert trial.get(it).failures == {"first|Exception": 1}


def test_each_handler_has_its_own_time(store: Store) -> None:
    quick = Work(decided_by_the_test, timedelta(seconds=5))
    slow = Work(decided_by_the_test, timedelta(hours=5))
    with trial_of(store, JOB.with_handlers({"first": quick, "second": slow})) as trial:
        it = trial.create("job")
        claim = claim_one(trial)
        assert claim.until == trial.clock.now() + span(timedelta(seconds=5))
        trial.finish(claim, Go("second"))
        claim_one(trial)
        pass_time(trial, hours=4)
        assert trial.get(it).failures == {}
        pass_time(trial, hours=1)
        assert trial.get(it).failures == {"second|Exception": 1}


def test_a_rule_may_name_the_time_limit(store: Store) -> None:
    failures = Failures(rules=(Rule((HandlerTimeout,), retries=1, backoff=fixed(timedelta(hours=1)), then="given_up"),))
    with trial_of(store, job(failures, timeout=LIMIT)) as trial:
        it = trial.create("job")
        claim_one(trial)
        pass_time(trial, minutes=10)
        assert trial.get(it).due_at == trial.clock.now() + span(timedelta(hours=1))
        pass_time(trial, hours=1)
        claim_one(trial)
        pass_time(trial, minutes=10)
        assert trial.state(it) == "given_up"


# -- a sign of life


def test_a_sign_of_life_gives_the_whole_time_again_from_now(trial: Trial) -> None:
    it = trial.create("job")
    claim = claim_one(trial)
    pass_time(trial, minutes=9)
    assert extend(trial, claim) == trial.clock.now() + span(LIMIT)
    pass_time(trial, minutes=9)
    assert (trial.get(it).holder, trial.get(it).failures) == (trial.worker, {})
    assert trial.finish(claim, Go("second")) is True


def test_signs_of_life_keep_the_fence_and_leave_no_rows(trial: Trial) -> None:
    it = trial.create("job")
    claim = claim_one(trial)
    for _ in range(5):
        pass_time(trial, minutes=9)
        extend(trial, claim)
    assert trial.get(it).fence == claim.fence
    assert kinds(trial, it) == ["created"]


def test_after_the_last_sign_of_life_the_limit_counts(trial: Trial) -> None:
    it = trial.create("job")
    claim = claim_one(trial)
    pass_time(trial, minutes=9)
    extend(trial, claim)
    pass_time(trial, minutes=10)
    assert trial.get(it).failures == {"first|Exception": 1}


def test_whoever_lost_the_instance_cannot_extend(trial: Trial) -> None:
    trial.create("job")
    claim = claim_one(trial)
    trial.engine.pause(claim.id, actor=ANN)
    with pytest.raises(Fenced):
        extend(trial, claim)
    trial.engine.resume(claim.id, actor=ANN)
    claim_one(trial)
    with pytest.raises(Fenced):
        extend(trial, claim)


def test_a_handler_extends_by_its_heartbeat(store: Store) -> None:
    until: list[int | None] = []

    def work(task: Task[Any]) -> Go:
        own.clock.advance(timedelta(minutes=9))
        task.heartbeat()
        until.append(own.get(task.id).due_at)
        own.clock.advance(timedelta(minutes=9))
        return Go("second")

    with trial_of(store, JOB.with_handlers({"first": Work(work, LIMIT), "second": decided_by_the_test})) as own:
        it, began = own.create("job"), own.clock.now()
        [claim] = own.claim()
        outcome = own.run(claim)
        assert own.engine.tick() == 0
        assert own.finish(claim, outcome) is True
        assert until == [began + span(timedelta(minutes=19))]
        assert own.state(it) == "second"
