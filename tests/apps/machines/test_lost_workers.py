"""Lost workers: a crash costs no attempt, and three of them in one step are poison, in every machine that works."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

import pytest

from interlock.machine import Go, Outcome
from interlock.worker import Task
from tests.apps.machines.recipes import RECIPES, Outage, starts
from tests.apps.machines.scripted_trial import ANN, ScriptedTrial

pytestmark = pytest.mark.soak("postgresql")

EXHAUSTED = {"withdraw_reason": "retries_exhausted"}
TOO_OFTEN = {"reject_reason": "retries_exhausted"}

ENDS: dict[tuple[str, str], tuple[str, Mapping[str, str | None]]] = {
    ("company", "PROCESSING"): ("FAILED", {}),
    ("source", "PROCESSING"): ("FAILED", {}),
    ("listing", "PROCESSING"): ("FAILED", {}),
    ("application", "preparing"): ("withdrawn", EXHAUSTED),
    ("application", "ready_to_submit"): ("withdrawn", EXHAUSTED),
    ("application", "requires_review"): ("withdrawn", EXHAUSTED),
    **{
        ("planned_application", state): ("withdrawn", EXHAUSTED)
        for state in ("validating", "preparing", "ready_to_submit", "requires_review")
    },
    ("planned_application", "scheduled"): ("scheduled", {}),
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


def at_work(trial: ScriptedTrial, name: str, state: str) -> UUID:
    it = RECIPES[name].at(trial, state)
    if RECIPES[name].machine.runs_when_armed(state):
        trial.fire(it, "approve", ANN)
    return it


def lose_again(trial: ScriptedTrial, it: UUID, state: str) -> None:
    """Another worker is lost in this state; what went back to an earlier one comes here again first."""
    if trial.state(it) != state:
        starts(trial, it)
    trial.lose_worker(it)


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
def test_two_lost_workers_cost_no_attempt(trial: ScriptedTrial, name: str, state: str) -> None:
    it = at_work(trial, name, state)
    for _ in range(2):
        lose_again(trial, it, state)
    assert trial.letters(it) == []
    if trial.state(it) != state:
        starts(trial, it)
    attempts: list[int] = []

    def attempted(task: Task[Any]) -> Outcome:
        attempts.append(task.attempt)
        raise Outage

    trial.work(it, attempted)
    assert attempts == [1]
    assert [r.payload["failure"] for r in trial.rows(it) if "failure" in r.payload] == [1]


@each_step
def test_three_lost_workers_in_one_step_are_poison(trial: ScriptedTrial, name: str, state: str) -> None:
    it = at_work(trial, name, state)
    for _ in range(3):
        lose_again(trial, it, state)
    end, data = ENDS[name, state]
    assert trial.state(it) == end
    assert data.items() <= trial.data(it).items()
    (letter,) = trial.letters(it)
    assert (letter.state, letter.error_type) == (state, "WorkerLost")
    trial.wait(days=30)
    assert (trial.state(it), trial.claims(it)) == (end, [])


@each_step
def test_a_worker_that_was_only_slow_is_fenced_off(trial: ScriptedTrial, name: str, state: str) -> None:
    it = at_work(trial, name, state)
    slow = trial.held(it) or trial.take(it)
    trial.lose_worker(it)
    before = trial.get(it)
    for to in RECIPES[name].machine.states:
        assert trial.finish(slow, Go(to)) is False
    assert trial.get(it) == before
