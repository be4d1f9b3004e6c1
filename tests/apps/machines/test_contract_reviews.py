"""A contract's people: reviews with a form and 24 hours, and steps that are held until somebody starts them."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from threading import Barrier
from typing import Any
from uuid import UUID

import pytest

from interlock.apps.contracts.errors import NotRetryable
from interlock.apps.contracts.machine import contract
from interlock.engine import AlreadyDecided, EngineError, Forbidden, InvalidData, KeyTaken, OutOfDate, Refused
from interlock.machine import AGENT, SYSTEM, USER, Actor, DataTooBig, Go
from interlock.store import Store
from tests.apps.machines.recipes import CONTRACT, CORRECTION
from tests.apps.machines.scripted_trial import ANN, BOSS, CLOCK, HAND, ROBOT, ScriptedTrial

pytestmark = pytest.mark.soak("postgresql")

MICRO = timedelta(microseconds=1)
REVIEWERS = 6


def asked(trial: ScriptedTrial) -> tuple[UUID, UUID]:
    """A contract that waits for a reviewer, and its review."""
    it = CONTRACT.at(trial, "review_required")
    return it, trial.reviews(it)["review_required"].id


# -- decisions


@pytest.mark.parametrize(
    ("decision", "answer", "to"),
    [
        ("approve", {}, "validated"),
        ("correct", {"decisions": [CORRECTION], "review_note": "page 3"}, "validated"),
        ("reject", {"review_note": "not a contract"}, "rejected"),
    ],
)
def test_a_reviewer_approves_corrects_or_rejects(
    trial: ScriptedTrial, decision: str, answer: dict[str, Any], to: str
) -> None:
    it, review = asked(trial)
    trial.engine.reviews.decide(review, decision, actor=ANN, answer=answer)
    assert trial.state(it) == to
    assert answer.items() <= trial.data(it).items()
    assert trial.data(it)["reject_reason"] == ("rejected_in_review" if to == "rejected" else None)


def test_both_ways_converge_in_validated_and_are_compared_by_themselves(trial: ScriptedTrial) -> None:
    reviewed, sure = CONTRACT.at(trial, "review_required"), CONTRACT.at(trial, "validated")
    trial.fire(reviewed, "approve", ANN)
    for it in (reviewed, sure):
        trial.take(it)
        trial.work(it, Go("completed"))
        assert trial.path(it)[-3:] == ["validated", "comparing", "completed"]


def test_a_form_that_is_filled_in_wrongly_changes_nothing(trial: ScriptedTrial) -> None:
    """Trap B12: what cannot be stored has no state to go to, so it is as if it had not been tried."""
    it, review = asked(trial)
    before = trial.get(it)
    for answer in ({"decisions": "all of it"}, {"final_confidence": 100}, {"review_note": "n" * 10_001}):
        with pytest.raises(InvalidData, match="does not fit"):
            trial.engine.reviews.decide(review, "correct", actor=ANN, answer=answer)
    much = {"decisions": [{**CORRECTION, "value": "n" * 1_000_000}]}
    with pytest.raises(DataTooBig):
        trial.engine.reviews.decide(review, "correct", actor=ANN, answer=much)
    assert trial.get(it) == before
    assert trial.reviews(it)["review_required"].id == review


def test_of_many_reviewers_who_decide_at_once_one_does(trial: ScriptedTrial) -> None:
    """Trap B2: no double reviews, and no gap in the log."""
    it, review = asked(trial)
    seq, barrier = trial.get(it).seq, Barrier(REVIEWERS)

    def decide(number: int) -> object:
        barrier.wait(30)
        try:
            return trial.engine.reviews.decide(
                review, "approve" if number % 2 else "reject", actor=Actor(USER, f"u{number}")
            )
        except EngineError as error:
            return error

    with ThreadPoolExecutor(REVIEWERS) as threads:
        answers = list(threads.map(decide, range(REVIEWERS)))
    assert [isinstance(a, AlreadyDecided) for a in answers].count(False) == 1
    assert [row.seq for row in trial.rows(it, after=seq)] == [seq + 1]
    assert trial.engine.verify(it).problems == ()


def test_a_decision_on_an_old_version_is_refused(trial: ScriptedTrial) -> None:
    """Trap B2: compare, then set."""
    it, review = asked(trial)
    seen = trial.get(it).seq
    trial.engine.pause(it, actor=BOSS)
    trial.engine.resume(it, actor=BOSS)
    with pytest.raises(OutOfDate):
        trial.engine.reviews.decide(review, "approve", actor=ANN, expected_seq=seen)
    with pytest.raises(OutOfDate):
        trial.fire(it, "approve", ANN, expected_seq=seen)
    assert trial.state(it) == "review_required"


# -- 24 hours


def test_it_times_out_after_24_hours_by_the_clock_of_the_service(trial: ScriptedTrial) -> None:
    """Traps B7 and B10: nobody has to ask for it, and it is not a rejection."""
    it, review = asked(trial)
    trial.wait(timedelta(hours=24) - MICRO)
    assert trial.state(it) == "review_required"
    trial.wait(MICRO)
    assert (trial.state(it), trial.moves(it)[-1]) == ("timed_out", ("review_required", "timed_out", "system"))
    assert trial.data(it)["reject_reason"] is None
    with pytest.raises(AlreadyDecided, match="moved on without a decision"):
        trial.engine.reviews.decide(review, "approve", actor=ANN)
    with pytest.raises(Refused, match="nothing is allowed now"):
        trial.fire(it, "approve", ANN)


@pytest.mark.parametrize("hours", [0, 23, 25])
@pytest.mark.parametrize("actor", [ANN, BOSS, ROBOT, HAND], ids=str)
def test_nobody_but_the_system_times_a_review_out(trial: ScriptedTrial, hours: int, actor: Actor) -> None:
    """Trap B7: a client cannot time a review out, not even one that is overdue."""
    it, _ = asked(trial)
    trial.clock.advance(timedelta(hours=hours))
    before = trial.get(it)
    with pytest.raises(Forbidden, match="'time_out' is for system"):
        trial.fire(it, "time_out", actor)
    assert trial.get(it) == before


def test_reminders_come_before_and_move_nothing(trial: ScriptedTrial) -> None:
    it, _ = asked(trial)
    received = []
    for hours in (12, 10, 2):
        trial.wait(timedelta(hours=hours) - MICRO)
        received.append(len(trial.messages(it)))
        trial.wait(MICRO)
        received.append(len(trial.messages(it)))
    assert received == [0, 1, 1, 2, 2, 2]
    assert [row.kind for row in trial.rows(it)][-3:] == ["reminded", "reminded", "moved"]
    assert trial.messages(it) == [
        "A contract has waited half of its 24 hours for a review.",
        "A contract times out in two hours unless it is reviewed.",
    ]


def test_what_was_decided_in_time_does_not_time_out(trial: ScriptedTrial) -> None:
    it, _ = asked(trial)
    trial.wait(hours=23)
    trial.fire(it, "approve", ANN)
    trial.wait(hours=2)
    assert trial.state(it) == "validated"
    assert trial.get(it).timer_at is None


def test_the_24_hours_begin_with_the_question_and_not_with_the_contract(trial: ScriptedTrial) -> None:
    it = CONTRACT.at(trial, "validating")
    trial.engine.pause(it, actor=ANN)
    trial.wait(days=2)
    trial.engine.resume(it, actor=ANN)
    trial.work(it, Go("review_required"))
    trial.wait(timedelta(hours=24) - MICRO)
    assert trial.state(it) == "review_required"


# -- steps that are held


def held_at(trial: ScriptedTrial, state: str) -> UUID:
    if state == "pending":
        return trial.begin("contract", unstarted=True)
    it = CONTRACT.at(trial, "parsing_pdf" if state == "extracting" else "validating")
    trial.work(it, Go(state, unstarted=True))
    return it


HELD = {"pending": "parsing_pdf", "extracting": "extracting", "validated": "comparing"}
"""Where an endpoint begins, and the step that it starts."""


@pytest.mark.parametrize("state", HELD)
@pytest.mark.parametrize("actor", [ANN, ROBOT, CLOCK], ids=str)
def test_a_held_step_runs_when_somebody_starts_it_and_only_once(trial: ScriptedTrial, state: str, actor: Actor) -> None:
    it = held_at(trial, state)
    trial.wait(days=7)
    assert (trial.state(it), trial.claims(it)) == (state, [])
    explained = trial.engine.explain(it)
    assert (explained.waits_for, [entry.event for entry in explained.next if entry.to is None]) == ("event", ["run"])
    trial.fire(it, "run", actor)
    with pytest.raises(Refused, match="its work was started already"):
        trial.fire(it, "run", actor)
    assert trial.take(it).instance.state == HELD[state]
    assert [(row.event, row.actor) for row in trial.rows(it) if row.kind == "armed"] == [("run", str(actor))]


@pytest.mark.parametrize("state", HELD)
def test_who_starts_a_step_that_runs_attaches_to_it_and_starts_nothing(trial: ScriptedTrial, state: str) -> None:
    it = held_at(trial, state)
    trial.fire(it, "run", ANN)
    trial.take(it)
    before = trial.get(it)
    with pytest.raises(Refused):
        trial.fire(it, "run", ROBOT)
    assert trial.get(it) == before
    assert trial.held(it) is not None, "its worker still holds it"


@pytest.mark.parametrize("state", HELD)
def test_a_step_that_is_not_held_starts_by_itself(trial: ScriptedTrial, state: str) -> None:
    it = CONTRACT.at(trial, state)
    with pytest.raises(Refused, match="its work was started already"):
        trial.fire(it, "run", ANN)
    assert trial.take(it).instance.state == HELD[state]


def test_only_these_may_start_a_step_and_only_where_an_endpoint_begins(trial: ScriptedTrial) -> None:
    assert {arm.state: arm.by for arm in contract.arms} == dict.fromkeys(HELD, frozenset({USER, AGENT, SYSTEM}))
    it = held_at(trial, "pending")
    with pytest.raises(Forbidden, match="'run' is for agent, system, user, not for worker"):
        trial.fire(it, "run", HAND)
    running = CONTRACT.at(trial, "extracting")
    trial.work(running, Go("validating", unstarted=True))
    last_error = trial.get(running).error
    assert last_error is not None
    assert "cannot be entered unstarted" in last_error["message"]


def test_a_held_contract_that_is_paused_waits_for_both(trial: ScriptedTrial) -> None:
    it = held_at(trial, "pending")
    trial.engine.pause(it, actor=ANN)
    trial.fire(it, "run", ROBOT)
    assert trial.claims(it) == []
    trial.engine.resume(it, actor=ANN)
    assert trial.take(it).instance.state == "parsing_pdf"


def test_a_document_is_one_contract_for_ever(store: Store) -> None:
    with ScriptedTrial([contract], store) as trial:
        it = trial.begin("contract", key="sha-1")
        trial.work(it, NotRetryable("not a PDF"))
        assert trial.state(it) == "rejected"
        with pytest.raises(KeyTaken) as taken:
            trial.begin("contract", key="sha-1")
        assert taken.value.existing == it
