"""Lost workers: a crash costs no attempt, and three of them in one step are poison, in every machine that works."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

import pytest

from interlock.machine import Go, Outcome
from interlock.worker import Task
from tests.apps.machines.play import ANN, Play
from tests.apps.machines.recipes import RECIPES, Outage, starts

EXHAUSTED = {"withdraw_reason": "retries_exhausted"}
TOO_OFTEN = {"reject_reason": "retries_exhausted"}

ENDS: dict[tuple[str, str], tuple[str, Mapping[str, str | None]]] = {
    ("company", "PROCESSING"): ("FAILED", {}),
    ("source", "PROCESSING"): ("FAILED", {}),
    ("listing", "PROCESSING"): ("FAILED", {}),
    ("application", "preparing"): ("withdrawn", EXHAUSTED),
    ("application", "ready_to_submit"): ("withdrawn", EXHAUSTED),
    ("application", "requires_review"): ("withdrawn", EXHAUSTED),
    ("session", "pending"): ("pending", {"result": None}),
    ("session", "in_progress"): ("needs_review", {"result": "failed"}),
    ("loan", "borrowing"): ("stuck", {}),
    ("loan", "returning"): ("stuck", {}),
    ("contract", "parsing_pdf"): ("rejected", TOO_OFTEN),
    ("contract", "extracting"): ("rejected", TOO_OFTEN),
    ("contract", "validating"): ("rejected", TOO_OFTEN),
    ("contract", "comparing"): ("rejected", TOO_OFTEN),
}
"""Where work is done, and where three lost workers leave it."""

each_step = pytest.mark.parametrize(("name", "state"), ENDS)


def at_work(play: Play, name: str, state: str) -> UUID:
    it = RECIPES[name].at(play, state)
    if RECIPES[name].machine.runs_when_armed(state):
        play.fire(it, "approve", ANN)
    return it


def lose_again(play: Play, it: UUID, state: str) -> None:
    """Another worker is lost in this state; what went back to an earlier one comes here again first."""
    if play.state(it) != state:
        starts(play, it)
    play.lose_worker(it)


def test_these_are_all_the_steps_that_a_worker_does() -> None:
    places = {
        (name, state)
        for name, recipes in RECIPES.items()
        for state in recipes.machine.states
        if (recipes.machine.starts_work(state) and recipes.machine.pick_up(state) is None)
        or recipes.machine.runs_when_armed(state)
    }
    assert set(ENDS) == places


@each_step
def test_two_lost_workers_cost_no_attempt(play: Play, name: str, state: str) -> None:
    it = at_work(play, name, state)
    for _ in range(2):
        lose_again(play, it, state)
    assert play.letters(it) == []
    if play.state(it) != state:
        starts(play, it)
    attempts: list[int] = []

    def attempted(task: Task[Any]) -> Outcome:
        attempts.append(task.attempt)
        raise Outage

    play.work(it, attempted)
    assert attempts == [1]
    assert [r.payload["failure"] for r in play.rows(it) if "failure" in r.payload] == [1]


@each_step
def test_three_lost_workers_in_one_step_are_poison(play: Play, name: str, state: str) -> None:
    it = at_work(play, name, state)
    for _ in range(3):
        lose_again(play, it, state)
    end, data = ENDS[name, state]
    assert play.state(it) == end
    assert data.items() <= play.data(it).items()
    (letter,) = play.letters(it)
    assert (letter.state, letter.error_type) == (state, "WorkerLost")
    play.wait(days=30)
    assert (play.state(it), play.claims(it)) == (end, [])


@each_step
def test_a_worker_that_was_only_slow_is_fenced_off(play: Play, name: str, state: str) -> None:
    it = at_work(play, name, state)
    slow = play.held(it) or play.take(it)
    play.lose_worker(it)
    before = play.get(it)
    for to in RECIPES[name].machine.states:
        assert play.finish(slow, Go(to)) is False
    assert play.get(it) == before
