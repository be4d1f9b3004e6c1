"""Submitting: nothing leaves before its approval, nothing leaves twice, and what is unknown is verified by a person."""

from __future__ import annotations

from collections.abc import Callable, Iterator
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
from interlock.worker.port import EnginePort
from interlock.worker.task import make_task
from tests.apps.machines.applying import LIMITS, Site, applying, match, submission
from tests.apps.machines.recipes import APPLICATION
from tests.apps.machines.scripted_trial import ANN, BOSS, ROBOT, ScriptedTrial

pytestmark = pytest.mark.soak("postgresql")


class AutoApplyTrial(Trial):
    """A trial of auto-apply, and the site that it submits to."""

    def __init__(self, store: Store) -> None:
        self.site = Site()
        super().__init__([applying(self.site)], store=store)

    def begin(self, **data: Any) -> UUID:
        it = self.create("application", match(**data))
        self.run_until_idle()
        return it

    def reviews(self, it: UUID) -> dict[str, UUID]:
        return {review.name: review.id for review in self.engine.reviews.waiting(instance_id=it)}

    def decide(self, it: UUID, name: str, decision: str, **answer: Any) -> None:
        self.engine.reviews.decide(self.reviews(it)[name], decision, actor=ANN, answer=answer)
        self.run_until_idle()

    def statuses(self, it: UUID) -> list[tuple[str, int]]:
        return [(effect.status, effect.sends) for effect in self.engine.effects(it)]


@pytest.fixture
def autoapply(store: Store) -> Iterator[AutoApplyTrial]:
    with AutoApplyTrial(store) as trial:
        yield trial
        assert broken_laws(trial.engine) == []


# -- approval


def test_without_approval_wanted_it_is_submitted_by_itself_once(autoapply: AutoApplyTrial) -> None:
    it = autoapply.begin()
    assert autoapply.path(it) == ["queued", "preparing", "ready_to_submit", "submitted"]
    assert len(autoapply.site.arrived) == 1
    assert autoapply.data(it)["confirmation_url"] == "https://acme.example/confirm/1"


def test_nothing_is_submitted_before_its_user_approves(autoapply: AutoApplyTrial) -> None:
    it = autoapply.begin(require_user_approval=True)
    autoapply.advance(days=30)
    assert (autoapply.state(it), autoapply.site.arrived) == ("requires_review", [])
    autoapply.decide(it, "requires_review", "approve", approved_packet="packet")
    assert (autoapply.state(it), len(autoapply.site.arrived)) == ("submitted", 1)
    armed = [row for row in autoapply.engine.history(it) if row.kind == "armed"]
    assert [(row.event, row.actor) for row in armed] == [("approve", "user:ann")]


def test_a_reminder_after_two_days_moves_nothing(autoapply: AutoApplyTrial) -> None:
    it = autoapply.begin(require_user_approval=True)
    autoapply.advance(timedelta(hours=48) - timedelta(microseconds=1))
    assert "reminded" not in [row.kind for row in autoapply.engine.history(it)]
    autoapply.advance(microseconds=1)
    last = autoapply.engine.history(it)[-1]
    assert (last.kind, last.actor) == ("reminded", "system")
    assert (autoapply.state(it), list(autoapply.reviews(it))) == ("requires_review", ["requires_review"])


def test_approving_twice_starts_its_work_once(trial: ScriptedTrial) -> None:
    it = APPLICATION.at(trial, "requires_review")
    trial.fire(it, "approve", ANN)
    with pytest.raises(Refused, match="its work was started already"):
        trial.fire(it, "approve", ANN)
    trial.take(it)
    with pytest.raises(Refused, match="its work was started already"):
        trial.fire(it, "approve", BOSS)
    trial.work(it, Go("submitted"))
    with pytest.raises(Refused, match="'approve' is not declared"):
        trial.fire(it, "approve", ANN)


