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
from tests.apps.machines.play import ANN, BOSS, CLOCK, HAND, ROBOT, Play
from tests.apps.machines.recipes import CONTRACT, CORRECTION

MICRO = timedelta(microseconds=1)
REVIEWERS = 6


def asked(play: Play) -> tuple[UUID, UUID]:
    """A contract that waits for a reviewer, and its review."""
    it = CONTRACT.at(play, "review_required")
    return it, play.reviews(it)["review_required"].id


# -- decisions


@pytest.mark.parametrize(
    ("decision", "answer", "to"),
    [
        ("approve", {}, "validated"),
        ("correct", {"decisions": [CORRECTION], "review_note": "page 3"}, "validated"),
        ("reject", {"review_note": "not a contract"}, "rejected"),
    ],
)
def test_a_reviewer_approves_corrects_or_rejects(play: Play, decision: str, answer: dict[str, Any], to: str) -> None:
    it, review = asked(play)
    play.engine.reviews.decide(review, decision, actor=ANN, answer=answer)
    assert play.state(it) == to
    assert answer.items() <= play.data(it).items()
    assert play.data(it)["reject_reason"] == ("rejected_in_review" if to == "rejected" else None)


def test_both_ways_converge_in_validated_and_are_compared_by_themselves(play: Play) -> None:
    reviewed, sure = CONTRACT.at(play, "review_required"), CONTRACT.at(play, "validated")
    play.fire(reviewed, "approve", ANN)
    for it in (reviewed, sure):
        play.take(it)
        play.work(it, Go("completed"))
        assert play.path(it)[-3:] == ["validated", "comparing", "completed"]


def test_a_form_that_is_filled_in_wrongly_changes_nothing(play: Play) -> None:
    """Trap B12: what cannot be stored has no state to go to, so it is as if it had not been tried."""
    it, review = asked(play)
    before = play.get(it)
    for answer in ({"decisions": "all of it"}, {"final_confidence": 100}, {"review_note": "n" * 10_001}):
        with pytest.raises(InvalidData, match="not filled in rightly"):
            play.engine.reviews.decide(review, "correct", actor=ANN, answer=answer)
    much = {"decisions": [{**CORRECTION, "value": "n" * 1_000_000}]}
    with pytest.raises(DataTooBig):
        play.engine.reviews.decide(review, "correct", actor=ANN, answer=much)
    assert play.get(it) == before
    assert play.reviews(it)["review_required"].id == review


def test_of_many_reviewers_who_decide_at_once_one_does(play: Play) -> None:
    """Trap B2: no double reviews, and no gap in the log."""
    it, review = asked(play)
    seq, barrier = play.get(it).seq, Barrier(REVIEWERS)

    def decide(number: int) -> object:
        barrier.wait(30)
        try:
            return play.engine.reviews.decide(
                review, "approve" if number % 2 else "reject", actor=Actor(USER, f"u{number}")
            )
        except EngineError as error:
            return error

    with ThreadPoolExecutor(REVIEWERS) as threads:
        answers = list(threads.map(decide, range(REVIEWERS)))
    assert [isinstance(a, AlreadyDecided) for a in answers].count(False) == 1
    assert [row.seq for row in play.rows(it, after=seq)] == [seq + 1]
    assert play.engine.verify(it).problems == ()


def test_who_decides_by_an_old_look_is_told_to_look_again(play: Play) -> None:
    """Trap B2: compare, then set."""
    it, review = asked(play)
    seen = play.get(it).seq
    play.engine.pause(it, actor=BOSS)
    play.engine.resume(it, actor=BOSS)
    with pytest.raises(OutOfDate):
        play.engine.reviews.decide(review, "approve", actor=ANN, expected_seq=seen)
    with pytest.raises(OutOfDate):
        play.fire(it, "approve", ANN, expected_seq=seen)
    assert play.state(it) == "review_required"


# -- 24 hours


def test_it_times_out_after_24_hours_by_the_clock_of_the_service(play: Play) -> None:
    """Traps B7 and B10: nobody has to ask for it, and it is not a rejection."""
    it, review = asked(play)
    play.wait(timedelta(hours=24) - MICRO)
    assert play.state(it) == "review_required"
    play.wait(MICRO)
    assert (play.state(it), play.moves(it)[-1]) == ("timed_out", ("review_required", "timed_out", "system"))
    assert play.data(it)["reject_reason"] is None
    with pytest.raises(AlreadyDecided, match="moved on without a decision"):
        play.engine.reviews.decide(review, "approve", actor=ANN)
    with pytest.raises(Refused, match="nothing is allowed now"):
        play.fire(it, "approve", ANN)


@pytest.mark.parametrize("hours", [0, 23, 25])
@pytest.mark.parametrize("actor", [ANN, BOSS, ROBOT, HAND], ids=str)
def test_nobody_but_the_system_times_a_review_out(play: Play, hours: int, actor: Actor) -> None:
    """Trap B7: a client cannot time a review out, not even one that is overdue."""
    it, _ = asked(play)
    play.clock.advance(timedelta(hours=hours))
    before = play.get(it)
    with pytest.raises(Forbidden, match="'time_out' is for system"):
        play.fire(it, "time_out", actor)
    assert play.get(it) == before


