"""The flag: a person or the system stops any instance that is not at rest, and it goes on exactly where it was."""

from __future__ import annotations

from datetime import timedelta

import pytest

from interlock.engine import Instance, Refused
from interlock.machine import Go, Kind
from tests.apps.machines.play import ANN, CLOCK, Play
from tests.apps.machines.recipes import CONTRACT, LOAN, RECIPES, Outage

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
def test_what_is_paused_in_any_state_is_left_alone_and_goes_on_where_it_was(play: Play, name: str, state: str) -> None:
    it = RECIPES[name].at(play, state)
    before = plan(play.get(it), play.clock.now())
    begun = play.clock.now()
    play.engine.pause(it, actor=ANN, reason="let me look at it")
    assert play.engine.explain(it).waits_for == "person"
    play.wait(days=3)
    assert play.claims(it) == []
    assert (play.state(it), play.get(it).paused_at) == (state, begun)
    play.engine.resume(it, actor=ANN)
    after = play.get(it)
    assert plan(after, begun) == before
    assert after.paused_at is None
    assert [row.kind for row in play.rows(it)][-2:] == ["paused", "resumed"]


@pytest.mark.parametrize(("name", "state"), [place for place in PLACES if at_rest(*place)])
def test_what_rests_has_nothing_to_pause(play: Play, name: str, state: str) -> None:
    it = RECIPES[name].at(play, state)
    before = play.get(it)
    with pytest.raises(Refused, match=f"rests in '{state}', so there is nothing to pause"):
        play.engine.pause(it, actor=ANN)
    assert play.get(it) == before


@pytest.mark.parametrize(("name", "state"), [place for place in PLACES if not at_rest(*place)])
def test_a_pause_with_an_end_ends_by_itself(play: Play, name: str, state: str) -> None:
    it = RECIPES[name].at(play, state)
    play.engine.pause(it, actor=CLOCK, resume_at=play.clock.time + timedelta(days=3))
    explained = play.engine.explain(it)
    assert (explained.waits_for, explained.by_itself[0].at) == ("time", play.clock.time + timedelta(days=3))
    play.wait(timedelta(days=3) - timedelta(microseconds=1))
    assert play.get(it).paused_at is not None
    play.clock.advance(timedelta(microseconds=1))
    play.engine.tick()
    assert play.get(it).paused_at is None


@pytest.mark.parametrize("name", [name for name in RECIPES if name not in {"job", "run"}])
def test_who_works_on_it_when_it_is_paused_is_fenced_off(play: Play, name: str) -> None:
    it = RECIPES[name].at(play, RECIPES[name].machine.initial)
    claim = play.take(it)
    play.engine.pause(it, actor=ANN)
    before = play.get(it)
    for to in RECIPES[name].machine.states:
        assert play.finish(claim, Go(to)) is False
    assert play.get(it) == before


def test_a_timer_that_came_due_during_the_pause_fires_when_it_ends(play: Play) -> None:
    it = CONTRACT.at(play, "review_required")
    play.engine.pause(it, actor=ANN)
    play.wait(hours=30)
    assert play.state(it) == "review_required"
    play.engine.resume(it, actor=ANN)
    play.wait(seconds=0)
    assert play.state(it) == "timed_out"


def test_events_count_during_a_pause_and_their_work_begins_after_it(play: Play) -> None:
    it = CONTRACT.at(play, "review_required")
    play.engine.pause(it, actor=ANN)
    play.fire(it, "approve", ANN)
    assert play.state(it) == "validated"
    assert play.claims(it) == []
    play.engine.resume(it, actor=ANN)
    assert play.take(it).instance.state == "comparing"


def test_a_retry_that_came_due_during_the_pause_comes_after_it(play: Play) -> None:
    it = CONTRACT.at(play, "extracting")
    play.work(it, Outage())
    play.engine.pause(it, actor=ANN)
    play.wait(hours=1)
    assert play.state(it) == "failed"
    play.engine.resume(it, actor=ANN)
    play.wait(seconds=0)
    assert play.state(it) == "extracting"


def test_what_ends_during_a_pause_is_not_paused_any_more(play: Play) -> None:
    it = LOAN.at(play, "borrowing")
    play.engine.pause(it, actor=ANN)
    play.fire(it, "lend_nothing", CLOCK)
    assert (play.state(it), play.get(it).paused_at) == ("returned", None)


def test_a_dead_letter_that_is_retried_during_a_pause_waits_for_its_end(play: Play) -> None:
    it = RECIPES["session"].at(play, "pending")
    for _ in range(5):
        play.work(it, Outage())
        play.wait(minutes=2)
    (letter,) = play.letters(it)
    play.engine.pause(it, actor=ANN)
    play.engine.dead_letters.retry(letter.id, actor=ANN)
    assert play.claims(it) == []
    play.engine.resume(it, actor=ANN)
    assert play.take(it).instance.state == "pending"