def test_the_same_decision_again_is_answered_alike_and_another_comes_too_late(trial: ScriptedTrial) -> None:
    it = APPLICATION.at(trial, "requires_review")
    review = trial.reviews(it)["requires_review"]
    first = trial.engine.reviews.decide(review.id, "approve", actor=ANN)
    assert trial.engine.reviews.decide(review.id, "approve", actor=ANN) == first
    with pytest.raises(AlreadyDecided, match="approve by user:ann"):
        trial.engine.reviews.decide(review.id, "reject", actor=BOSS)
    assert [row.kind for row in trial.rows(it)].count("armed") == 1


@pytest.mark.parametrize(
    ("decision", "to", "reason"), [("reject", "withdrawn", "rejected_in_review"), ("later", "paused", None)]
)
def test_rejecting_and_deciding_later(trial: ScriptedTrial, decision: str, to: str, reason: str | None) -> None:
    it = APPLICATION.at(trial, "requires_review")
    trial.engine.reviews.decide(trial.reviews(it)["requires_review"].id, decision, actor=ANN)
    assert (trial.state(it), trial.data(it)["withdraw_reason"], trial.reviews(it)) == (to, reason, {})


def test_an_approval_names_the_packet_and_changes_nothing_else(trial: ScriptedTrial) -> None:
    it = APPLICATION.at(trial, "requires_review")
    before = trial.get(it)
    with pytest.raises(InvalidData, match="does not take the field 'user_id'; it takes approved_packet"):
        trial.fire(it, "approve", ANN, data={"user_id": "bob"})
    assert trial.get(it) == before
    trial.fire(it, "approve", ANN, data={"approved_packet": "p1"})
    assert trial.data(it)["approved_packet"] == "p1"


def test_an_approved_application_that_fails_to_submit_is_not_asked_about_again(autoapply: AutoApplyTrial) -> None:
    autoapply.site.moods = ["refuses"]
    it = autoapply.begin(require_user_approval=True)
    autoapply.decide(it, "requires_review", "approve", approved_packet="packet")
    assert autoapply.path(it)[-2:] == ["requires_review", "failed"]
    autoapply.advance(minutes=15)
    assert autoapply.path(it)[-4:] == ["queued", "preparing", "ready_to_submit", "submitted"]
    assert (len(autoapply.site.arrived), autoapply.statuses(it)) == (1, [("confirmed", 2)])


# -- unknown


def lost_after_sending(autoapply: AutoApplyTrial, it: UUID) -> None:
    """A worker writes down that the submission goes out, the site takes it, and the worker is gone."""
    trial = autoapply
    worker = trial.new_worker()
    (claim,) = trial.claim(worker=worker)
    task = make_task(claim, EnginePort(trial.engine, claim))
    effect = task.intend("submit", {"job": task.data.job_id}, key=submission(task), takes=LIMITS)
    task.sent(effect)
    autoapply.site.send(effect)
    trial.lose(worker)
    trial.run_until_idle()


def falls_silent(autoapply: AutoApplyTrial) -> UUID:
    autoapply.site.moods = ["falls silent"]
    return autoapply.begin()


def loses_its_worker(autoapply: AutoApplyTrial) -> UUID:
    it = autoapply.create("application", match())
    (claim,) = autoapply.claim()
    autoapply.finish(claim, autoapply.run(claim))
    lost_after_sending(autoapply, it)
    return it


def loses_its_worker_after_the_approval(autoapply: AutoApplyTrial) -> UUID:
    it = autoapply.begin(require_user_approval=True)
    autoapply.engine.fire(it, "approve", actor=ANN, data={"approved_packet": "packet"})
    lost_after_sending(autoapply, it)
    return it


UNKNOWN = [falls_silent, loses_its_worker, loses_its_worker_after_the_approval]
each_unknown = pytest.mark.parametrize("unknown", UNKNOWN, ids=lambda f: f.__name__)


