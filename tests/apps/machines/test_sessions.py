"""A session: it borrows in pending, works in progress under one lease, and is archived without losing its place."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from threading import Barrier
from uuid import UUID

import pytest

from interlock.engine import Claim, Fenced, Forbidden, InvalidData, Refused
from interlock.machine import EffectUnknown, Go, Spawn
from interlock.store import Store
from interlock.testing import broken_laws
from interlock.worker.port import EnginePort
from interlock.worker.task import make_task
from tests.apps.machines.recipes import SESSION, Outage, starts
from tests.apps.machines.scripted_trial import ANN, BOSS, CLOCK, HAND, ScriptedTrial
from tests.apps.machines.session_trial import LOOK_AGAIN, SessionTrial

pytestmark = pytest.mark.soak("postgresql")

PATIENT = [timedelta(seconds=s) for s in (15, 30, 60, 120)]
PLACES = ["pending", "in_progress", "needs_review", "needs_review_ip_returned"]


@pytest.fixture
def sessions(store: Store) -> Iterator[SessionTrial]:
    with SessionTrial(store) as sessions:
        yield sessions
        assert broken_laws(sessions.engine) == []


def give_back(sessions: SessionTrial, it: UUID) -> None:
    """What the return of a sandbox comes to: the loan goes back, then the session moves on, if it waits for that."""
    current = sessions.open_loan(it)
    assert current is not None
    sessions.engine.fire(current.id, "give_back", actor=CLOCK)
    sessions.run_until_idle()
    if sessions.state(it) == "needs_review":
        sessions.engine.fire(it, "return_ip", actor=CLOCK)


# -- from pending to in progress, under one lease


def test_a_prompt_is_worked_on_in_a_borrowed_sandbox(sessions: SessionTrial) -> None:
    it = sessions.begin()
    assert sessions.path(it) == ["pending", "in_progress", "needs_review"]
    (one,) = sessions.loans(it)
    assert (one.state, one.parent, one.root, one.depth) == ("held", it, it, 1)
    assert (sessions.data(it)["loan_id"], sessions.data(it)["result"]) == (str(one.id), "done")
    assert sessions.ran == [("p1", str(one.id))]


def test_going_in_progress_keeps_the_worker_its_lease_and_its_fence(trial: ScriptedTrial) -> None:
    it = SESSION.at(trial, "pending")
    claim = trial.take(it)
    task = make_task(claim, EnginePort(trial.engine, claim))
    before = trial.get(it)
    task.move("in_progress", {"loan_id": "l1"}, reason="a sandbox was lent")
    after = trial.get(it)
    assert (task.state, task.data.loan_id) == ("in_progress", "l1")
    assert (after.state, after.seq) == ("in_progress", before.seq + 1)
    same = ("holder", "fence", "wake", "due_at", "claimed_at")
    assert [getattr(after, name) for name in same] == [getattr(before, name) for name in same]
    assert trial.claims(it, worker=trial.new_worker()) == []
    assert trial.finish(claim, Go("needs_review"))
    assert trial.path(it) == ["pending", "in_progress", "needs_review"]


def test_a_lost_worker_brings_it_back_to_pending_and_the_next_uses_the_same_sandbox(sessions: SessionTrial) -> None:
    it = sessions.create("session", {"prompt_id": "p1"})
    sessions.step()
    sessions.step()
    assert [one.state for one in sessions.loans(it)] == ["held"]
    sessions.clock.advance(LOOK_AGAIN)
    worker = sessions.new_worker()
    (claim,) = sessions.claim(worker=worker)
    make_task(claim, EnginePort(sessions.engine, claim)).move("in_progress")
    sessions.lose(worker)
    assert (sessions.state(it), sessions.engine.history(it)[-1].actor) == ("pending", "system")
    assert sessions.finish(claim, Go("needs_review")) is False
    sessions.run_until_idle()
    assert sessions.path(it) == ["pending", "in_progress", "pending", "in_progress", "needs_review"]
    assert (len(sessions.loans(it)), sessions.allocator.lent) == (1, ["sandbox-0"])


def test_one_claim_borrows_one_sandbox_however_many_workers_look(sessions: SessionTrial) -> None:
    """Trap A13: two workers must not both find the same session."""
    for number in range(8):
        sessions.create("session", {"prompt_id": f"p{number}"})
    workers, barrier = [sessions.new_worker() for _ in range(4)], Barrier(4)

    def look(worker: UUID) -> list[Claim]:
        barrier.wait(30)
        return sessions.engine.claim(worker, ["session"], 8)

    with ThreadPoolExecutor(4) as threads:
        claims = [claim for found in threads.map(look, workers) for claim in found]
    assert len(claims) == len({claim.id for claim in claims}) == 8


def test_who_lost_the_session_borrows_nothing_for_it(trial: ScriptedTrial) -> None:
    it = SESSION.at(trial, "pending")
    claim = trial.take(it)
    task = make_task(claim, EnginePort(trial.engine, claim))
    assert task.spawn(Spawn("loan")) is not None
    trial.lose_worker(it)
    with pytest.raises(Fenced):
        task.spawn(Spawn("loan"))
    assert len(trial.engine.children(it)) == 1


# -- failures


def test_an_agent_that_fails_is_looked_at_by_a_person_and_not_run_again(sessions: SessionTrial) -> None:
    sessions.agent = [Outage("exit code 1")]
    it = sessions.begin()
    sessions.advance(days=1)
    assert (sessions.state(it), sessions.data(it)["result"], len(sessions.ran)) == ("needs_review", "failed", 1)
    (letter,) = sessions.engine.dead_letters.find()
    assert (letter.state, letter.error["message"]) == ("in_progress", "exit code 1")


def test_an_agent_whose_work_is_unknown_is_looked_at_as_unknown(sessions: SessionTrial) -> None:
    sessions.agent = [EffectUnknown("it may have pushed")]
    it = sessions.begin()
    sessions.advance(days=1)
    assert (sessions.state(it), sessions.data(it)["result"], len(sessions.ran)) == ("needs_review", "unknown", 1)


def test_an_agent_that_never_ends_is_looked_at_by_a_person(trial: ScriptedTrial) -> None:
    it = SESSION.at(trial, "in_progress")
    trial.wait(minutes=15)
    assert (trial.state(it), trial.data(it)["result"]) == ("needs_review", "failed")


def test_who_gets_no_sandbox_is_tried_five_times_and_rests_in_pending_until_somebody_retries(
    trial: ScriptedTrial,
) -> None:
    it = SESSION.at(trial, "pending")
    waits = []
    for _ in range(5):
        trial.work(it, Outage("no sandbox"))
        if trial.get(it).due_at is not None:
            waits.append(trial.due_in(it))
            trial.wait(waits[-1])
    assert waits == PATIENT
    trial.wait(days=1)
    assert (trial.state(it), trial.claims(it)) == ("pending", [])
    (letter,) = trial.letters(it)
    trial.engine.dead_letters.retry(letter.id, actor=ANN)
    starts(trial, it)
    assert trial.state(it) == "in_progress"


def test_one_session_that_cannot_start_does_not_hold_up_the_others(sessions: SessionTrial) -> None:
    """Trap A12: the first failed borrow must not end the whole round."""
    sessions.allocator.free = ["sandbox-0"]
    sessions.allocator.moods = ["down"] * 5
    unlucky = sessions.create("session", {"prompt_id": "p1"})
    sessions.advance(minutes=4)
    lucky = sessions.begin("p2")
    assert [sessions.state(one.id) for one in sessions.loans(unlucky)] == ["stuck"]
    assert (sessions.state(unlucky), sessions.state(lucky)) == ("pending", "needs_review")


# -- follow-up prompts


def test_a_follow_up_uses_the_sandbox_that_is_held_and_loses_none(sessions: SessionTrial) -> None:
    """Trap A1: the next borrow must not overwrite the one before."""
    it = sessions.begin("p1")
    sessions.engine.fire(it, "prompt", actor=ANN)
    sessions.run_until_idle()
    (one,) = sessions.loans(it)
    assert [loan for _, loan in sessions.ran] == [str(one.id)] * 2
    assert sessions.allocator.lent == ["sandbox-0"]


def test_a_follow_up_after_the_return_borrows_anew_and_both_loans_are_known(sessions: SessionTrial) -> None:
    """Trap A1: each loan is a row of its own."""
    it = sessions.begin("p1")
    give_back(sessions, it)
    assert sessions.state(it) == "needs_review_ip_returned"
    sessions.engine.fire(it, "prompt", actor=ANN)
    sessions.advance(seconds=10)
    assert [one.state for one in sessions.loans(it)] == ["returned", "held"]
    assert sessions.data(it)["loan_id"] == str(sessions.loans(it)[1].id)
    assert len(sessions.allocator.free) + len(sessions.allocator.borrowed) == 3


# -- the archive


@pytest.mark.parametrize("state", PLACES)
def test_it_is_archived_from_every_state_and_comes_back_to_where_it_was(trial: ScriptedTrial, state: str) -> None:
    it = SESSION.at(trial, state)
    trial.fire(it, "archive", ANN, reason="done with it")
    trial.wait(days=30)
    assert (trial.state(it), trial.claims(it)) == ("archived", [])
    trial.fire(it, "unarchive", ANN)
    # What the agent was doing was cancelled, so it comes back to the review of what there is.
    assert trial.state(it) == ("needs_review" if state == "in_progress" else state)


def test_archived_twice_it_still_knows_where_it_was(trial: ScriptedTrial) -> None:
    it = SESSION.at(trial, "needs_review")
    for _ in range(2):
        trial.fire(it, "archive", ANN)
        with pytest.raises(Refused):
            trial.fire(it, "archive", ANN)
        trial.fire(it, "unarchive", ANN)
        assert trial.state(it) == "needs_review"


def test_who_works_when_it_is_archived_is_fenced_off(trial: ScriptedTrial) -> None:
    it = SESSION.at(trial, "in_progress")
    claim = trial.held(it)
    assert claim is not None
    trial.fire(it, "archive", ANN)
    assert trial.finish(claim, Go("needs_review", data={"result": "done"})) is False
    assert (trial.state(it), trial.data(it)["result"]) == ("archived", "cancelled")


@pytest.mark.parametrize("state", ["needs_review", "in_progress"])
def test_a_sandbox_that_comes_back_does_not_unarchive(sessions: SessionTrial, state: str) -> None:
    """Trap A14: the loan has a life of its own."""
    it = sessions.begin()
    if state == "in_progress":
        sessions.engine.fire(it, "prompt", actor=ANN)
        (claim,) = sessions.claim()
        make_task(claim, EnginePort(sessions.engine, claim)).move("in_progress")
    sessions.engine.fire(it, "archive", actor=ANN)
    give_back(sessions, it)
    assert [one.state for one in sessions.loans(it)] == ["returned"]
    assert sessions.state(it) == "archived"
    for actor in (CLOCK, HAND):
        for event in ("return_ip", "unarchive", "prompt"):
            with pytest.raises(Refused):
                sessions.engine.fire(it, event, actor=actor)
    sessions.engine.fire(it, "unarchive", actor=ANN)
    assert sessions.state(it) == "needs_review"


# -- moves by hand


@pytest.mark.parametrize("state", PLACES)
def test_moves_by_hand_go_along_the_table_with_actor_and_reason(trial: ScriptedTrial, state: str) -> None:
    """Trap A15: a status is not simply set."""
    it = SESSION.at(trial, state)
    declared = {edge.to for edge in SESSION.machine.edges_from(state)}
    before = trial.get(it)
    for to in set(SESSION.machine.states) - declared:
        with pytest.raises(Forbidden, match="only an owner may force"):
            trial.engine.force(it, to, actor=ANN, reason="I want to")
        with pytest.raises(InvalidData, match="needs a reason"):
            trial.engine.force(it, to, actor=BOSS, reason=" ")
    assert trial.get(it) == before
    trial.fire(it, "archive", ANN, reason="stuck for days")
    last = trial.rows(it)[-1]
    assert (last.kind, last.actor, last.payload["reason"]) == ("moved", "user:ann", "stuck for days")
    trial.engine.force(it, "pending", actor=BOSS, reason="start over")
    last = trial.rows(it)[-1]
    assert (last.kind, last.actor, last.from_state, last.to_state) == ("forced", "owner:boss", "archived", "pending")


def test_a_new_prompt_brings_it_back_after_the_return_too(trial: ScriptedTrial) -> None:
    """Trap A15: the table has this transition, and so have the diagram and the engine."""
    it = SESSION.at(trial, "needs_review_ip_returned")
    trial.fire(it, "prompt", ANN)
    assert trial.state(it) == "pending"
    assert trial.take(it).instance.state == "pending"
