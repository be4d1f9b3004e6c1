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
from interlock.worker.task import EnginePort, make_task
from tests.apps.machines.lending import LOOK_AGAIN, Desk
from tests.apps.machines.play import ANN, BOSS, CLOCK, HAND, Play
from tests.apps.machines.recipes import SESSION, Outage, starts

PATIENT = [timedelta(seconds=s) for s in (15, 30, 60, 120)]
PLACES = ["pending", "in_progress", "needs_review", "needs_review_ip_returned"]


@pytest.fixture
def desk(store: Store) -> Iterator[Desk]:
    with Desk(store) as desk:
        yield desk
        assert broken_laws(desk.engine) == []


def give_back(desk: Desk, it: UUID) -> None:
    """What the return of a sandbox comes to: the loan goes back, then the session is told, if it waits for that."""
    current = desk.open_loan(it)
    assert current is not None
    desk.engine.fire(current.id, "give_back", actor=CLOCK)
    desk.run_until_idle()
    if desk.state(it) == "needs_review":
        desk.engine.fire(it, "return_ip", actor=CLOCK)


# -- from pending to in progress, under one lease


def test_a_prompt_is_worked_on_in_a_borrowed_sandbox(desk: Desk) -> None:
    it = desk.begin()
    assert desk.path(it) == ["pending", "in_progress", "needs_review"]
    (one,) = desk.loans(it)
    assert (one.state, one.parent, one.root, one.depth) == ("held", it, it, 1)
    assert (desk.data(it)["loan_id"], desk.data(it)["result"]) == (str(one.id), "done")
    assert desk.ran == [("p1", str(one.id))]


def test_going_in_progress_keeps_the_worker_its_lease_and_its_fence(play: Play) -> None:
    it = SESSION.at(play, "pending")
    claim = play.take(it)
    task = make_task(claim, EnginePort(play.engine, claim))
    before = play.get(it)
    task.move("in_progress", {"loan_id": "l1"}, reason="a sandbox was lent")
    after = play.get(it)
    assert (task.state, task.data.loan_id) == ("in_progress", "l1")
    assert (after.state, after.seq) == ("in_progress", before.seq + 1)
    same = ("holder", "fence", "wake", "due_at", "claimed_at")
    assert [getattr(after, name) for name in same] == [getattr(before, name) for name in same]
    assert play.claims(it, worker=play.new_worker()) == []
    assert play.finish(claim, Go("needs_review"))
    assert play.path(it) == ["pending", "in_progress", "needs_review"]


def test_a_lost_worker_brings_it_back_to_pending_and_the_next_uses_the_same_sandbox(desk: Desk) -> None:
    it = desk.create("session", {"prompt_id": "p1"})
    desk.run_until_idle()
    desk.clock.advance(LOOK_AGAIN)
    worker = desk.new_worker()
    (claim,) = desk.claim(worker=worker)
    make_task(claim, EnginePort(desk.engine, claim)).move("in_progress")
    desk.lose(worker)
    assert (desk.state(it), desk.engine.history(it)[-1].actor) == ("pending", "system")
    assert desk.finish(claim, Go("needs_review")) is False
    desk.run_until_idle()
    assert desk.path(it) == ["pending", "in_progress", "pending", "in_progress", "needs_review"]
    assert (len(desk.loans(it)), desk.allocator.lent) == (1, ["sandbox-0"])


def test_one_claim_borrows_one_sandbox_however_many_workers_look(desk: Desk) -> None:
    """Trap A13: two workers must not both find the same session."""
    for number in range(8):
        desk.create("session", {"prompt_id": f"p{number}"})
    workers, barrier = [desk.new_worker() for _ in range(4)], Barrier(4)

    def look(worker: UUID) -> list[Claim]:
        barrier.wait(30)
        return desk.engine.claim(worker, ["session"], 8)

    with ThreadPoolExecutor(4) as threads:
        claims = [claim for found in threads.map(look, workers) for claim in found]
    assert len(claims) == len({claim.id for claim in claims}) == 8


