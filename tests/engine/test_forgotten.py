"""What was sent, and whose sender is gone while the instance went elsewhere: somebody is asked, law 5."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest

from interlock.engine import Claim, Effect, effects
from interlock.engine.due import anything_due
from interlock.machine import FINAL, SYSTEM, USER, WAITING, Go, Machine, Outcome, State, Timer, Transition, Work
from interlock.store import Store
from interlock.testing import Trial, broken_laws
from interlock.worker import Task
from tests.support.effects_and_reviews import ANN, CHIEF, at_work

LATE = timedelta(minutes=30)

order = Machine(
    "order",
    initial="sending",
    cancel="gone",
    states=[
        State("sending", timers=(Timer(LATE, "late"),)),
        State("waiting", WAITING, waits_for="a person"),
        State("done", FINAL),
        State("gone", FINAL),
    ],
    transitions=[
        Transition("sending", "done", on="sent"),
        Transition("sending", "gone", on="late", by=SYSTEM),
        Transition("sending", "waiting", on="stop", by=USER),
        Transition("waiting", "sending", on="go_on", by=USER),
        Transition(("sending", "waiting"), "gone", on="drop", by=USER),
    ],
)


def _never(_: Task[Any]) -> Outcome:
    raise AssertionError("these tests play the handler themselves")


@pytest.fixture
def trial(store: Store) -> Iterator[Trial]:
    machine = order.with_handlers({"sending": Work(_never, timedelta(hours=1))})
    with Trial([machine], store=store) as trial:
        yield trial
        assert broken_laws(trial.engine) == []


def on_its_way(trial: Trial) -> tuple[Claim, Effect]:
    trial.create("order")
    (claim,) = trial.claim()
    task = at_work(trial, claim)
    effect = task.intend("payment", {"amount": 1})
    task.sent(effect)
    return claim, effect


def cancelled(trial: Trial, claim: Claim) -> None:
    trial.engine.cancel(claim.id, actor=ANN)


def stopped(trial: Trial, claim: Claim) -> None:
    trial.engine.fire(claim.id, "stop", actor=ANN)


def paused_and_dropped(trial: Trial, claim: Claim) -> None:
    trial.engine.pause(claim.id, actor=ANN)
    trial.engine.fire(claim.id, "drop", actor=ANN)


def forced(trial: Trial, claim: Claim) -> None:
    trial.engine.force(claim.id, "done", actor=CHIEF, reason="I know better")


def timed_out(trial: Trial, claim: Claim) -> None:
    trial.clock.advance(LATE)
    trial.engine.tick()


def lost_then_cancelled(trial: Trial, claim: Claim) -> None:
    trial.lose(trial.worker)
    trial.engine.cancel(claim.id, actor=ANN)


def given_back_then_cancelled(trial: Trial, claim: Claim) -> None:
    trial.engine.give_back([claim])
    trial.engine.cancel(claim.id, actor=ANN)


def paused_resumed_and_cancelled(trial: Trial, claim: Claim) -> None:
    trial.engine.pause(claim.id, actor=ANN)
    trial.engine.resume(claim.id, actor=ANN)
    trial.engine.cancel(claim.id, actor=ANN)


WAYS = [
    cancelled,
    stopped,
    paused_and_dropped,
    forced,
    timed_out,
    lost_then_cancelled,
    given_back_then_cancelled,
    paused_resumed_and_cancelled,
]


@pytest.mark.parametrize("way", WAYS)
def test_whatever_took_the_instance_away_somebody_is_asked_what_became_of_what_was_sent(
    trial: Trial, way: Callable[[Trial, Claim], None]
) -> None:
    claim, effect = on_its_way(trial)
    way(trial, claim)
    trial.lose(trial.worker)
    trial.advance(minutes=5)
    (found,) = trial.engine.effects(claim.id)
    assert (found.status, found.asked_at is not None) == ("unknown", True)
    (review,) = trial.engine.reviews.waiting(instance_id=claim.id)
    assert (review.name, review.state) == ("verify_effect", None)
    assert (review.evidence["effect"], review.evidence["kind"]) == (str(effect.id), "payment")
    explanation = trial.engine.explain(claim.id)
    assert explanation.waits_for == "person"
    assert (
        "Nobody knows what came of 'payment', which it sent: a person has to answer 'Did it arrive?"
        in explanation.sentence
    )
    trial.advance(days=30)
    assert len(trial.engine.reviews.waiting()) == 1


@pytest.mark.parametrize(("decision", "status"), [("arrived", "confirmed"), ("did_not_arrive", "failed")])
def test_a_person_says_how_it_ended_and_nothing_else_changes(trial: Trial, decision: str, status: str) -> None:
    claim, _ = on_its_way(trial)
    cancelled(trial, claim)
    trial.advance(minutes=5)
    (review,) = trial.engine.reviews.waiting()
    trial.engine.reviews.decide(review.id, decision, actor=ANN)
    assert trial.engine.effects(claim.id)[0].status == status
    assert trial.state(claim.id) == "gone"
    assert "nothing more happens" in trial.engine.explain(claim.id).sentence
    assert trial.engine.explain(claim.id).waits_for == "nothing"


def test_an_answer_that_comes_after_all_closes_the_question(trial: Trial) -> None:
    claim, effect = on_its_way(trial)
    cancelled(trial, claim)
    trial.advance(minutes=5)
    (review,) = trial.engine.reviews.waiting()
    at_work(trial, claim).confirm(effect, "it arrived")
    assert trial.engine.reviews.get(review.id).status == "closed"
    assert [one.name for one in trial.engine.reviews.waiting()] == ["late_answer"]
    assert trial.engine.effects(claim.id)[0].answer == "it arrived"


def test_what_a_worker_holds_is_not_asked_about(trial: Trial) -> None:
    claim, _ = on_its_way(trial)
    trial.clock.advance(timedelta(minutes=20))
    assert not trial.engine.read(lambda conn: anything_due(conn, trial.clock.now()))
    trial.engine.tick()
    assert trial.engine.effects(claim.id)[0].status == "sent"
    assert trial.engine.reviews.waiting() == []


def test_what_its_step_comes_back_to_is_left_to_the_step(trial: Trial) -> None:
    claim, effect = on_its_way(trial)
    trial.engine.pause(claim.id, actor=ANN)
    trial.advance(minutes=5)
    assert trial.engine.effects(claim.id)[0].status == "unknown"
    assert trial.engine.reviews.waiting() == []
    trial.engine.resume(claim.id, actor=ANN)
    (again,) = trial.claim()
    answer = at_work(trial, again).once("payment", {"amount": 1}, _never, verify=lambda one: {"found": str(one.id)})
    assert answer == {"found": str(effect.id)}


def test_an_answer_that_nobody_waits_for_any_more_is_no_question_within_a_minute(trial: Trial) -> None:
    claim, _ = on_its_way(trial)
    cancelled(trial, claim)
    trial.advance(seconds=50)
    assert trial.engine.effects(claim.id)[0].status == "sent"
    assert trial.engine.reviews.waiting() == []


def test_what_was_never_sent_is_no_question_and_blocks_nothing(trial: Trial) -> None:
    it = trial.create("order")
    (claim,) = trial.claim()
    at_work(trial, claim).intend("payment", {"amount": 1})
    stopped(trial, claim)
    trial.advance(days=1)
    assert trial.engine.effects(it)[0].status == "intended"
    assert trial.engine.reviews.waiting() == []
    trial.engine.fire(it, "go_on", actor=ANN)
    (again,) = trial.claim()
    assert at_work(trial, again).once("payment", {"amount": 2}, lambda _: "paid") == "paid"
    assert trial.finish(again, Go("done"))


def test_what_nobody_need_be_asked_about_counts_as_failed(trial: Trial) -> None:
    it = trial.create("order")
    (claim,) = trial.claim()
    effect = trial.write(lambda unit: effects.intend(unit, claim, "question", {}, asks=False))
    trial.write(lambda unit: effects.sent(unit, claim, effect.id))
    cancelled(trial, claim)
    trial.advance(minutes=5)
    assert trial.engine.effects(it)[0].status == "failed"
    assert trial.engine.reviews.waiting() == []


def test_a_worker_that_says_that_nobody_knows_and_holds_it_no_more_makes_it_a_question(trial: Trial) -> None:
    claim, effect = on_its_way(trial)
    cancelled(trial, claim)
    at_work(trial, claim).unknown(effect, "the line went dead")
    assert trial.engine.reviews.waiting() == []
    trial.advance(minutes=2)
    assert [review.name for review in trial.engine.reviews.waiting()] == ["verify_effect"]