@each_unknown
def test_an_unknown_submission_rests_in_review_and_is_never_sent_by_itself(
    autoapply: AutoApplyTrial, unknown: Callable[[AutoApplyTrial], UUID]
) -> None:
    it = unknown(autoapply)
    assert autoapply.state(it) == "requires_review"
    assert autoapply.data(it)["review_reason"] == "verify_submission"
    assert "verify_submission" in autoapply.reviews(it)
    assert autoapply.statuses(it) == [("unknown", 1)]
    assert autoapply.engine.explain(it).waits_for == "person"
    autoapply.advance(days=30)
    assert (autoapply.state(it), len(autoapply.site.arrived)) == ("requires_review", 1)


@each_unknown
def test_what_arrived_is_submitted_and_not_sent_again(
    autoapply: AutoApplyTrial, unknown: Callable[[AutoApplyTrial], UUID]
) -> None:
    it = unknown(autoapply)
    autoapply.decide(it, "verify_submission", "arrived")
    autoapply.advance(days=30)
    assert (autoapply.state(it), len(autoapply.site.arrived)) == ("submitted", 1)
    assert autoapply.statuses(it) == [("confirmed", 1)]
    assert autoapply.reviews(it) == {}


@each_unknown
def test_what_did_not_arrive_is_sent_again_after_a_quarter_of_an_hour(
    autoapply: AutoApplyTrial, unknown: Callable[[AutoApplyTrial], UUID]
) -> None:
    it = unknown(autoapply)
    autoapply.site.arrived.clear()
    autoapply.decide(it, "verify_submission", "not_arrived")
    assert (autoapply.state(it), autoapply.statuses(it)) == ("failed", [("failed", 1)])
    autoapply.advance(minutes=15)
    assert autoapply.path(it)[-5:] == ["failed", "queued", "preparing", "ready_to_submit", "submitted"]
    assert (len(autoapply.site.arrived), autoapply.statuses(it)) == (1, [("confirmed", 2)])


@each_unknown
def test_approving_what_may_have_arrived_is_refused(
    autoapply: AutoApplyTrial, unknown: Callable[[AutoApplyTrial], UUID]
) -> None:
    it = unknown(autoapply)
    before = autoapply.get(it)
    with pytest.raises(Refused, match="a submission may have arrived already; verify it"):
        autoapply.engine.fire(it, "approve", actor=ANN, data={"approved_packet": "packet"})
    assert autoapply.get(it) == before


@pytest.mark.parametrize("event", ["submit", "fail"])
def test_nobody_verifies_what_is_not_in_doubt(trial: ScriptedTrial, event: str) -> None:
    it = APPLICATION.at(trial, "requires_review")
    for actor in (ANN, BOSS, ROBOT):
        with pytest.raises(Refused):
            trial.fire(it, event, actor)
    assert trial.state(it) == "requires_review"


def test_putting_the_verification_off_does_not_make_it_go_away(autoapply: AutoApplyTrial) -> None:
    it = falls_silent(autoapply)
    autoapply.engine.fire(it, "pause", actor=ANN)
    autoapply.engine.fire(it, "resume", actor=ANN)
    autoapply.run_until_idle()
    assert (autoapply.state(it), len(autoapply.site.arrived)) == ("requires_review", 1)
    assert autoapply.data(it)["review_reason"] == "verify_submission"


def test_after_a_verification_its_user_is_asked_about_a_packet_as_before(trial: ScriptedTrial) -> None:
    it = APPLICATION.at(trial, "ready_to_submit")
    trial.work(it, EffectUnknown("no answer"))
    trial.fire(it, "fail", ANN)
    trial.wait(minutes=15)
    trial.work(it, Go("ready_to_submit"))
    trial.work(it, Go("requires_review"))
    assert trial.data(it)["review_reason"] == "approve_packet"
    trial.fire(it, "approve", ANN)
    assert trial.claims(it)


