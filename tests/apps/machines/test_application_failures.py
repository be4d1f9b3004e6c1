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
from tests.apps.machines.play import ANN, BOSS, CLOCK, Play
from tests.apps.machines.recipes import APPLICATION, Outage

HOUR = timedelta(hours=1)
MINUTES = [timedelta(minutes=m) for m in (15, 30, 60)]
BOUND = 10
"""More attempts than any rule gives."""
WORKING = ["preparing", "ready_to_submit", "requires_review"]


def bring(play: Play, it: UUID, state: str) -> None:
    """From the queue to where the work of this state is about to be done."""
    play.take(it)
    if state != "preparing":
        play.work(it, Go("ready_to_submit"))
    if state == "requires_review":
        play.work(it, Go("requires_review"))
        play.fire(it, "approve", ANN)


def waits_of(play: Play, it: UUID, state: str, error: Exception) -> list[timedelta]:
    """Fail with the error whenever it comes to the state; how long it waited each time."""
    waits: list[timedelta] = []
    for _ in range(BOUND):
        bring(play, it, state)
        play.work(it, error)
        if play.get(it).finished_at is not None:
            return waits
        waits.append(play.due_in(it))
        play.wait(waits[-1] - timedelta(microseconds=1))
        assert play.state(it) != "queued", "not before its time"
        play.wait(microseconds=1)
        assert play.state(it) == "queued"
    raise AssertionError(f"it was never given up: {waits}")


@pytest.mark.parametrize("state", WORKING)
@pytest.mark.parametrize("error", [GenerationTimeout("slow"), SiteUnreachable("down"), Outage("odd")], ids=repr)
def test_a_failure_is_retried_after_15_30_and_60_minutes_and_then_withdrawn(
    play: Play, state: str, error: Exception
) -> None:
    it = play.begin("application")
    assert waits_of(play, it, state, error) == MINUTES
    assert play.path(it)[-3:] == [state, "failed", "withdrawn"]
    assert play.data(it)["withdraw_reason"] == "retries_exhausted"
    (letter,) = play.letters(it)
    assert (letter.state, letter.attempts, letter.error_type) == (state, 4, type(error).__name__)
    assert letter.error["message"] == str(error)
    kept = play.get(it).error
    assert kept is not None
    assert (kept["type"], kept["step"]) == (type(error).__name__, state)


def test_a_later_step_keeps_its_count_although_the_earlier_ones_succeed_again(play: Play) -> None:
    it = play.begin("application")
    waits_of(play, it, "ready_to_submit", SiteUnreachable())
    assert play.path(it).count("ready_to_submit") == 4


def test_a_site_may_ask_for_more_time_than_the_table_gives(play: Play) -> None:
    it = APPLICATION.at(play, "preparing")
    play.work(it, SiteUnreachable("busy", retry_after=timedelta(hours=2)))
    assert play.due_in(it) == 2 * HOUR


def test_kinds_of_errors_are_counted_apart(play: Play) -> None:
    it = play.begin("application")
    for error in (GenerationTimeout(), SiteUnreachable(), Outage()) * 3:
        bring(play, it, "preparing")
        play.work(it, error)
        play.wait(hours=1)
    assert play.state(it) == "queued"
    assert waits_of(play, it, "preparing", SiteUnreachable()) == []


def test_the_quota_of_the_model_pauses_for_an_hour_five_times_and_then_withdraws(play: Play) -> None:
    it = play.begin("application")
    assert waits_of(play, it, "preparing", ModelQuotaExceeded("429")) == [HOUR] * 5
    assert play.path(it)[:7] == ["queued", "preparing", "failed", "paused", "queued", "preparing", "failed"]
    assert play.path(it)[-3:] == ["preparing", "failed", "withdrawn"]
    assert play.data(it)["withdraw_reason"] == "retries_exhausted"
    assert [letter.attempts for letter in play.letters(it)] == [6]


def test_the_quota_of_the_model_does_not_use_up_the_retries_of_other_errors(play: Play) -> None:
    it = play.begin("application")
    for _ in range(5):
        bring(play, it, "preparing")
        play.work(it, ModelQuotaExceeded())
        play.wait(hours=1)
    assert waits_of(play, it, "preparing", GenerationTimeout()) == MINUTES


