"""Pausing: what is paused is not worked on, its timers keep their times, and events count."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from uuid import UUID

import pytest

from interlock.engine import Refused
from interlock.machine import Concurrent, Fail, Failures, Go, Rule, fixed
from interlock.store import Store, micros, span
from interlock.testing import Trial
from tests.support.machines import (
    ANN,
    BOSS,
    LETTER,
    PARCEL,
    claim_one,
    do,
    job,
    kinds,
    last_row,
    pass_time,
    picture,
    trial_of,
)

RETRIED = job(Failures(state="failed", otherwise=Rule((Exception,), retries=3, backoff=fixed(timedelta(hours=1)))))
PICTURE = picture(Concurrent("gpu", "card:{card}", 1, ("rendering",)))


@pytest.fixture
def trial(store: Store) -> Iterator[Trial]:
    with trial_of(store, PARCEL, LETTER, RETRIED, PICTURE) as trial:
        yield trial


# -- pausing and resuming


def test_what_is_paused_is_not_claimed(trial: Trial) -> None:
    it = trial.create("parcel")
    after = trial.engine.pause(it, actor=ANN, reason="wrong address")
    assert (after.state, after.paused_at) == ("ordered", trial.clock.now())
    row = last_row(trial, it)
    assert (row.kind, row.actor, row.payload) == ("paused", "user:ann", {"reason": "wrong address"})
    pass_time(trial, days=30)
    assert trial.claim() == []


def test_resumed_it_goes_on_where_it_was(trial: Trial) -> None:
    it = trial.create("parcel")
    trial.engine.pause(it, actor=ANN)
    after = trial.engine.resume(it, actor=ANN, reason="found it")
    assert (after.state, after.wake, after.paused_at) == ("ordered", "work", None)
    row = last_row(trial, it)
    assert (row.kind, row.actor, row.payload) == ("resumed", "user:ann", {"reason": "found it"})
    assert do(trial, Go("shipped")).id == it


def test_pausing_twice_changes_nothing(trial: Trial) -> None:
    it = trial.create("parcel")
    trial.engine.pause(it, actor=ANN)
    before = trial.get(it)
    trial.engine.pause(it, actor=ANN)
    assert trial.get(it) == before


def test_what_is_not_paused_cannot_be_resumed(trial: Trial) -> None:
    it = trial.create("parcel")
    with pytest.raises(Refused, match="is not paused"):
        trial.engine.resume(it, actor=ANN)


def test_what_rests_cannot_be_paused(trial: Trial) -> None:
    it = trial.create("parcel")
    do(trial, Go("shipped"))
    with pytest.raises(Refused, match="has ended in 'shipped', so there is nothing to pause"):
        trial.engine.pause(it, actor=ANN)


# -- until a moment


def test_it_resumes_by_itself_at_the_moment_given(trial: Trial) -> None:
    it = trial.create("letter")
    moment = trial.clock.time + timedelta(hours=2)
    trial.engine.pause(it, actor=ANN, resume_at=moment)
    assert last_row(trial, it).payload == {"resume_at": micros(moment)}
    pass_time(trial, hours=2, microseconds=-1)
    assert trial.claim() == []
    pass_time(trial, microseconds=1)
    row = last_row(trial, it)
    assert (row.kind, row.actor, row.at) == ("resumed", "system", micros(moment))
    assert claim_one(trial).id == it


def test_pausing_again_gives_another_moment(trial: Trial) -> None:
    it = trial.create("parcel")
    trial.engine.pause(it, actor=ANN)
    trial.engine.pause(it, actor=ANN, resume_at=trial.clock.time + timedelta(hours=2))
    pass_time(trial, hours=2)
    assert trial.get(it).paused_at is None
    assert claim_one(trial).id == it


def test_a_person_may_resume_before_that_moment(trial: Trial) -> None:
    it = trial.create("parcel")
    trial.engine.pause(it, actor=ANN, resume_at=trial.clock.time + timedelta(hours=2))
    trial.engine.resume(it, actor=ANN)
    do(trial, Go("checking"))
    pass_time(trial, hours=3)
    assert kinds(trial, it).count("resumed") == 1


# -- a handler is running


def test_a_running_handler_is_fenced_off(trial: Trial) -> None:
    it = trial.create("parcel")
    claim = claim_one(trial)
    trial.engine.pause(it, actor=ANN)
    assert trial.get(it).holder is None
    assert trial.finish(claim, Go("shipped")) is False
    assert trial.state(it) == "packing"


def test_after_the_pause_its_work_is_ready_again_with_a_new_fence_and_no_attempt_lost(trial: Trial) -> None:
    it = trial.create("parcel")
    old = claim_one(trial)
    trial.engine.pause(it, actor=ANN)
    pass_time(trial, hours=5)
    trial.engine.resume(it, actor=ANN)
    new = claim_one(trial)
    assert (new.id, new.fence > old.fence, trial.get(it).failures) == (it, True, {})
    assert trial.finish(old, Go("shipped")) is False
    assert trial.finish(new, Go("shipped")) is True


def test_work_that_waits_for_a_slot_is_ready_again_afterwards(trial: Trial) -> None:
    holder, blocked = trial.create("picture"), trial.create("picture")
    claim = claim_one(trial)
    assert trial.claim() == []
    assert (claim.id, trial.get(blocked).wake) == (holder, "blocked")
    trial.engine.pause(blocked, actor=ANN)
    assert (trial.get(blocked).wake, trial.get(blocked).blocked_on) == (None, None)
    trial.finish(claim, Go("done"))
    pass_time(trial, hours=1)
    assert trial.claim() == []
    trial.engine.resume(blocked, actor=ANN)
    assert claim_one(trial).id == blocked


def test_work_for_a_later_moment_keeps_that_moment(trial: Trial) -> None:
    later = trial.clock.time + timedelta(hours=4)
    it = trial.create("parcel", at=later)
    trial.engine.pause(it, actor=ANN)
    pass_time(trial, hours=1)
    trial.engine.resume(it, actor=ANN)
    assert (trial.get(it).wake, trial.get(it).due_at) == ("work", micros(later))


# -- timers and retries


@pytest.fixture
def waiting(trial: Trial) -> UUID:
    it = trial.create("letter")
    do(trial, Go("waiting"))
    return it


def test_no_timer_fires_while_it_is_paused(trial: Trial, waiting: UUID) -> None:
    trial.engine.pause(waiting, actor=ANN)
    pass_time(trial, hours=48)
    assert (trial.state(waiting), kinds(trial, waiting)[-1]) == ("waiting", "paused")


def test_timers_keep_their_due_times(trial: Trial, waiting: UUID) -> None:
    due = trial.get(waiting).timer_at
    trial.engine.pause(waiting, actor=ANN)
    pass_time(trial, hours=6)
    trial.engine.resume(waiting, actor=ANN)
    assert trial.get(waiting).timer_at == due
    pass_time(trial, hours=6)
    assert kinds(trial, waiting)[-1] == "reminded"


def test_a_timer_that_came_due_meanwhile_fires_after_the_pause(trial: Trial, waiting: UUID) -> None:
    trial.engine.pause(waiting, actor=ANN, resume_at=trial.clock.time + timedelta(hours=30))
    pass_time(trial, hours=30)
    assert kinds(trial, waiting)[-4:] == ["resumed", "reminded", "reminded", "moved"]
    assert trial.state(waiting) == "binned"


def test_a_retry_keeps_its_due_time_and_waits_for_the_end_of_the_pause(trial: Trial) -> None:
    it = trial.create("job")
    do(trial, Fail(ValueError("no paper")))
    due = trial.get(it).due_at
    assert due == trial.clock.now() + span(timedelta(hours=1))
    trial.engine.pause(it, actor=ANN)
    pass_time(trial, hours=2)
    assert trial.state(it) == "failed"
    trial.engine.resume(it, actor=ANN)
    assert (trial.get(it).wake, trial.get(it).due_at) == ("resume", due)
    pass_time(trial)
    assert trial.path(it) == ["first", "failed", "first"]


# -- events while it is paused


def test_an_event_moves_it_and_it_stays_paused(trial: Trial, waiting: UUID) -> None:
    trial.engine.pause(waiting, actor=ANN)
    after = trial.engine.fire(waiting, "rewrite", actor=ANN)
    assert (after.state, after.paused_at) == ("draft", trial.clock.now())
    assert trial.claim() == []
    trial.engine.resume(waiting, actor=ANN)
    assert do(trial, Go("waiting")).id == waiting


def test_an_event_leaves_the_moment_of_the_resume_as_it_is(trial: Trial, waiting: UUID) -> None:
    trial.engine.pause(waiting, actor=ANN, resume_at=trial.clock.time + timedelta(hours=2))
    trial.engine.fire(waiting, "rewrite", actor=ANN)
    pass_time(trial, hours=2)
    assert kinds(trial, waiting)[-1] == "resumed"
    assert claim_one(trial).id == waiting


def test_a_chain_of_events_moves_it_and_it_stays_paused(trial: Trial) -> None:
    it = trial.create("parcel")
    do(trial, Go("checking"))
    trial.engine.pause(it, actor=ANN, resume_at=trial.clock.time + timedelta(hours=2))
    trial.engine.fire(it, ("repack", "stop", "repack"), actor=ANN)
    assert (trial.state(it), trial.claim()) == ("packing", [])
    pass_time(trial, hours=2)
    assert kinds(trial, it)[-1] == "resumed"
    assert claim_one(trial).id == it


def test_the_middle_of_a_chain_does_not_start_work_on_what_is_paused(trial: Trial) -> None:
    it = trial.create("parcel")
    do(trial, Go("checking"))
    trial.engine.pause(it, actor=ANN)
    trial.engine.fire(it, ("repack", "stop"), actor=ANN)
    assert (trial.get(it).wake, trial.claim()) == (None, [])
    trial.engine.resume(it, actor=ANN)
    assert (trial.get(it).wake, trial.claim()) == (None, [])


def test_an_event_into_a_final_state_ends_the_pause_too(trial: Trial, waiting: UUID) -> None:
    trial.engine.pause(waiting, actor=ANN, resume_at=trial.clock.time + timedelta(hours=2))
    trial.engine.fire(waiting, "bin", actor=ANN)
    after = trial.get(waiting)
    assert (after.state, after.paused_at, after.wake, after.due_at) == ("binned", None, None, None)
    assert after.finished_at == trial.clock.now()
    pass_time(trial, hours=3)
    assert kinds(trial, waiting)[-2:] == ["moved", "resumed"]


def test_work_armed_while_it_is_paused_starts_with_the_resume(trial: Trial, waiting: UUID) -> None:
    trial.engine.pause(waiting, actor=ANN)
    trial.engine.fire(waiting, "approve", actor=ANN)
    assert trial.claim() == []
    with pytest.raises(Refused, match="its work was started already"):
        trial.engine.fire(waiting, "approve", actor=ANN)
    trial.engine.resume(waiting, actor=ANN)
    assert claim_one(trial).id == waiting


def test_timers_of_a_state_entered_while_paused_count_from_its_entry(trial: Trial) -> None:
    it = trial.create("letter")
    trial.engine.pause(it, actor=ANN)
    pass_time(trial, hours=1)
    trial.engine.force(it, "waiting", actor=BOSS, reason="it is written")
    assert trial.get(it).timer_at == trial.clock.now() + span(timedelta(hours=12))
    pass_time(trial, hours=13)
    assert kinds(trial, it)[-1] == "forced"
    trial.engine.resume(it, actor=ANN)
    pass_time(trial)
    assert kinds(trial, it)[-2:] == ["resumed", "reminded"]