def test_who_lost_the_session_borrows_nothing_for_it(play: Play) -> None:
    it = SESSION.at(play, "pending")
    claim = play.take(it)
    task = make_task(claim, EnginePort(play.engine, claim))
    assert task.spawn(Spawn("loan")) is not None
    play.lose_worker(it)
    with pytest.raises(Fenced):
        task.spawn(Spawn("loan"))
    assert len(play.engine.children(it)) == 1


# -- failures


def test_an_agent_that_fails_is_looked_at_by_a_person_and_not_run_again(desk: Desk) -> None:
    desk.agent = [Outage("exit code 1")]
    it = desk.begin()
    desk.advance(days=1)
    assert (desk.state(it), desk.data(it)["result"], len(desk.ran)) == ("needs_review", "failed", 1)
    (letter,) = desk.engine.dead_letters.find()
    assert (letter.state, letter.error["message"]) == ("in_progress", "exit code 1")


def test_an_agent_whose_work_is_unknown_is_looked_at_as_unknown(desk: Desk) -> None:
    desk.agent = [EffectUnknown("it may have pushed")]
    it = desk.begin()
    desk.advance(days=1)
    assert (desk.state(it), desk.data(it)["result"], len(desk.ran)) == ("needs_review", "unknown", 1)


def test_an_agent_that_never_ends_is_looked_at_by_a_person(play: Play) -> None:
    it = SESSION.at(play, "in_progress")
    play.wait(minutes=15)
    assert (play.state(it), play.data(it)["result"]) == ("needs_review", "failed")


def test_who_gets_no_sandbox_is_tried_five_times_and_rests_in_pending_until_somebody_retries(play: Play) -> None:
    it = SESSION.at(play, "pending")
    waits = []
    for _ in range(5):
        play.work(it, Outage("no sandbox"))
        if play.get(it).due_at is not None:
            waits.append(play.due_in(it))
            play.wait(waits[-1])
    assert waits == PATIENT
    play.wait(days=1)
    assert (play.state(it), play.claims(it)) == ("pending", [])
    (letter,) = play.letters(it)
    play.engine.dead_letters.retry(letter.id, actor=ANN)
    starts(play, it)
    assert play.state(it) == "in_progress"


def test_one_session_that_cannot_start_does_not_hold_up_the_others(desk: Desk) -> None:
    """Trap A12: the first failed borrow must not end the whole round."""
    desk.allocator.free = ["sandbox-0"]
    desk.allocator.moods = ["down"] * 5
    unlucky = desk.create("session", {"prompt_id": "p1"})
    desk.advance(minutes=4)
    lucky = desk.begin("p2")
    assert [desk.state(one.id) for one in desk.loans(unlucky)] == ["stuck"]
    assert (desk.state(unlucky), desk.state(lucky)) == ("pending", "needs_review")


# -- follow-up prompts


def test_a_follow_up_uses_the_sandbox_that_is_held_and_loses_none(desk: Desk) -> None:
    """Trap A1: the next borrow must not overwrite the one before."""
    it = desk.begin("p1")
    desk.engine.fire(it, "prompt", actor=ANN, data={"prompt_id": "p2"})
    desk.run_until_idle()
    (one,) = desk.loans(it)
    assert desk.ran == [("p1", str(one.id)), ("p2", str(one.id))]
    assert desk.allocator.lent == ["sandbox-0"]


def test_a_follow_up_after_the_return_borrows_anew_and_both_loans_are_known(desk: Desk) -> None:
    """Trap A1: each loan is a row of its own."""
    it = desk.begin("p1")
    give_back(desk, it)
    assert desk.state(it) == "needs_review_ip_returned"
    desk.engine.fire(it, "prompt", actor=ANN, data={"prompt_id": "p2"})
    desk.advance(seconds=10)
    assert [one.state for one in desk.loans(it)] == ["returned", "held"]
    assert desk.data(it)["loan_id"] == str(desk.loans(it)[1].id)
    assert len(desk.allocator.free) + len(desk.allocator.borrowed) == 3


def test_a_follow_up_does_not_run_the_old_prompts_again(desk: Desk) -> None:
    """Trap A11: one prompt, one run."""
    it = desk.begin("p1")
    for prompt in ("p2", "p3"):
        desk.engine.fire(it, "prompt", actor=ANN, data={"prompt_id": prompt})
        desk.advance(seconds=10)
    assert [prompt for prompt, _ in desk.ran] == ["p1", "p2", "p3"]


