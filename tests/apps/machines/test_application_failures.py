"""The retry table of auto-apply, with its numbers; pauses by people and by the system; what a withdrawal says."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

import pytest

from interlock.apps.jobs.autoapply.errors import (
    GenerationTimeout,
    InvalidJobUrl,
    JobClosed,
    ModelQuotaExceeded,
    SiteUnreachable,
)
from interlock.apps.jobs.autoapply.machine import application
from interlock.engine import Refused
from interlock.machine import Actor, Go, LimitReached, WorkError
from interlock.store import Store
from interlock.testing import broken_laws
from tests.apps.machines.recipes import APPLICATION, Outage
from tests.apps.machines.scripted_trial import ANN, BOSS, CLOCK, ScriptedTrial

pytestmark = pytest.mark.soak("postgresql")

HOUR = timedelta(hours=1)
MINUTES = [timedelta(minutes=m) for m in (15, 30, 60)]
BOUND = 10
"""More attempts than any rule gives."""
WORKING = ["preparing", "ready_to_submit", "requires_review"]


def bring(trial: ScriptedTrial, it: UUID, state: str) -> None:
    """From the queue to where the work of this state is about to be done."""
    trial.take(it)
    if state != "preparing":
        trial.work(it, Go("ready_to_submit"))
    if state == "requires_review":
        trial.work(it, Go("requires_review"))
        trial.fire(it, "approve", ANN)


def waits_of(trial: ScriptedTrial, it: UUID, state: str, error: Exception) -> list[timedelta]:
    """Fail with the error whenever it comes to the state; how long it waited each time."""
    waits: list[timedelta] = []
    for _ in range(BOUND):
        bring(trial, it, state)
        trial.work(it, error)
        if trial.get(it).finished_at is not None:
            return waits
        waits.append(trial.due_in(it))
        trial.wait(waits[-1] - timedelta(microseconds=1))
        assert trial.state(it) != "queued", "not before its time"
        trial.wait(microseconds=1)
        assert trial.state(it) == "queued"
    raise AssertionError(f"it was never given up: {waits}")


@pytest.mark.parametrize("state", WORKING)
@pytest.mark.parametrize("error", [GenerationTimeout("slow"), SiteUnreachable("down"), Outage("odd")], ids=repr)
def test_a_failure_is_retried_after_15_30_and_60_minutes_and_then_withdrawn(
    trial: ScriptedTrial, state: str, error: Exception
) -> None:
    it = trial.begin("application")
    assert waits_of(trial, it, state, error) == MINUTES
    assert trial.path(it)[-3:] == [state, "failed", "withdrawn"]
    assert trial.data(it)["withdraw_reason"] == "retries_exhausted"
    (letter,) = trial.letters(it)
    assert (letter.state, letter.attempts, letter.error_type) == (state, 4, type(error).__name__)
    assert letter.error["message"] == str(error)
    kept = trial.get(it).error
    assert kept is not None
    assert (kept["type"], kept["step"]) == (type(error).__name__, state)


def test_a_later_step_keeps_its_count_although_the_earlier_ones_succeed_again(trial: ScriptedTrial) -> None:
    it = trial.begin("application")
    waits_of(trial, it, "ready_to_submit", SiteUnreachable())
    assert trial.path(it).count("ready_to_submit") == 4


def test_a_site_may_ask_for_more_time_than_the_table_gives(trial: ScriptedTrial) -> None:
    it = APPLICATION.at(trial, "preparing")
    trial.work(it, SiteUnreachable("busy", retry_after=timedelta(hours=2)))
    assert trial.due_in(it) == 2 * HOUR


def test_kinds_of_errors_are_counted_apart(trial: ScriptedTrial) -> None:
    it = trial.begin("application")
    for error in (GenerationTimeout(), SiteUnreachable(), Outage()) * 3:
        bring(trial, it, "preparing")
        trial.work(it, error)
        trial.wait(hours=1)
    assert trial.state(it) == "queued"
    assert waits_of(trial, it, "preparing", SiteUnreachable()) == []


def test_the_quota_of_the_model_pauses_for_an_hour_five_times_and_then_withdraws(trial: ScriptedTrial) -> None:
    it = trial.begin("application")
    assert waits_of(trial, it, "preparing", ModelQuotaExceeded("429")) == [HOUR] * 5
    assert trial.path(it)[:7] == ["queued", "preparing", "failed", "paused", "queued", "preparing", "failed"]
    assert trial.path(it)[-3:] == ["preparing", "failed", "withdrawn"]
    assert trial.data(it)["withdraw_reason"] == "retries_exhausted"
    assert [letter.attempts for letter in trial.letters(it)] == [6]


def test_the_quota_of_the_model_does_not_use_up_the_retries_of_other_errors(trial: ScriptedTrial) -> None:
    it = trial.begin("application")
    for _ in range(5):
        bring(trial, it, "preparing")
        trial.work(it, ModelQuotaExceeded())
        trial.wait(hours=1)
    assert waits_of(trial, it, "preparing", GenerationTimeout()) == MINUTES


@pytest.mark.parametrize("days", [1, 7])
def test_the_quota_of_the_user_pauses_until_exactly_its_reset_however_often(trial: ScriptedTrial, days: int) -> None:
    it = trial.begin("application")
    for _ in range(7):
        bring(trial, it, "ready_to_submit")
        reset = trial.clock.time + timedelta(days=days)
        trial.work(it, LimitReached("10 of 10 used", until=reset))
        assert trial.path(it)[-3:] == ["ready_to_submit", "failed", "paused"]
        explained = trial.engine.explain(it)
        assert (explained.waits_for, [coming.at for coming in explained.upcoming]) == ("time", [reset])
        trial.wait(timedelta(days=days) - timedelta(microseconds=1))
        assert trial.state(it) == "paused"
        trial.wait(microseconds=1)
        assert trial.state(it) == "queued"
    assert trial.letters(it) == []


@pytest.mark.parametrize("state", ["preparing", "ready_to_submit"])
@pytest.mark.parametrize(
    ("error", "reason"), [(InvalidJobUrl("404"), "invalid_url"), (JobClosed("filled"), "job_closed")], ids=repr
)
def test_what_no_retry_can_help_is_withdrawn_at_once(
    trial: ScriptedTrial, state: str, error: WorkError, reason: str
) -> None:
    it = trial.begin("application")
    assert waits_of(trial, it, state, error) == []
    assert trial.path(it)[-3:] == [state, "failed", "withdrawn"]
    assert trial.data(it)["withdraw_reason"] == reason
    assert trial.letters(it) == []
    kept = trial.get(it).error
    assert kept is not None
    assert kept["type"] == type(error).__name__


def test_a_chain_of_a_failure_is_one_transaction_with_a_row_for_each_move(trial: ScriptedTrial) -> None:
    it = APPLICATION.at(trial, "preparing")
    seq = trial.get(it).seq
    trial.work(it, InvalidJobUrl("404"))
    rows = trial.rows(it, after=seq)
    assert [(r.seq, r.kind, r.from_state, r.to_state, r.event) for r in rows] == [
        (seq + 1, "moved", "preparing", "failed", "fail"),
        (seq + 2, "moved", "failed", "withdrawn", "withdraw"),
    ]
    assert len({r.at for r in rows}) == 1


# -- people, while it has failed or is paused


@pytest.mark.parametrize(
    ("event", "to", "reason"), [("retry", "queued", None), ("pause", "paused", None), ("withdraw", "withdrawn", "user")]
)
@pytest.mark.parametrize("actor", [ANN, BOSS], ids=str)
def test_its_user_need_not_wait_for_the_retry(
    trial: ScriptedTrial, event: str, to: str, reason: str | None, actor: Actor
) -> None:
    it = APPLICATION.at(trial, "failed")
    trial.fire(it, event, actor)
    assert (trial.state(it), trial.data(it)["withdraw_reason"]) == (to, reason)
    trial.wait(hours=2)
    assert trial.state(it) == to, "the retry that was due is off"


@pytest.mark.parametrize("state", ["queued", "preparing", "ready_to_submit", "requires_review", "failed"])
def test_a_pause_by_a_person_waits_for_a_person(trial: ScriptedTrial, state: str) -> None:
    it = APPLICATION.at(trial, state)
    trial.fire(it, "pause", ANN)
    assert trial.engine.explain(it).waits_for == "person"
    trial.wait(days=365)
    assert (trial.state(it), trial.claims(it)) == ("paused", [])
    trial.fire(it, "resume", ANN)
    assert trial.state(it) == "queued"


def test_a_pause_by_the_system_ends_by_itself_or_earlier_by_a_person(trial: ScriptedTrial) -> None:
    first, second = APPLICATION.at(trial, "failed"), APPLICATION.at(trial, "failed")
    for it in (first, second):
        trial.fire(it, "pause", CLOCK, resume_at=trial.clock.time + 3 * HOUR)
    trial.fire(second, "resume", ANN)
    assert (trial.state(first), trial.state(second)) == ("paused", "queued")
    trial.wait(hours=3)
    assert trial.state(first) == "queued"
    assert trial.moves(first)[-1] == ("paused", "queued", "system")


def test_the_system_may_pause_only_what_failed(trial: ScriptedTrial) -> None:
    it = APPLICATION.at(trial, "queued")
    with pytest.raises(Refused, match="'pause' is for user, not for system"):
        trial.fire(it, "pause", CLOCK, resume_at=trial.clock.time + HOUR)
    assert trial.state(it) == "queued"


# -- the dead letter


def dead(trial: ScriptedTrial, key: str | None = None) -> UUID:
    it = trial.begin("application", {"user_id": "ann"}, key=key)
    waits_of(trial, it, "ready_to_submit", SiteUnreachable())
    return it


def test_a_dead_letter_is_retried_as_a_new_application_at_the_failed_step(store: Store) -> None:
    with ScriptedTrial([application], store) as trial:
        it = dead(trial, key="ann/ramp/12345")
        (letter,) = trial.letters(it)
        again = trial.engine.dead_letters.retry(letter.id, actor=ANN, reason="the site is back")
        assert (again.state, again.parent, again.data["user_id"]) == ("ready_to_submit", it, "ann")
        assert trial.state(it) == "withdrawn", "final is final"
        assert trial.engine.find("application", "ann/ramp/12345") == trial.get(again.id)
        trial.work(again.id, Go("submitted"))
        assert trial.engine.dead_letters.get(letter.id).retried_as == again.id
        assert broken_laws(trial.engine) == []


def test_an_application_that_is_retried_does_not_carry_the_reason_of_its_withdrawal(trial: ScriptedTrial) -> None:
    (letter,) = trial.letters(dead(trial))
    assert letter.data["withdraw_reason"] is None
    again = trial.engine.dead_letters.retry(letter.id, actor=ANN)
    assert again.data["withdraw_reason"] is None
