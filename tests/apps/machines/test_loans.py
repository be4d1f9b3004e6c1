"""A loan: one sandbox, borrowed once, given back once, and visibly stuck where it is not."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from uuid import UUID

import pytest

from interlock.apps.sessions.machine import loan
from interlock.engine import Refused
from interlock.machine import EffectUnknown, Go
from interlock.store import Store
from interlock.testing import broken_laws
from interlock.worker.port import EnginePort
from interlock.worker.task import make_task
from tests.apps.machines.recipes import LOAN, Outage
from tests.apps.machines.scripted_trial import ANN, CLOCK, ScriptedTrial
from tests.apps.machines.session_trial import SessionTrial

pytestmark = pytest.mark.soak("postgresql")

PATIENT = [timedelta(seconds=s) for s in (15, 30, 60, 120)]


@pytest.fixture
def sessions(store: Store) -> Iterator[SessionTrial]:
    with SessionTrial(store) as sessions:
        yield sessions
        assert broken_laws(sessions.engine) == []


def waits_of(trial: ScriptedTrial, it: UUID, error: Exception | None = None) -> list[timedelta]:
    """Fail until it is stuck; the waits between."""
    waits: list[timedelta] = []
    while trial.state(it) != "stuck":
        assert len(waits) < 10, "it was never given up"
        trial.work(it, error or Outage("503"))
        if trial.get(it).due_at is not None:
            waits.append(trial.due_in(it))
            trial.wait(waits[-1])
    return waits


# -- five attempts


@pytest.mark.parametrize("state", ["borrowing", "returning"])
def test_five_attempts_and_then_it_is_stuck_with_a_dead_letter(trial: ScriptedTrial, state: str) -> None:
    """Trap A19: what is stuck is seen on the loan itself, not only in a list."""
    it = LOAN.at(trial, state)
    assert waits_of(trial, it) == PATIENT
    assert trial.path(it)[-2:] == [state, "stuck"]
    (letter,) = trial.letters(it)
    assert (letter.step, letter.attempts, letter.error["message"]) == (state, 5, "503")
    explained = trial.engine.explain(it)
    assert (explained.state, explained.waits_for) == ("stuck", "person")
    trial.wait(days=30)
    assert (trial.state(it), trial.claims(it)) == ("stuck", [])


def test_a_person_retries_the_dead_letter_with_five_attempts_anew(trial: ScriptedTrial) -> None:
    """Trap A8: a letter that is put back must not be a dead letter again at the first mishap."""
    it = LOAN.at(trial, "returning")
    waits_of(trial, it)
    (letter,) = trial.letters(it)
    assert trial.engine.dead_letters.retry(letter.id, actor=ANN, reason="the allocator is back").state == "returning"
    assert trial.moves(it)[-1] == ("stuck", "returning", "user")
    assert waits_of(trial, it) == PATIENT
    assert len(trial.letters(it)) == 1


def test_a_person_who_fires_the_retry_gets_five_attempts_anew_too(trial: ScriptedTrial) -> None:
    """Trap A8, by the declared transition from stuck to returning instead of the dead letter."""
    it = LOAN.at(trial, "returning")
    waits_of(trial, it)
    trial.fire(it, "retry", ANN)
    assert trial.letters(it) == []
    assert waits_of(trial, it) == PATIENT


@pytest.mark.parametrize("resolution", ["resolved", "released_by_force", "discarded"])
def test_a_person_settles_what_is_stuck_and_says_how(trial: ScriptedTrial, resolution: str) -> None:
    """Trap A8: each of the actions is a move with its actor."""
    it = LOAN.at(trial, "stuck")
    trial.fire(it, "resolve", ANN, data={"resolution": resolution}, reason="looked at the pool")
    assert (trial.state(it), trial.data(it)["resolution"]) == ("returned", resolution)
    last = trial.rows(it)[-1]
    assert (last.actor, last.payload["reason"]) == ("user:ann", "looked at the pool")


@pytest.mark.parametrize(("action", "status"), [("resolve", "resolved"), ("discard", "discarded")])
def test_closing_the_dead_letter_alone_tries_nothing_and_leaves_it_stuck(
    trial: ScriptedTrial, action: str, status: str
) -> None:
    """Trap A8: resolved does not mean that the poller tries once more."""
    it = LOAN.at(trial, "stuck")
    (letter,) = trial.letters(it)
    getattr(trial.engine.dead_letters, action)(letter.id, actor=ANN, note="seen")
    trial.wait(days=1)
    assert (trial.state(it), trial.claims(it), trial.letters(it)) == ("stuck", [], [])
    (closed,) = trial.letters(it, status=status)
    assert (closed.closed_by, closed.note) == ("user:ann", "seen")


def test_only_a_person_moves_what_is_stuck(trial: ScriptedTrial) -> None:
    it = LOAN.at(trial, "stuck")
    for event in ("retry", "resolve", "give_back", "fail"):
        with pytest.raises(Refused):
            trial.fire(it, event, CLOCK)
    assert trial.state(it) == "stuck"


# -- unknown


def test_what_may_have_been_lent_is_stuck_at_once(trial: ScriptedTrial) -> None:
    it = LOAN.at(trial, "borrowing")
    trial.work(it, EffectUnknown("no answer"))
    assert trial.state(it) == "stuck"
    assert [letter.error_type for letter in trial.letters(it)] == ["EffectUnknown"]


def test_a_return_that_stays_unknown_is_stuck_after_five_looks(trial: ScriptedTrial) -> None:
    it = LOAN.at(trial, "returning")
    assert waits_of(trial, it, EffectUnknown("no answer")) == PATIENT


def lose_after_sending(sessions: SessionTrial, kind: str, key: str) -> None:
    """A worker writes the intent down, the allocator does what it is asked, and the worker is gone."""
    worker = sessions.new_worker()
    (claim,) = sessions.claim(worker=worker)
    task = make_task(claim, EnginePort(sessions.engine, claim))
    request = {"session": task.data.session_id} if kind == "borrow" else {"token": key.removeprefix("return:")}
    effect = task.intend(kind, request, key=key)
    task.sent(effect)
    if kind == "borrow":
        sessions.allocator.borrow(effect)
    else:
        sessions.allocator.give_back(key.removeprefix("return:"))
    sessions.lose(worker)
    sessions.run_until_idle()


def test_a_crash_between_borrowing_and_writing_it_down_loses_no_sandbox(sessions: SessionTrial) -> None:
    """Trap A2: the intent is written first, so that what was borrowed and not heard of is known to be in doubt."""
    it = sessions.create("loan")
    lose_after_sending(sessions, "borrow", sessions.token(it))
    assert (sessions.state(it), sessions.allocator.lent) == ("stuck", ["sandbox-0"])
    (effect,) = sessions.engine.effects(it)
    assert (effect.key, effect.status) == (sessions.token(it), "unknown")
    sessions.advance(days=1)
    assert sessions.allocator.lent == ["sandbox-0"], "it is not borrowed a second time"


def test_an_allocator_that_can_be_asked_gives_the_sandbox_that_was_borrowed(store: Store) -> None:
    """Trap A2, with a verification by the token."""
    with SessionTrial(store, verify=True) as sessions:
        it = sessions.create("loan")
        lose_after_sending(sessions, "borrow", sessions.token(it))
        assert (sessions.state(it), sessions.allocator.lent) == ("held", ["sandbox-0"])
        (effect,) = sessions.engine.effects(it)
        assert (effect.status, effect.sends, effect.answer["item"]) == ("confirmed", 1, "sandbox-0")


@pytest.mark.parametrize("how", ["the worker is lost", "the allocator falls silent"])
def test_a_return_whose_answer_was_lost_is_not_returned_twice(sessions: SessionTrial, how: str) -> None:
    """Trap A5: a second return answers 404, which must not count as a failure of one that succeeded."""
    it = sessions.lend()
    sessions.engine.fire(it, "give_back", actor=CLOCK)
    if how == "the worker is lost":
        lose_after_sending(sessions, "return", f"return:{sessions.token(it)}")
    else:
        sessions.allocator.moods = ["falls silent"]
        sessions.advance(seconds=15)
    assert (sessions.state(it), sessions.engine.dead_letters.find()) == ("returned", [])
    assert sessions.allocator.borrowed == {}
    (_, returned) = sessions.engine.effects(it)
    assert (returned.status, returned.sends) == ("confirmed", 1)


# -- lent or not


def test_a_sandbox_is_lent_held_and_given_back(sessions: SessionTrial) -> None:
    it = sessions.lend()
    sessions.advance(days=7)
    assert (sessions.state(it), len(sessions.allocator.borrowed)) == ("held", 1)
    assert sessions.engine.explain(it).waits_for == "person"
    sessions.engine.fire(it, "give_back", actor=CLOCK)
    sessions.run_until_idle()
    assert sessions.path(it) == ["borrowing", "held", "returning", "returned"]
    assert (sessions.allocator.borrowed, len(sessions.allocator.free)) == ({}, 3)


def test_an_allocator_that_restarts_is_waited_for(sessions: SessionTrial) -> None:
    """Five quick polls would have given up on a restart of 25 seconds."""
    sessions.allocator.moods = ["down", "down"]
    it = sessions.lend()
    sessions.advance(seconds=45)
    assert (sessions.state(it), sessions.engine.dead_letters.find()) == ("held", [])


def test_a_loan_that_lent_nothing_has_nothing_to_give_back(store: Store) -> None:
    with ScriptedTrial([loan], store) as trial:
        it = trial.begin("loan")
        trial.work(it, Go("returned", data={"lent": False}))
        assert trial.path(it) == ["borrowing", "returned"]
        with pytest.raises(Refused, match="nothing is allowed now"):
            trial.fire(it, "give_back", CLOCK)
