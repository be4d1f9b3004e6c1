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
from interlock.worker.task import EnginePort, make_task
from tests.apps.machines.lending import Desk
from tests.apps.machines.play import ANN, CLOCK, Play
from tests.apps.machines.recipes import LOAN, Outage

PATIENT = [timedelta(seconds=s) for s in (15, 30, 60, 120)]


@pytest.fixture
def desk(store: Store) -> Iterator[Desk]:
    with Desk(store) as desk:
        yield desk
        assert broken_laws(desk.engine) == []


def waits_of(play: Play, it: UUID, error: Exception | None = None) -> list[timedelta]:
    """Fail until it is stuck; the waits between."""
    waits: list[timedelta] = []
    while play.state(it) != "stuck":
        assert len(waits) < 10, "it was never given up"
        play.work(it, error or Outage("503"))
        if play.get(it).due_at is not None:
            waits.append(play.due_in(it))
            play.wait(waits[-1])
    return waits


# -- five attempts


@pytest.mark.parametrize("state", ["borrowing", "returning"])
def test_five_attempts_and_then_it_is_stuck_with_a_dead_letter(play: Play, state: str) -> None:
    """Trap A19: what is stuck is seen on the loan itself, not only in a list."""
    it = LOAN.at(play, state)
    assert waits_of(play, it) == PATIENT
    assert play.path(it)[-2:] == [state, "stuck"]
    (letter,) = play.letters(it)
    assert (letter.step, letter.attempts, letter.error["message"]) == (state, 5, "503")
    explained = play.engine.explain(it)
    assert (explained.state, explained.waits_for) == ("stuck", "person")
    play.wait(days=30)
    assert (play.state(it), play.claims(it)) == ("stuck", [])


def test_a_person_retries_the_dead_letter_with_five_attempts_anew(play: Play) -> None:
    """Trap A8: a letter that is put back must not be a dead letter again at the first mishap."""
    it = LOAN.at(play, "returning")
    waits_of(play, it)
    (letter,) = play.letters(it)
    assert play.engine.dead_letters.retry(letter.id, actor=ANN, reason="the allocator is back").state == "returning"
    assert play.moves(it)[-1] == ("stuck", "returning", "user")
    assert waits_of(play, it) == PATIENT
    assert len(play.letters(it)) == 1


def test_a_person_who_fires_the_retry_gets_five_attempts_anew_too(play: Play) -> None:
    """Trap A8, by the declared transition from stuck to returning instead of the dead letter."""
    it = LOAN.at(play, "returning")
    waits_of(play, it)
    play.fire(it, "retry", ANN)
    assert play.letters(it) == []
    assert waits_of(play, it) == PATIENT


@pytest.mark.parametrize("resolution", ["resolved", "released_by_force", "discarded"])
def test_a_person_settles_what_is_stuck_and_says_how(play: Play, resolution: str) -> None:
    """Trap A8: each of the actions is a move with its actor."""
    it = LOAN.at(play, "stuck")
    play.fire(it, "resolve", ANN, data={"resolution": resolution}, reason="looked at the pool")
    assert (play.state(it), play.data(it)["resolution"]) == ("returned", resolution)
    last = play.rows(it)[-1]
    assert (last.actor, last.payload["reason"]) == ("user:ann", "looked at the pool")


@pytest.mark.parametrize(("action", "status"), [("resolve", "resolved"), ("discard", "discarded")])
def test_closing_the_dead_letter_alone_tries_nothing_and_leaves_it_stuck(play: Play, action: str, status: str) -> None:
    """Trap A8: resolved does not mean that the poller tries once more."""
    it = LOAN.at(play, "stuck")
    (letter,) = play.letters(it)
    getattr(play.engine.dead_letters, action)(letter.id, actor=ANN, note="seen")
    play.wait(days=1)
    assert (play.state(it), play.claims(it), play.letters(it)) == ("stuck", [], [])
    (closed,) = play.letters(it, status=status)
    assert (closed.closed_by, closed.note) == ("user:ann", "seen")


def test_only_a_person_moves_what_is_stuck(play: Play) -> None:
    it = LOAN.at(play, "stuck")
    for event in ("retry", "resolve", "give_back", "fail"):
        with pytest.raises(Refused):
            play.fire(it, event, CLOCK)
    assert play.state(it) == "stuck"


# -- unknown