# -- the archive


@pytest.mark.parametrize("state", PLACES)
def test_it_is_archived_from_every_state_and_comes_back_to_where_it_was(play: Play, state: str) -> None:
    it = SESSION.at(play, state)
    play.fire(it, "archive", ANN, reason="done with it")
    play.wait(days=30)
    assert (play.state(it), play.claims(it)) == ("archived", [])
    play.fire(it, "unarchive", ANN)
    assert play.state(it) == state
    if state in {"pending", "in_progress"}:
        assert play.take(it).instance.state == state
    else:
        assert play.claims(it) == []


def test_archived_twice_it_still_knows_where_it_was(play: Play) -> None:
    it = SESSION.at(play, "needs_review")
    for _ in range(2):
        play.fire(it, "archive", ANN)
        with pytest.raises(Refused):
            play.fire(it, "archive", ANN)
        play.fire(it, "unarchive", ANN)
        assert play.state(it) == "needs_review"


def test_who_works_when_it_is_archived_is_fenced_off(play: Play) -> None:
    it = SESSION.at(play, "in_progress")
    claim = play.held(it)
    assert claim is not None
    play.fire(it, "archive", ANN)
    assert play.finish(claim, Go("needs_review", data={"result": "done"})) is False
    assert (play.state(it), play.data(it)["result"]) == ("archived", None)


@pytest.mark.parametrize("state", ["needs_review", "in_progress"])
def test_a_sandbox_that_comes_back_does_not_unarchive(desk: Desk, state: str) -> None:
    """Trap A14: the loan has a life of its own."""
    it = desk.begin()
    if state == "in_progress":
        desk.engine.fire(it, "prompt", actor=ANN, data={"prompt_id": "p2"})
        (claim,) = desk.claim()
        make_task(claim, EnginePort(desk.engine, claim)).move("in_progress")
    desk.engine.fire(it, "archive", actor=ANN)
    give_back(desk, it)
    assert [one.state for one in desk.loans(it)] == ["returned"]
    assert desk.state(it) == "archived"
    for actor in (CLOCK, HAND):
        for event in ("return_ip", "unarchive", "prompt"):
            with pytest.raises(Refused):
                desk.engine.fire(it, event, actor=actor)
    desk.engine.fire(it, "unarchive", actor=ANN)
    assert desk.state(it) == state


# -- moves by hand


@pytest.mark.parametrize("state", PLACES)
def test_moves_by_hand_go_along_the_table_with_actor_and_reason(play: Play, state: str) -> None:
    """Trap A15: a status is not simply set."""
    it = SESSION.at(play, state)
    declared = {edge.to for edge in SESSION.machine.edges_from(state)}
    before = play.get(it)
    for to in set(SESSION.machine.states) - declared:
        with pytest.raises(Forbidden, match="only an owner may force"):
            play.engine.force(it, to, actor=ANN, reason="I want to")
        with pytest.raises(InvalidData, match="needs a reason"):
            play.engine.force(it, to, actor=BOSS, reason=" ")
    assert play.get(it) == before
    play.fire(it, "archive", ANN, reason="stuck for days")
    last = play.rows(it)[-1]
    assert (last.kind, last.actor, last.payload["reason"]) == ("moved", "user:ann", "stuck for days")
    play.engine.force(it, "pending", actor=BOSS, reason="start over")
    last = play.rows(it)[-1]
    assert (last.kind, last.actor, last.from_state, last.to_state) == ("forced", "owner:boss", "archived", "pending")


def test_a_new_prompt_brings_it_back_after_the_return_too(play: Play) -> None:
    """Trap A15: the table has this transition, and so have the diagram and the engine."""
    it = SESSION.at(play, "needs_review_ip_returned")
    play.fire(it, "prompt", ANN, data={"prompt_id": "p2"})
    assert (play.state(it), play.data(it)["prompt_id"]) == ("pending", "p2")
    assert play.take(it).instance.state == "pending"
