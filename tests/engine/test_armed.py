"""Armed work: a state that waits for a person has a handler, which runs only after the person said so."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from uuid import UUID

import pytest

from interlock.engine import Allowed, Forbidden, InvalidData, Refused
from interlock.machine import Again, Fail, Go, Stay
from interlock.store import Store
from interlock.testing import Trial
from tests.support.machines import (
    ANN,
    LETTER,
    ROBOT,
    claim_one,
    do,
    has_a_note,
    kinds,
    last_row,
    letter,
    pass_time,
    trial_of,
)


@pytest.fixture
def trial(store: Store) -> Iterator[Trial]:
    with trial_of(store, LETTER) as trial:
        yield trial


@pytest.fixture
def waiting(trial: Trial) -> UUID:
    it = trial.create("letter")
    do(trial, Go("waiting"))
    return it


def test_the_work_of_a_waiting_state_does_not_start_by_itself(trial: Trial, waiting: UUID) -> None:
    pass_time(trial, hours=1)
    assert trial.claim() == []
    assert trial.state(waiting) == "waiting"


def test_an_event_arms_it_with_a_row_and_moves_nothing(trial: Trial, waiting: UUID) -> None:
    after = trial.engine.fire(waiting, "approve", actor=ANN, reason="well written", data={"note": "by post"})
    assert (after.state, after.wake, after.due_at) == ("waiting", "work", trial.clock.now())
    row = last_row(trial, waiting)
    assert (row.kind, row.event, row.from_state, row.to_state) == ("armed", "approve", None, None)
    assert (row.actor, row.payload) == ("user:ann", {"reason": "well written", "set": {"note": "by post"}})


def test_after_that_its_handler_runs_and_moves_it(trial: Trial, waiting: UUID) -> None:
    trial.engine.fire(waiting, "approve", actor=ANN)
    assert do(trial, Go("sent")).step == "waiting"
    assert trial.state(waiting) == "sent"


def test_what_is_under_way_is_not_started_twice(trial: Trial, waiting: UUID) -> None:
    trial.engine.fire(waiting, "approve", actor=ANN)
    with pytest.raises(Refused, match="its work was started already"):
        trial.engine.fire(waiting, "approve", actor=ANN)
    claim_one(trial)
    with pytest.raises(Refused, match="its work was started already"):
        trial.engine.fire(waiting, "approve", actor=ANN)


def test_work_that_runs_by_itself_needs_no_start(trial: Trial) -> None:
    it = trial.create("letter")
    with pytest.raises(Refused, match="its work was started already"):
        trial.engine.fire(it, "begin", actor=ANN)


def test_staying_waits_again_and_it_can_be_armed_once_more(trial: Trial, waiting: UUID) -> None:
    trial.engine.fire(waiting, "approve", actor=ANN)
    do(trial, Stay(data={"note": "no stamp"}, reason="no stamp left"))
    after = trial.get(waiting)
    assert (after.state, after.wake, after.due_at, after.holder) == ("waiting", None, None, None)
    assert after.data["note"] == "no stamp"
    row = last_row(trial, waiting)
    assert (row.kind, row.payload["reason"], row.payload["step"]) == ("worked", "no stamp left", "waiting")
    trial.engine.fire(waiting, "approve", actor=ANN)
    do(trial, Go("sent"))
    assert trial.state(waiting) == "sent"


def test_armed_work_that_says_again_runs_again_without_another_event(trial: Trial, waiting: UUID) -> None:
    trial.engine.fire(waiting, "approve", actor=ANN)
    do(trial, Again(timedelta(minutes=5)))
    pass_time(trial, minutes=5)
    do(trial, Go("sent"))
    assert kinds(trial, waiting).count("armed") == 1


def test_armed_work_that_fails_is_retried_without_another_event(trial: Trial, waiting: UUID) -> None:
    trial.engine.fire(waiting, "approve", actor=ANN)
    do(trial, Fail(ValueError("the post office is closed")))
    pass_time(trial, minutes=5)
    do(trial, Go("sent"))
    assert trial.state(waiting) == "sent"


def test_entering_the_state_anew_needs_a_new_event(trial: Trial, waiting: UUID) -> None:
    trial.engine.fire(waiting, "approve", actor=ANN)
    trial.engine.fire(waiting, "rewrite", actor=ANN)
    do(trial, Go("waiting"))
    assert trial.claim() == []


def test_an_arm_is_for_whom_it_is_declared(trial: Trial, waiting: UUID) -> None:
    with pytest.raises(Forbidden, match="'approve' is for user, not for agent"):
        trial.engine.fire(waiting, "approve", actor=ROBOT)
    assert trial.get(waiting).wake is None


def test_an_arm_takes_the_fields_that_it_accepts(trial: Trial, waiting: UUID) -> None:
    with pytest.raises(InvalidData, match=r"does not take the field 'item'; it takes note"):
        trial.engine.fire(waiting, "approve", actor=ANN, data={"item": "gold"})
    assert trial.get(waiting).wake is None


def test_an_arm_is_among_what_is_allowed_while_nothing_runs(trial: Trial, waiting: UUID) -> None:
    arm = Allowed("approve", None, ("user",))
    with pytest.raises(Refused) as refusal:
        trial.engine.fire(waiting, "nonsense", actor=ANN)
    assert arm in refusal.value.allowed
    trial.engine.fire(waiting, "approve", actor=ANN)
    with pytest.raises(Refused) as refusal:
        trial.engine.fire(waiting, "nonsense", actor=ANN)
    assert arm not in refusal.value.allowed


def test_an_arms_guard_refuses_with_its_words_and_is_not_offered(store: Store) -> None:
    with trial_of(store, letter(guard=has_a_note)) as trial:
        it = trial.create("letter")
        do(trial, Go("waiting"))
        with pytest.raises(Refused, match="'approve' does not pass: a return needs a note") as refusal:
            trial.engine.fire(it, "approve", actor=ANN)
        assert {allowed.event for allowed in refusal.value.allowed} == {"rewrite", "bin", "expire", "send"}
        assert trial.get(it).wake is None


def test_an_outcome_can_hold_the_next_work_until_it_is_armed(trial: Trial, waiting: UUID) -> None:
    other = trial.create("letter", unstarted=True)
    trial.engine.fire(other, "begin", actor=ANN)
    do(trial, Go("waiting"))
    assert trial.claim() == []
    assert trial.state(other) == trial.state(waiting) == "waiting"