@pytest.mark.parametrize("end", ["lost workers", "time limit", "last retry"])
def test_what_is_unknown_is_verified_though_the_step_was_given_up_for_another_reason(
    trial: ScriptedTrial, end: str
) -> None:
    """Law 5: withdrawn for lack of retries would say that it did not arrive, and that nobody knows."""
    it = APPLICATION.at(trial, "ready_to_submit")
    for _ in range(3 if end in {"time limit", "last retry"} else 0):
        trial.work(it, SiteUnreachable() if end == "last retry" else Fail(TimeoutError()))
        trial.wait(hours=1)
        trial.work(it, Go("ready_to_submit"))
    claim = trial.take(it)
    task = make_task(claim, EnginePort(trial.engine, claim))
    task.sent(task.intend("submit", {}, key=submission(task)))
    if end == "lost workers":
        for _ in range(3):
            trial.lose_worker(it)
    elif end == "time limit":
        trial.wait(minutes=15)
    else:
        trial.finish(claim, Fail(SiteUnreachable()))
    assert trial.state(it) == "requires_review"
    assert "verify_submission" in trial.reviews(it)


# -- withdrawn while somebody works


def test_withdrawn_while_it_is_prepared_it_goes_through_paused_in_one_transaction(trial: ScriptedTrial) -> None:
    it = APPLICATION.at(trial, "preparing")
    claim = trial.held(it)
    assert claim is not None
    seq = trial.get(it).seq
    trial.engine.cancel(it, actor=ANN, reason="found another job")
    rows = trial.rows(it, after=seq)
    assert [(r.from_state, r.to_state, r.event, r.actor) for r in rows] == [
        ("preparing", "paused", "pause", "user:ann"),
        ("paused", "withdrawn", "withdraw", "user:ann"),
    ]
    assert len({r.at for r in rows}) == 1
    assert trial.data(it)["withdraw_reason"] == "user"
    assert trial.finish(claim, Go("ready_to_submit")) is False
    assert trial.state(it) == "withdrawn"


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
def test_from_every_other_state_it_is_withdrawn_at_once(trial: ScriptedTrial, state: str, reason: str) -> None:
    it = APPLICATION.at(trial, state)
    trial.engine.cancel(it, actor=ANN)
    assert trial.path(it)[-2:] == [state, "withdrawn"]
    assert trial.data(it)["withdraw_reason"] == reason


@pytest.mark.parametrize(("state", "event"), [("ready_to_submit", "withdraw"), ("requires_review", "reject")])
def test_the_answer_of_a_submission_is_kept_though_its_user_withdrew_meanwhile(
    trial: ScriptedTrial, state: str, event: str
) -> None:
    it = APPLICATION.at(trial, state)
    if state == "requires_review":
        trial.fire(it, "approve", ANN)

    def submit(task: Task[Any]) -> Outcome:
        def send(_: Effect) -> dict[str, str]:
            trial.fire(it, event, ANN)
            return {"url": "https://acme.example/confirm/1"}

        answer = task.once("submit", {}, send, key=submission(task))
        return Go("submitted", data={"confirmation_url": answer["url"]})

    assert trial.work(it, submit) is False, "its result comes too late"
    assert trial.state(it) == "withdrawn"
    (effect,) = trial.engine.effects(it)
    assert (effect.status, effect.answer) == ("confirmed", {"url": "https://acme.example/confirm/1"})
    assert list(trial.reviews(it)) == ["late_answer"]


def test_what_was_withdrawn_before_it_was_sent_is_not_sent(trial: ScriptedTrial) -> None:
    it = APPLICATION.at(trial, "ready_to_submit")
    site = Site()
    caught: list[BaseException] = []

    def submit(task: Task[Any]) -> Outcome:
        trial.fire(it, "withdraw", ANN)
        try:
            task.once("submit", {}, site.send, key=submission(task))
        except Fenced as error:
            caught.append(error)
        return Go("submitted")

    assert trial.work(it, submit) is False
    assert (len(caught), site.arrived, trial.engine.effects(it)) == (1, [], [])