def test_reminders_come_before_and_move_nothing(play: Play) -> None:
    it, _ = asked(play)
    told = []
    for hours in (12, 10, 2):
        play.wait(timedelta(hours=hours) - MICRO)
        told.append(len(play.messages(it)))
        play.wait(MICRO)
        told.append(len(play.messages(it)))
    assert told == [0, 1, 1, 2, 2, 2]
    assert [row.kind for row in play.rows(it)][-3:] == ["reminded", "reminded", "moved"]
    assert play.messages(it) == [
        "A contract has waited half of its 24 hours for a review.",
        "A contract times out in two hours unless it is reviewed.",
    ]


def test_what_was_decided_in_time_does_not_time_out(play: Play) -> None:
    it, _ = asked(play)
    play.wait(hours=23)
    play.fire(it, "approve", ANN)
    play.wait(hours=2)
    assert play.state(it) == "validated"
    assert play.get(it).timer_at is None


def test_the_24_hours_begin_with_the_question_and_not_with_the_contract(play: Play) -> None:
    it = CONTRACT.at(play, "validating")
    play.engine.pause(it, actor=ANN)
    play.wait(days=2)
    play.engine.resume(it, actor=ANN)
    play.work(it, Go("review_required"))
    play.wait(timedelta(hours=24) - MICRO)
    assert play.state(it) == "review_required"


# -- steps that are held


def held_at(play: Play, state: str) -> UUID:
    if state == "pending":
        return play.begin("contract", unstarted=True)
    it = CONTRACT.at(play, "parsing_pdf" if state == "extracting" else "validating")
    play.work(it, Go(state, unstarted=True))
    return it


HELD = {"pending": "parsing_pdf", "extracting": "extracting", "validated": "comparing"}
"""Where an endpoint begins, and the step that it starts."""


@pytest.mark.parametrize("state", HELD)
@pytest.mark.parametrize("actor", [ANN, ROBOT, CLOCK], ids=str)
def test_a_held_step_runs_when_somebody_starts_it_and_only_once(play: Play, state: str, actor: Actor) -> None:
    it = held_at(play, state)
    play.wait(days=7)
    assert (play.state(it), play.claims(it)) == (state, [])
    explained = play.engine.explain(it)
    assert (explained.waits_for, [entry.event for entry in explained.next if entry.to is None]) == ("event", ["run"])
    play.fire(it, "run", actor)
    with pytest.raises(Refused, match="its work was started already"):
        play.fire(it, "run", actor)
    assert play.take(it).instance.state == HELD[state]
    assert [(row.event, row.actor) for row in play.rows(it) if row.kind == "armed"] == [("run", str(actor))]


@pytest.mark.parametrize("state", HELD)
def test_who_starts_a_step_that_runs_attaches_to_it_and_starts_nothing(play: Play, state: str) -> None:
    it = held_at(play, state)
    play.fire(it, "run", ANN)
    play.take(it)
    before = play.get(it)
    with pytest.raises(Refused):
        play.fire(it, "run", ROBOT)
    assert play.get(it) == before
    assert play.held(it) is not None, "its worker still holds it"


@pytest.mark.parametrize("state", HELD)
def test_a_step_that_is_not_held_starts_by_itself(play: Play, state: str) -> None:
    it = CONTRACT.at(play, state)
    with pytest.raises(Refused, match="its work was started already"):
        play.fire(it, "run", ANN)
    assert play.take(it).instance.state == HELD[state]


def test_only_these_may_start_a_step_and_only_where_an_endpoint_begins(play: Play) -> None:
    assert {arm.state: arm.by for arm in contract.arms} == dict.fromkeys(HELD, frozenset({USER, AGENT, SYSTEM}))
    it = held_at(play, "pending")
    with pytest.raises(Forbidden, match="'run' is for agent, system, user, not for worker"):
        play.fire(it, "run", HAND)
    running = CONTRACT.at(play, "extracting")
    play.work(running, Go("validating", unstarted=True))
    told = play.get(running).error
    assert told is not None
    assert "cannot be held back" in told["message"]


def test_a_held_contract_that_is_paused_waits_for_both(play: Play) -> None:
    it = held_at(play, "pending")
    play.engine.pause(it, actor=ANN)
    play.fire(it, "run", ROBOT)
    assert play.claims(it) == []
    play.engine.resume(it, actor=ANN)
    assert play.take(it).instance.state == "parsing_pdf"


def test_a_document_is_one_contract_for_ever(store: Store) -> None:
    with Play([contract], store) as play:
        it = play.begin("contract", key="sha-1")
        play.work(it, NotRetryable("not a PDF"))
        assert play.state(it) == "rejected"
        with pytest.raises(KeyTaken) as taken:
            play.begin("contract", key="sha-1")
        assert taken.value.existing == it
