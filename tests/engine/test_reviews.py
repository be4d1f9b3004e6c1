"""Reviews: questions to people, with a typed form and a due time. Whoever decides first, decides."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from interlock.engine import AlreadyDecided, Forbidden, InvalidData, NotFound, OpenReview, OutOfDate, ReviewClaimed
from interlock.machine import SYSTEM, WORKER, Actor, Ask, Go, Outcome, Stay
from interlock.store import Store, span
from interlock.testing import Trial, broken_laws
from interlock.worker import Task
from tests.support.effects_and_reviews import ANN, BOB, CHIEF, OPINION, ROBOT, STOP, Purchase, purchase
from tests.support.racing import together


def draft(task: Task[Purchase]) -> Outcome:
    if task.data.item == "tea":
        return Go("review", asks=(Ask("rate_shop", OPINION, {"shop": "Tea House"}), Ask("stop", STOP)))
    return Go("review")


def pay(task: Task[Purchase]) -> Outcome:
    return Stay(reason="the bank is closed") if task.data.note == "wait" else Go("paid")


@pytest.fixture
def trial(store: Store) -> Iterator[Trial]:
    with Trial([purchase.with_handlers({"drafting": draft, "review": pay})], store=store) as trial:
        yield trial
        assert broken_laws(trial.engine) == []


def bought(trial: Trial, item: str = "chairs", **options: Any) -> UUID:
    it = trial.create("purchase", {"item": item}, **options)
    trial.run_until_idle()
    return it


def question(trial: Trial, instance_id: UUID, name: str = "review") -> OpenReview:
    (found,) = [r for r in trial.engine.reviews.waiting(instance_id=instance_id) if r.name == name]
    return found


def decide(trial: Trial, review: OpenReview, decision: str, actor: Actor = ANN, **options: Any) -> OpenReview:
    return trial.engine.reviews.decide(review.id, decision, actor=actor, **options)


def test_entering_a_waiting_state_opens_its_review(trial: Trial) -> None:
    it = bought(trial)
    review = question(trial, it)
    assert (review.instance_id, review.machine, review.workspace) == (it, "purchase", "default")
    assert (review.title, review.state, review.status) == ("May this be bought?", "review", "open")
    assert set(review.decisions) == {"approve", "reject", "redo"}
    assert review.opened_at == trial.clock.now()
    assert review.due_at == trial.clock.now() + span(timedelta(hours=8))


def test_the_form_is_the_schema_of_its_model(trial: Trial) -> None:
    form = question(trial, bought(trial)).form
    assert form is not None
    assert form["required"] == ["amount"]
    assert form["properties"]["amount"] == {"maximum": 1000, "minimum": 1, "title": "Amount", "type": "integer"}


def test_an_outcome_opens_reviews_beside_the_state_with_their_evidence(trial: Trial) -> None:
    it = bought(trial, "tea")
    assert {r.name for r in trial.engine.reviews.waiting(instance_id=it)} == {"review", "rate_shop", "stop"}
    beside = question(trial, it, "rate_shop")
    assert (beside.state, beside.evidence, beside.due_at) == (None, {"shop": "Tea House"}, None)


def test_a_form_that_is_filled_in_wrongly_is_refused_and_the_fields_are_named(trial: Trial) -> None:
    it = bought(trial)
    review = question(trial, it)
    with pytest.raises(InvalidData, match=r"amount: .*less than or equal to 1000; note: .*valid string"):
        decide(trial, review, "approve", answer={"amount": 5000, "note": 3})
    with pytest.raises(InvalidData, match=r"amount: Field required"):
        decide(trial, review, "approve")
    assert question(trial, it).status == "open"
    assert trial.state(it) == "review"


def test_a_form_beside_the_state_is_checked_as_well(trial: Trial) -> None:
    review = question(trial, bought(trial, "tea"), "rate_shop")
    with pytest.raises(InvalidData, match=r"stars: .*less than or equal to 5"):
        decide(trial, review, "rated", answer={"stars": 6})
    assert decide(trial, review, "rated", answer={"stars": 4}).answer == {"stars": 4}


def test_the_decision_and_the_answer_are_kept_with_who_gave_them_and_when(trial: Trial) -> None:
    it = bought(trial)
    trial.clock.advance(timedelta(hours=1))
    decided = decide(trial, question(trial, it), "approve", answer={"amount": 30}, reason="we need them")
    assert (decided.status, decided.decision, decided.decided_by) == ("decided", "approve", "user:ann")
    assert (decided.answer, decided.decided_at) == ({"amount": 30, "note": ""}, trial.clock.now())
    row = trial.engine.history(it)[-1]
    assert (row.kind, row.event, row.actor, row.payload["reason"]) == ("armed", "approve", "user:ann", "we need them")
    assert (row.payload["review"], row.payload["decision"]) == (str(decided.id), "approve")


def test_a_decision_fires_its_transition_in_the_same_transaction(trial: Trial) -> None:
    it = bought(trial)
    decide(trial, question(trial, it), "reject", answer={"amount": 1})
    assert trial.state(it) == "rejected"


def test_a_decision_that_arms_lets_the_work_run_with_the_fields_that_it_takes(trial: Trial) -> None:
    it = bought(trial)
    decide(trial, question(trial, it), "approve", answer={"amount": 30, "note": "blue ones"})
    assert (trial.state(it), trial.get(it).wake) == ("review", "work")
    trial.run_until_idle()
    assert trial.state(it) == "paid"
    assert trial.data(it) == {"item": "chairs", "amount": 30, "note": "blue ones"}


def test_the_fields_that_an_event_does_not_take_stay_with_the_review(trial: Trial) -> None:
    it = bought(trial)
    review = question(trial, it)
    decide(trial, review, "redo", answer={"amount": 30, "note": "cheaper"})
    assert trial.data(it) == {"item": "chairs", "amount": 0, "note": "cheaper"}
    assert trial.engine.reviews.get(review.id).answer == {"amount": 30, "note": "cheaper"}


def test_work_that_stays_opens_the_question_anew(trial: Trial) -> None:
    it = bought(trial)
    first = question(trial, it)
    decide(trial, first, "approve", answer={"amount": 5, "note": "wait"})
    trial.run_until_idle()
    second = question(trial, it)
    assert (trial.state(it), second.status) == ("review", "open")
    assert second.id != first.id


def test_a_decision_that_the_review_does_not_know_is_refused_with_those_it_takes(trial: Trial) -> None:
    with pytest.raises(InvalidData, match="'perhaps' is not a decision of this review; it takes approve, redo, reject"):
        decide(trial, question(trial, bought(trial)), "perhaps")


def test_the_first_decision_wins(trial: Trial) -> None:
    it = bought(trial)
    review = question(trial, it)
    decide(trial, review, "redo", answer={"amount": 5})
    with pytest.raises(AlreadyDecided, match=r"redo by user:ann at 2026-01-05 09:00 UTC"):
        decide(trial, review, "reject", BOB, answer={"amount": 5})
    assert trial.state(it) == "drafting"


@pytest.mark.parametrize("pair", [("approve", "reject"), ("reject", "redo"), ("reject", "reject")])
def test_the_first_decision_wins_when_two_decide_at_the_same_moment(trial: Trial, pair: tuple[str, str]) -> None:
    people = (ANN, BOB)
    for _ in range(5):
        it = bought(trial)
        review, before = question(trial, it), trial.get(it).seq

        def one(number: int, review: OpenReview = review) -> OpenReview:
            return decide(trial, review, pair[number], people[number], answer={"amount": 5})

        results = together(2, one)
        (winner,) = [number for number, result in enumerate(results) if isinstance(result, OpenReview)]
        assert isinstance(results[1 - winner], AlreadyDecided)
        kept = trial.engine.reviews.get(review.id)
        assert (kept.decision, kept.decided_by) == (pair[winner], str(people[winner]))
        rows = [row for row in trial.engine.history(it, after=before) if row.actor.startswith("user:")]
        assert [row.actor for row in rows] == [str(people[winner])]


def test_the_same_decision_again_by_the_same_person_is_answered_alike_and_changes_nothing(trial: Trial) -> None:
    it = bought(trial)
    review = question(trial, it)
    first = decide(trial, review, "redo", answer={"amount": 5, "note": "cheaper"})
    seq = trial.get(it).seq
    trial.clock.advance(timedelta(hours=1))
    assert decide(trial, review, "redo", answer={"amount": 5, "note": "cheaper"}) == first
    assert trial.get(it).seq == seq


def test_the_same_decision_again_is_the_same_though_the_form_filled_in_its_defaults(trial: Trial) -> None:
    review = question(trial, bought(trial))
    first = decide(trial, review, "redo", answer={"amount": "5"})
    assert first.answer == {"amount": 5, "note": ""}
    assert decide(trial, review, "redo", answer={"amount": "5"}) == first


def test_the_same_decision_with_another_answer_is_another_decision(trial: Trial) -> None:
    review = question(trial, bought(trial))
    decide(trial, review, "redo", answer={"amount": 5})
    for answer in ({"amount": 6}, {"amount": 6000}):
        with pytest.raises(AlreadyDecided):
            decide(trial, review, "redo", answer=answer)


def test_the_review_of_a_state_closes_when_the_instance_leaves_it_another_way(trial: Trial) -> None:
    it = bought(trial, "tea")
    review = question(trial, it)
    trial.engine.fire(it, "reject", actor=BOB)
    assert trial.engine.reviews.get(review.id).status == "closed"
    with pytest.raises(AlreadyDecided, match="the instance moved on without a decision"):
        decide(trial, review, "approve", answer={"amount": 5})
    assert {r.name for r in trial.engine.reviews.waiting(instance_id=it)} == {"rate_shop", "stop"}


def test_the_review_of_a_state_closes_when_somebody_arms_it_without_the_review(trial: Trial) -> None:
    it = bought(trial)
    review = question(trial, it)
    trial.engine.fire(it, "approve", actor=BOB, data={"amount": 5})
    assert trial.engine.reviews.get(review.id).status == "closed"


def test_the_timer_of_the_state_closes_the_review_that_nobody_decided(trial: Trial) -> None:
    it = bought(trial)
    review = question(trial, it)
    trial.advance(hours=24)
    assert trial.state(it) == "rejected"
    assert trial.engine.reviews.get(review.id).status == "closed"


def test_a_review_beside_the_state_may_move_the_instance(trial: Trial) -> None:
    it = bought(trial, "tea")
    decide(trial, question(trial, it, "stop"), "stop")
    assert trial.state(it) == "rejected"


def test_a_review_beside_the_state_is_kept_when_the_instance_has_moved_on(trial: Trial) -> None:
    it = bought(trial, "tea")
    stop = question(trial, it, "stop")
    decide(trial, question(trial, it), "approve", answer={"amount": 5})
    trial.run_until_idle()
    assert decide(trial, stop, "stop").decision == "stop"
    assert trial.state(it) == "paid"
    assert trial.engine.history(it)[-1].kind == "reviewed"


def test_the_most_urgent_come_first_and_those_without_a_due_time_last(trial: Trial) -> None:
    late = bought(trial)
    trial.clock.advance(timedelta(hours=1))
    later = bought(trial, "tea")
    order = [(r.instance_id, r.name) for r in trial.engine.reviews.waiting()]
    assert order == [(later, "stop"), (late, "review"), (later, "review"), (later, "rate_shop")]
    assert len(trial.engine.reviews.waiting(limit=2)) == 2


def test_reviews_are_looked_up_by_workspace(trial: Trial) -> None:
    mine, _ = bought(trial, workspace="mine"), bought(trial, workspace="theirs")
    assert [r.instance_id for r in trial.engine.reviews.waiting(workspace="mine")] == [mine]


def test_a_reviewer_who_is_at_it_keeps_others_from_deciding(trial: Trial) -> None:
    review = question(trial, bought(trial))
    claimed = trial.engine.reviews.claim(review.id, actor=ANN)
    assert (claimed.claimed_by, claimed.claimed_until) == ("user:ann", trial.clock.now() + span(timedelta(minutes=30)))
    with pytest.raises(ReviewClaimed, match=r"worked on by user:ann until 09:30 UTC"):
        decide(trial, review, "reject", BOB, answer={"amount": 5})
    with pytest.raises(ReviewClaimed):
        trial.engine.reviews.claim(review.id, actor=BOB)
    assert decide(trial, review, "reject", ANN, answer={"amount": 5}).decided_by == "user:ann"


def test_a_reviewers_claim_runs_out(trial: Trial) -> None:
    review = question(trial, bought(trial))
    trial.engine.reviews.claim(review.id, actor=ANN, length=timedelta(minutes=5))
    trial.clock.advance(timedelta(minutes=5))
    assert trial.engine.reviews.claim(review.id, actor=BOB).claimed_by == "user:bob"
    with pytest.raises(ReviewClaimed):
        decide(trial, review, "reject", ANN, answer={"amount": 5})


def test_a_decided_review_cannot_be_claimed(trial: Trial) -> None:
    review = question(trial, bought(trial))
    decide(trial, review, "redo", answer={"amount": 5})
    with pytest.raises(AlreadyDecided):
        trial.engine.reviews.claim(review.id, actor=BOB)


@pytest.mark.parametrize("actor", [ROBOT, Actor(SYSTEM), Actor(WORKER, "w")], ids=str)
def test_only_people_claim_and_decide(trial: Trial, actor: Actor) -> None:
    it = bought(trial)
    review = question(trial, it)
    with pytest.raises(Forbidden, match=f"by a person, not by {actor.kind.value}"):
        decide(trial, review, "reject", actor, answer={"amount": 5})
    with pytest.raises(Forbidden, match=f"by a person, not by {actor.kind.value}"):
        trial.engine.reviews.claim(review.id, actor=actor)
    assert (question(trial, it).claimed_by, trial.state(it)) == (None, "review")


def test_an_owner_decides_whatever_a_user_may(trial: Trial) -> None:
    it = bought(trial)
    decide(trial, question(trial, it), "reject", CHIEF, answer={"amount": 5})
    assert trial.state(it) == "rejected"


def test_a_decision_on_what_has_changed_since_is_refused(trial: Trial) -> None:
    it = bought(trial)
    review, seen = question(trial, it), trial.get(it).seq
    trial.engine.keep_artifact(it, "offer", b"a better one", media_type="text/plain")
    with pytest.raises(OutOfDate):
        decide(trial, review, "reject", answer={"amount": 5}, expected_seq=seen)
    decide(trial, review, "reject", answer={"amount": 5}, expected_seq=seen + 1)
    assert trial.state(it) == "rejected"


def test_a_review_that_does_not_exist_is_not_found(trial: Trial) -> None:
    with pytest.raises(NotFound, match="there is no review"):
        trial.engine.reviews.decide(UUID(int=1), "approve", actor=ANN)
    with pytest.raises(NotFound):
        trial.engine.reviews.claim(UUID(int=1), actor=ANN)
