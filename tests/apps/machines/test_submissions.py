"""Submitting: nothing leaves before its approval, nothing leaves twice, and what is unknown is verified by a person."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from interlock.apps.jobs.autoapply.errors import SiteUnreachable
from interlock.engine import AlreadyDecided, Effect, Fenced, InvalidData, Refused
from interlock.machine import EffectUnknown, Fail, Go, Outcome
from interlock.store import Store
from interlock.testing import Trial, broken_laws
from interlock.worker import Task
from interlock.worker.task import EnginePort, make_task
from tests.apps.machines.applying import LIMITS, Site, applying, match, submission
from tests.apps.machines.play import ANN, BOSS, ROBOT, Play
from tests.apps.machines.recipes import APPLICATION


@dataclass
class House:
    """A trial of auto-apply, and the site that it submits to."""

    trial: Trial
    site: Site

    def begin(self, **data: Any) -> UUID:
        it = self.trial.create("application", match(**data))
        self.trial.run_until_idle()
        return it

    def reviews(self, it: UUID) -> dict[str, UUID]:
        return {review.name: review.id for review in self.trial.engine.reviews.waiting(instance_id=it)}

    def decide(self, it: UUID, name: str, decision: str, **answer: Any) -> None:
        self.trial.engine.reviews.decide(self.reviews(it)[name], decision, actor=ANN, answer=answer)
        self.trial.run_until_idle()

    def statuses(self, it: UUID) -> list[tuple[str, int]]:
        return [(effect.status, effect.sends) for effect in self.trial.engine.effects(it)]


@pytest.fixture
def house(store: Store) -> Iterator[House]:
    site = Site()
    with Trial([applying(site)], store=store) as trial:
        yield House(trial, site)
        assert broken_laws(trial.engine) == []


# -- approval


def test_without_approval_wanted_it_is_submitted_by_itself_once(house: House) -> None:
    it = house.begin()
    assert house.trial.path(it) == ["queued", "preparing", "ready_to_submit", "submitted"]
    assert len(house.site.arrived) == 1
    assert house.trial.data(it)["confirmation_url"] == "https://acme.example/confirm/1"


def test_nothing_is_submitted_before_its_user_approves(house: House) -> None:
    it = house.begin(require_user_approval=True)
    house.trial.advance(days=30)
    assert (house.trial.state(it), house.site.arrived) == ("requires_review", [])
    house.decide(it, "requires_review", "approve", approved_packet="packet")
    assert (house.trial.state(it), len(house.site.arrived)) == ("submitted", 1)
    armed = [row for row in house.trial.engine.history(it) if row.kind == "armed"]
    assert [(row.event, row.actor) for row in armed] == [("approve", "user:ann")]


def test_a_reminder_after_two_days_moves_nothing(house: House) -> None:
    it = house.begin(require_user_approval=True)
    house.trial.advance(timedelta(hours=48) - timedelta(microseconds=1))
    assert "reminded" not in [row.kind for row in house.trial.engine.history(it)]
    house.trial.advance(microseconds=1)
    last = house.trial.engine.history(it)[-1]
    assert (last.kind, last.actor) == ("reminded", "system")
    assert (house.trial.state(it), list(house.reviews(it))) == ("requires_review", ["requires_review"])


def test_approving_twice_starts_its_work_once(play: Play) -> None:
    it = APPLICATION.at(play, "requires_review")
    play.fire(it, "approve", ANN)
    with pytest.raises(Refused, match="its work was started already"):
        play.fire(it, "approve", ANN)
    play.take(it)
    with pytest.raises(Refused, match="its work was started already"):
        play.fire(it, "approve", BOSS)
    play.work(it, Go("submitted"))
    with pytest.raises(Refused, match="'approve' means nothing"):
        play.fire(it, "approve", ANN)


def test_the_same_decision_again_is_answered_alike_and_another_comes_too_late(play: Play) -> None:
    it = APPLICATION.at(play, "requires_review")
    review = play.reviews(it)["requires_review"]
    first = play.engine.reviews.decide(review.id, "approve", actor=ANN)
    assert play.engine.reviews.decide(review.id, "approve", actor=ANN) == first
    with pytest.raises(AlreadyDecided, match="approve by user:ann"):
        play.engine.reviews.decide(review.id, "reject", actor=BOSS)
    assert [row.kind for row in play.rows(it)].count("armed") == 1


@pytest.mark.parametrize(
    ("decision", "to", "reason"), [("reject", "withdrawn", "rejected_in_review"), ("later", "paused", None)]
)
def test_rejecting_and_deciding_later(play: Play, decision: str, to: str, reason: str | None) -> None:
    it = APPLICATION.at(play, "requires_review")
    play.engine.reviews.decide(play.reviews(it)["requires_review"].id, decision, actor=ANN)
    assert (play.state(it), play.data(it)["withdraw_reason"], play.reviews(it)) == (to, reason, {})


def test_an_approval_names_the_packet_and_changes_nothing_else(play: Play) -> None:
    it = APPLICATION.at(play, "requires_review")
    before = play.get(it)
    with pytest.raises(InvalidData, match="does not take the field 'user_id'; it takes approved_packet"):
        play.fire(it, "approve", ANN, data={"user_id": "bob"})
    assert play.get(it) == before
    play.fire(it, "approve", ANN, data={"approved_packet": "p1"})
    assert play.data(it)["approved_packet"] == "p1"


def test_an_approved_application_that_fails_to_submit_is_not_asked_about_again(house: House) -> None:
    house.site.moods = ["refuses"]
    it = house.begin(require_user_approval=True)
    house.decide(it, "requires_review", "approve", approved_packet="packet")
    assert house.trial.path(it)[-2:] == ["requires_review", "failed"]
    house.trial.advance(minutes=15)
    assert house.trial.path(it)[-4:] == ["queued", "preparing", "ready_to_submit", "submitted"]
    assert (len(house.site.arrived), house.statuses(it)) == (1, [("confirmed", 2)])


# -- unknown


def lost_after_sending(house: House, it: UUID) -> None:
    """A worker writes down that the submission goes out, the site takes it, and the worker is gone."""
    trial = house.trial
    worker = trial.new_worker()
    (claim,) = trial.claim(worker=worker)
    task = make_task(claim, EnginePort(trial.engine, claim))
    effect = task.intend("submit", {"job": task.data.job_id}, key=submission(task), takes=LIMITS)
    task.sent(effect)
    house.site.send(effect)
    trial.lose(worker)
    trial.run_until_idle()


def falls_silent(house: House) -> UUID:
    house.site.moods = ["falls silent"]
    return house.begin()


def loses_its_worker(house: House) -> UUID:
    it = house.trial.create("application", match())
    (claim,) = house.trial.claim()
    house.trial.finish(claim, house.trial.run(claim))
    lost_after_sending(house, it)
    return it


def loses_its_worker_after_the_approval(house: House) -> UUID:
    it = house.begin(require_user_approval=True)
    house.trial.engine.fire(it, "approve", actor=ANN, data={"approved_packet": "packet"})
    lost_after_sending(house, it)
    return it


UNKNOWN = [falls_silent, loses_its_worker, loses_its_worker_after_the_approval]
each_unknown = pytest.mark.parametrize("unknown", UNKNOWN, ids=lambda f: f.__name__)


@each_unknown
def test_an_unknown_submission_rests_in_review_and_is_never_sent_by_itself(
    house: House, unknown: Callable[[House], UUID]
) -> None:
    it = unknown(house)
    assert house.trial.state(it) == "requires_review"
    assert house.trial.data(it)["review_reason"] == "verify_submission"
    assert "verify_submission" in house.reviews(it)
    assert house.statuses(it) == [("unknown", 1)]
    assert house.trial.engine.explain(it).waits_for == "person"
    house.trial.advance(days=30)
    assert (house.trial.state(it), len(house.site.arrived)) == ("requires_review", 1)


@each_unknown
def test_what_arrived_is_submitted_and_not_sent_again(house: House, unknown: Callable[[House], UUID]) -> None:
    it = unknown(house)
    house.decide(it, "verify_submission", "arrived")
    house.trial.advance(days=30)
    assert (house.trial.state(it), len(house.site.arrived)) == ("submitted", 1)
    assert house.statuses(it) == [("confirmed", 1)]
    assert house.reviews(it) == {}


@each_unknown
def test_what_did_not_arrive_is_sent_again_after_a_quarter_of_an_hour(
    house: House, unknown: Callable[[House], UUID]
) -> None:
    it = unknown(house)
    house.site.arrived.clear()
    house.decide(it, "verify_submission", "not_arrived")
    assert (house.trial.state(it), house.statuses(it)) == ("failed", [("failed", 1)])
    house.trial.advance(minutes=15)
    assert house.trial.path(it)[-5:] == ["failed", "queued", "preparing", "ready_to_submit", "submitted"]
    assert (len(house.site.arrived), house.statuses(it)) == (1, [("confirmed", 2)])


@each_unknown
def test_approving_what_may_have_arrived_is_refused(house: House, unknown: Callable[[House], UUID]) -> None:
    it = unknown(house)
    before = house.trial.get(it)
    with pytest.raises(Refused, match="a submission may have arrived already; verify it"):
        house.trial.engine.fire(it, "approve", actor=ANN, data={"approved_packet": "packet"})
    assert house.trial.get(it) == before


@pytest.mark.parametrize("event", ["submit", "fail"])
def test_nobody_verifies_what_is_not_in_doubt(play: Play, event: str) -> None:
    it = APPLICATION.at(play, "requires_review")
    for actor in (ANN, BOSS, ROBOT):
        with pytest.raises(Refused):
            play.fire(it, event, actor)
    assert play.state(it) == "requires_review"


def test_putting_the_verification_off_does_not_make_it_go_away(house: House) -> None:
    it = falls_silent(house)
    house.trial.engine.fire(it, "pause", actor=ANN)
    house.trial.engine.fire(it, "resume", actor=ANN)
    house.trial.run_until_idle()
    assert (house.trial.state(it), len(house.site.arrived)) == ("requires_review", 1)
    assert house.trial.data(it)["review_reason"] == "verify_submission"


def test_after_a_verification_its_user_is_asked_about_a_packet_as_before(play: Play) -> None:
    it = APPLICATION.at(play, "ready_to_submit")
    play.work(it, EffectUnknown("no answer"))
    play.fire(it, "fail", ANN)
    play.wait(minutes=15)
    play.work(it, Go("ready_to_submit"))
    play.work(it, Go("requires_review"))
    assert play.data(it)["review_reason"] == "approve_packet"
    play.fire(it, "approve", ANN)
    assert play.claims(it)


@pytest.mark.parametrize("end", ["lost workers", "time limit", "last retry"])
def test_what_is_unknown_is_verified_though_the_step_was_given_up_for_another_reason(play: Play, end: str) -> None:
    """Law 5: withdrawn for lack of retries would say that it did not arrive, and that nobody knows."""
    it = APPLICATION.at(play, "ready_to_submit")
    for _ in range(3 if end in {"time limit", "last retry"} else 0):
        play.work(it, SiteUnreachable() if end == "last retry" else Fail(TimeoutError()))
        play.wait(hours=1)
        play.work(it, Go("ready_to_submit"))
    claim = play.take(it)
    task = make_task(claim, EnginePort(play.engine, claim))
    task.sent(task.intend("submit", {}, key=submission(task)))
    if end == "lost workers":
        for _ in range(3):
            play.lose_worker(it)
    elif end == "time limit":
        play.wait(minutes=15)
    else:
        play.finish(claim, Fail(SiteUnreachable()))
    assert play.state(it) == "requires_review"
    assert "verify_submission" in play.reviews(it)


# -- withdrawn while somebody works


def test_withdrawn_while_it_is_prepared_it_goes_through_paused_in_one_transaction(play: Play) -> None:
    it = APPLICATION.at(play, "preparing")
    claim = play.held(it)
    assert claim is not None
    seq = play.get(it).seq
    play.engine.cancel(it, actor=ANN, reason="found another job")
    rows = play.rows(it, after=seq)
    assert [(r.from_state, r.to_state, r.event, r.actor) for r in rows] == [
        ("preparing", "paused", "pause", "user:ann"),
        ("paused", "withdrawn", "withdraw", "user:ann"),
    ]
    assert len({r.at for r in rows}) == 1
    assert play.data(it)["withdraw_reason"] == "user"
    assert play.finish(claim, Go("ready_to_submit")) is False
    assert play.state(it) == "withdrawn"


@pytest.mark.parametrize(
    ("state", "reason"),
    [
        ("queued", "user"),
        ("ready_to_submit", "user"),
        ("requires_review", "rejected_in_review"),
        ("failed", "user"),
        ("paused", "user"),
        ("submitted", "user"),
    ],
)
def test_from_every_other_state_it_is_withdrawn_at_once(play: Play, state: str, reason: str) -> None:
    it = APPLICATION.at(play, state)
    play.engine.cancel(it, actor=ANN)
    assert play.path(it)[-2:] == [state, "withdrawn"]
    assert play.data(it)["withdraw_reason"] == reason


@pytest.mark.parametrize(("state", "event"), [("ready_to_submit", "withdraw"), ("requires_review", "reject")])
def test_the_answer_of_a_submission_is_kept_though_its_user_withdrew_meanwhile(
    play: Play, state: str, event: str
) -> None:
    it = APPLICATION.at(play, state)
    if state == "requires_review":
        play.fire(it, "approve", ANN)

    def submit(task: Task[Any]) -> Outcome:
        def send(_: Effect) -> dict[str, str]:
            play.fire(it, event, ANN)
            return {"url": "https://acme.example/confirm/1"}

        answer = task.once("submit", {}, send, key=submission(task))
        return Go("submitted", data={"confirmation_url": answer["url"]})

    assert play.work(it, submit) is False, "its result comes too late"
    assert play.state(it) == "withdrawn"
    (effect,) = play.engine.effects(it)
    assert (effect.status, effect.answer) == ("confirmed", {"url": "https://acme.example/confirm/1"})
    assert list(play.reviews(it)) == ["late_answer"]


def test_what_was_withdrawn_before_it_was_sent_is_not_sent(play: Play) -> None:
    it = APPLICATION.at(play, "ready_to_submit")
    site = Site()
    caught: list[BaseException] = []

    def submit(task: Task[Any]) -> Outcome:
        play.fire(it, "withdraw", ANN)
        try:
            task.once("submit", {}, site.send, key=submission(task))
        except Fenced as error:
            caught.append(error)
        return Go("submitted")

    assert play.work(it, submit) is False
    assert (len(caught), site.arrived, play.engine.effects(it)) == (1, [], [])
