"""The flag: a person or the system stops any instance that is not at rest, and it goes on exactly where it was."""

from __future__ import annotations

from datetime import timedelta

import pytest

from interlock.engine import Instance, Refused
from interlock.machine import Go, Kind
from tests.apps.machines.recipes import CONTRACT, LOAN, RECIPES, Outage
from tests.apps.machines.scripted_trial import ANN, CLOCK, ScriptedTrial

pytestmark = pytest.mark.soak("postgresql")
"""What a machine declares is the same on both databases; the engine's own rules run on both in `make test`."""

PLACES = [(name, state) for name, recipes in RECIPES.items() for state in recipes.machine.states]


def at_rest(name: str, state: str) -> bool:
    """As the recipes leave it: a final state, or a loan that is stuck. What failed otherwise waits for its retry."""
    return RECIPES[name].machine.states[state].kind is Kind.FINAL or state == "stuck"


def plan(instance: Instance, now: int) -> tuple[object, ...]:
    """What happens to it next, by itself; what a worker held is simply ready again, now."""
    held = instance.wake in {"lease", "work"}
    return (
        instance.state,
        instance.previous,
        instance.data,
        instance.failures,
        instance.failed_step,
        instance.entered_at,
        "work" if held else instance.wake,
        now if held else instance.due_at,
        instance.due_event,
        instance.timer_at,
        instance.timer_no,
    )


@pytest.mark.parametrize(("name", "state"), [place for place in PLACES if not at_rest(*place)])
def test_what_is_paused_in_any_state_is_left_alone_and_goes_on_where_it_was(
    trial: ScriptedTrial, name: str, state: str
) -> None:
    it = RECIPES[name].at(trial, state)
    before = plan(trial.get(it), trial.clock.now())
    begun = trial.clock.now()
    trial.engine.pause(it, actor=ANN, reason="let me look at it")
    assert trial.engine.explain(it).waits_for == "person"
    trial.wait(days=3)
    assert trial.claims(it) == []
    assert (trial.state(it), trial.get(it).paused_at) == (state, begun)
    trial.engine.resume(it, actor=ANN)
    after = trial.get(it)
    assert plan(after, begun) == before
    assert after.paused_at is None
    assert [row.kind for row in trial.rows(it)][-2:] == ["paused", "resumed"]


@pytest.mark.parametrize(("name", "state"), [place for place in PLACES if at_rest(*place)])
def test_what_rests_has_nothing_to_pause(trial: ScriptedTrial, name: str, state: str) -> None:
    it = RECIPES[name].at(trial, state)
    before = trial.get(it)
    with pytest.raises(Refused, match=f"has ended in '{state}', so there is nothing to pause"):
        trial.engine.pause(it, actor=ANN)
    assert trial.get(it) == before


@pytest.mark.parametrize(("name", "state"), [place for place in PLACES if not at_rest(*place)])
def test_a_pause_with_an_end_ends_by_itself(trial: ScriptedTrial, name: str, state: str) -> None:
    it = RECIPES[name].at(trial, state)
    trial.engine.pause(it, actor=CLOCK, resume_at=trial.clock.time + timedelta(days=3))
    explained = trial.engine.explain(it)
    assert (explained.waits_for, explained.upcoming[0].at) == ("time", trial.clock.time + timedelta(days=3))
    trial.wait(timedelta(days=3) - timedelta(microseconds=1))
    assert trial.get(it).paused_at is not None
    trial.clock.advance(timedelta(microseconds=1))
    trial.engine.tick()
    assert trial.get(it).paused_at is None


@pytest.mark.parametrize("name", [name for name in RECIPES if name not in {"job", "run"}])
def test_who_works_on_it_when_it_is_paused_is_fenced_off(trial: ScriptedTrial, name: str) -> None:
    it = RECIPES[name].at(trial, RECIPES[name].machine.initial)
    claim = trial.take(it)
    trial.engine.pause(it, actor=ANN)
    before = trial.get(it)
    for to in RECIPES[name].machine.states:
        assert trial.finish(claim, Go(to)) is False
    assert trial.get(it) == before


def test_a_timer_that_came_due_during_the_pause_fires_when_it_ends(trial: ScriptedTrial) -> None:
    it = CONTRACT.at(trial, "review_required")
    trial.engine.pause(it, actor=ANN)
    trial.wait(hours=30)
    assert trial.state(it) == "review_required"
    trial.engine.resume(it, actor=ANN)
    trial.wait(seconds=0)
    assert trial.state(it) == "timed_out"


def test_events_count_during_a_pause_and_their_work_begins_after_it(trial: ScriptedTrial) -> None:
    it = CONTRACT.at(trial, "review_required")
    trial.engine.pause(it, actor=ANN)
    trial.fire(it, "approve", ANN)
    assert trial.state(it) == "validated"
    assert trial.claims(it) == []
    trial.engine.resume(it, actor=ANN)
    assert trial.take(it).instance.state == "comparing"


def test_a_retry_that_came_due_during_the_pause_comes_after_it(trial: ScriptedTrial) -> None:
    it = CONTRACT.at(trial, "extracting")
    trial.work(it, Outage())
    trial.engine.pause(it, actor=ANN)
    trial.wait(hours=1)
    assert trial.state(it) == "failed"
    trial.engine.resume(it, actor=ANN)
    trial.wait(seconds=0)
    assert trial.state(it) == "extracting"


def test_what_ends_during_a_pause_is_not_paused_any_more(trial: ScriptedTrial) -> None:
    it = LOAN.at(trial, "borrowing")
    trial.engine.pause(it, actor=ANN)
    trial.fire(it, "lend_nothing", CLOCK)
    assert (trial.state(it), trial.get(it).paused_at) == ("returned", None)


def test_a_dead_letter_that_is_retried_during_a_pause_waits_for_its_end(trial: ScriptedTrial) -> None:
    it = RECIPES["session"].at(trial, "pending")
    for _ in range(5):
        trial.work(it, Outage())
        trial.wait(minutes=2)
    (letter,) = trial.letters(it)
    trial.engine.pause(it, actor=ANN)
    trial.engine.dead_letters.retry(letter.id, actor=ANN)
    assert trial.claims(it) == []
    trial.engine.resume(it, actor=ANN)
    assert trial.take(it).instance.state == "pending"