def test_what_may_have_been_lent_is_stuck_at_once(play: Play) -> None:
    it = LOAN.at(play, "borrowing")
    play.work(it, EffectUnknown("no answer"))
    assert play.state(it) == "stuck"
    assert [letter.error_type for letter in play.letters(it)] == ["EffectUnknown"]


def test_a_return_that_stays_unknown_is_stuck_after_five_looks(play: Play) -> None:
    it = LOAN.at(play, "returning")
    assert waits_of(play, it, EffectUnknown("no answer")) == PATIENT


def lose_after_sending(desk: Desk, kind: str, key: str) -> None:
    """A worker writes the intent down, the allocator does what it is asked, and the worker is gone."""
    worker = desk.new_worker()
    (claim,) = desk.claim(worker=worker)
    task = make_task(claim, EnginePort(desk.engine, claim))
    request = {"session": task.data.session_id} if kind == "borrow" else {"token": key.removeprefix("return:")}
    effect = task.intend(kind, request, key=key)
    task.sent(effect)
    if kind == "borrow":
        desk.allocator.borrow(effect)
    else:
        desk.allocator.give_back(key.removeprefix("return:"))
    desk.lose(worker)
    desk.run_until_idle()


def test_a_crash_between_borrowing_and_writing_it_down_loses_no_sandbox(desk: Desk) -> None:
    """Trap A2: the intent is written first, so that what was borrowed and not heard of is known to be in doubt."""
    it = desk.create("loan")
    lose_after_sending(desk, "borrow", desk.token(it))
    assert (desk.state(it), desk.allocator.lent) == ("stuck", ["sandbox-0"])
    (effect,) = desk.engine.effects(it)
    assert (effect.key, effect.status) == (desk.token(it), "unknown")
    desk.advance(days=1)
    assert desk.allocator.lent == ["sandbox-0"], "it is not borrowed a second time"


def test_an_allocator_that_can_be_asked_gives_the_sandbox_that_was_borrowed(store: Store) -> None:
    """Trap A2, with a verification by the token."""
    with Desk(store, verify=True) as desk:
        it = desk.create("loan")
        lose_after_sending(desk, "borrow", desk.token(it))
        assert (desk.state(it), desk.allocator.lent) == ("held", ["sandbox-0"])
        (effect,) = desk.engine.effects(it)
        assert (effect.status, effect.sends, effect.answer["item"]) == ("confirmed", 1, "sandbox-0")


@pytest.mark.parametrize("how", ["the worker is lost", "the allocator falls silent"])
def test_a_return_whose_answer_was_lost_is_not_returned_twice(desk: Desk, how: str) -> None:
    """Trap A5: a second return answers 404, which must not count as a failure of one that succeeded."""
    it = desk.lend()
    desk.engine.fire(it, "give_back", actor=CLOCK)
    if how == "the worker is lost":
        lose_after_sending(desk, "return", f"return:{desk.token(it)}")
    else:
        desk.allocator.moods = ["falls silent"]
        desk.advance(seconds=15)
    assert (desk.state(it), desk.engine.dead_letters.find()) == ("returned", [])
    assert desk.allocator.borrowed == {}
    (_, returned) = desk.engine.effects(it)
    assert (returned.status, returned.sends) == ("confirmed", 1)


# -- lent or not


def test_a_sandbox_is_lent_held_and_given_back(desk: Desk) -> None:
    it = desk.lend()
    desk.advance(days=7)
    assert (desk.state(it), len(desk.allocator.borrowed)) == ("held", 1)
    assert desk.engine.explain(it).waits_for == "person"
    desk.engine.fire(it, "give_back", actor=CLOCK)
    desk.run_until_idle()
    assert desk.path(it) == ["borrowing", "held", "returning", "returned"]
    assert (desk.allocator.borrowed, len(desk.allocator.free)) == ({}, 3)


def test_an_allocator_that_restarts_is_waited_for(desk: Desk) -> None:
    """Five quick polls would have given up on a restart of 25 seconds."""
    desk.allocator.moods = ["down", "down"]
    it = desk.lend()
    desk.advance(seconds=45)
    assert (desk.state(it), desk.engine.dead_letters.find()) == ("held", [])


def test_a_loan_that_lent_nothing_has_nothing_to_give_back(store: Store) -> None:
    with Play([loan], store) as play:
        it = play.begin("loan")
        play.work(it, Go("returned", data={"lent": False}))
        assert play.path(it) == ["borrowing", "returned"]
        with pytest.raises(Refused, match="nothing is allowed now"):
            play.fire(it, "give_back", CLOCK)