@pytest.mark.parametrize("days", [1, 7])
def test_the_quota_of_the_user_pauses_until_exactly_its_reset_however_often(play: Play, days: int) -> None:
    it = play.begin("application")
    for _ in range(7):
        bring(play, it, "ready_to_submit")
        reset = play.clock.time + timedelta(days=days)
        play.work(it, LimitReached("10 of 10 used", until=reset))
        assert play.path(it)[-3:] == ["ready_to_submit", "failed", "paused"]
        explained = play.engine.explain(it)
        assert (explained.waits_for, [coming.at for coming in explained.by_itself]) == ("time", [reset])
        play.wait(timedelta(days=days) - timedelta(microseconds=1))
        assert play.state(it) == "paused"
        play.wait(microseconds=1)
        assert play.state(it) == "queued"
    assert play.letters(it) == []


@pytest.mark.parametrize("state", ["preparing", "ready_to_submit"])
@pytest.mark.parametrize(
    ("error", "reason"), [(InvalidJobUrl("404"), "invalid_url"), (JobClosed("filled"), "job_closed")], ids=repr
)
def test_what_no_retry_can_help_is_withdrawn_at_once(play: Play, state: str, error: WorkError, reason: str) -> None:
    it = play.begin("application")
    assert waits_of(play, it, state, error) == []
    assert play.path(it)[-3:] == [state, "failed", "withdrawn"]
    assert play.data(it)["withdraw_reason"] == reason
    assert play.letters(it) == []
    kept = play.get(it).error
    assert kept is not None
    assert kept["type"] == type(error).__name__


def test_a_chain_of_a_failure_is_one_transaction_with_a_row_for_each_move(play: Play) -> None:
    it = APPLICATION.at(play, "preparing")
    seq = play.get(it).seq
    play.work(it, InvalidJobUrl("404"))
    rows = play.rows(it, after=seq)
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
    play: Play, event: str, to: str, reason: str | None, actor: Actor
) -> None:
    it = APPLICATION.at(play, "failed")
    play.fire(it, event, actor)
    assert (play.state(it), play.data(it)["withdraw_reason"]) == (to, reason)
    play.wait(hours=2)
    assert play.state(it) == to, "the retry that was due is off"


@pytest.mark.parametrize("state", ["queued", "preparing", "ready_to_submit", "requires_review", "failed"])
def test_a_pause_by_a_person_waits_for_a_person(play: Play, state: str) -> None:
    it = APPLICATION.at(play, state)
    play.fire(it, "pause", ANN)
    assert play.engine.explain(it).waits_for == "person"
    play.wait(days=365)
    assert (play.state(it), play.claims(it)) == ("paused", [])
    play.fire(it, "resume", ANN)
    assert play.state(it) == "queued"


def test_a_pause_by_the_system_ends_by_itself_or_earlier_by_a_person(play: Play) -> None:
    first, second = APPLICATION.at(play, "failed"), APPLICATION.at(play, "failed")
    for it in (first, second):
        play.fire(it, "pause", CLOCK, resume_at=play.clock.time + 3 * HOUR)
    play.fire(second, "resume", ANN)
    assert (play.state(first), play.state(second)) == ("paused", "queued")
    play.wait(hours=3)
    assert play.state(first) == "queued"
    assert play.moves(first)[-1] == ("paused", "queued", "system")


def test_the_system_may_pause_only_what_failed(play: Play) -> None:
    it = APPLICATION.at(play, "queued")
    with pytest.raises(Refused, match="'pause' is for user, not for system"):
        play.fire(it, "pause", CLOCK, resume_at=play.clock.time + HOUR)
    assert play.state(it) == "queued"


# -- the dead letter


def dead(play: Play, key: str | None = None) -> UUID:
    it = play.begin("application", {"user_id": "ann"}, key=key)
    waits_of(play, it, "ready_to_submit", SiteUnreachable())
    return it


def test_a_dead_letter_is_retried_as_a_new_application_at_the_failed_step(store: Store) -> None:
    with Play([application], store) as play:
        it = dead(play, key="ann/ramp/12345")
        (letter,) = play.letters(it)
        again = play.engine.dead_letters.retry(letter.id, actor=ANN, reason="the site is back")
        assert (again.state, again.parent, again.data["user_id"]) == ("ready_to_submit", it, "ann")
        assert play.state(it) == "withdrawn", "final is final"
        assert play.engine.find("application", "ann/ramp/12345") == play.get(again.id)
        play.work(again.id, Go("submitted"))
        assert play.engine.dead_letters.get(letter.id).retried_as == again.id
        assert broken_laws(play.engine) == []


def test_an_application_that_is_retried_does_not_carry_the_reason_of_its_withdrawal(play: Play) -> None:
    (letter,) = play.letters(dead(play))
    assert letter.data["withdraw_reason"] is None
    again = play.engine.dead_letters.retry(letter.id, actor=ANN)
    assert again.data["withdraw_reason"] is None
