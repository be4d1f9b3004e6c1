"""What is not declared is refused, to everybody, and the refusal says what is allowed."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from interlock.engine import Refused
from interlock.machine import AGENT, FINAL, OWNER, SYSTEM, USER, WORKER, Actor, By, Go, Kind, Machine
from tests.apps.machines.recipes import RECIPES
from tests.apps.machines.scripted_trial import ANN, BOSS, CLOCK, HAND, ROBOT, ScriptedTrial

pytestmark = pytest.mark.soak("postgresql")
"""What a machine declares is the same on both databases; the engine's own rules run on both in `make test`."""

PLACES = [(name, state) for name, recipes in RECIPES.items() for state in recipes.machine.states]
ACTORS: dict[By, Actor] = {SYSTEM: CLOCK, WORKER: HAND, USER: ANN, OWNER: BOSS, AGENT: ROBOT}


def events(machine: Machine) -> list[str]:
    return sorted({e.on for e in machine.edges} | {a.on for a in machine.arms} | {"no_such_event"})


def named(machine: Machine, state: str, *, guarded: bool) -> set[tuple[str, By]]:
    """Event and kind of actor that the machine's tables name for this state; an owner may what a user may."""
    resting = machine.states[state].kind is FINAL
    rows = [(e.on, e.by & {USER, OWNER} if resting else e.by, e.guard) for e in machine.edges if e.source == state]
    rows += [(a.on, a.by, a.guard) for a in machine.arms if a.state == state]
    return {
        (on, kind)
        for on, by, guard in rows
        for kind in ACTORS
        if (kind in by or (kind is OWNER and USER in by)) and (guarded or guard is None)
    }


def allowed(refusal: Refused) -> set[tuple[str, By]]:
    """What the refusal says would be accepted, and from whom."""
    permitted = {(entry.event, By(who)) for entry in refusal.allowed for who in entry.by}
    return permitted | {(event, OWNER) for event, who in permitted if who is USER}


@pytest.mark.parametrize(("name", "state"), PLACES)
def test_an_event_is_accepted_or_refused_as_declared_and_the_refusal_says_what_is_allowed(
    trial: ScriptedTrial, name: str, state: str
) -> None:
    recipes = RECIPES[name]
    it = recipes.at(trial, state)
    before = trial.get(it)
    with pytest.raises(Refused) as first:
        trial.fire(it, "no_such_event", CLOCK)
    permitted = allowed(first.value)
    assert permitted <= named(recipes.machine, state, guarded=True)
    if not any(arm.state == state for arm in recipes.machine.arms):  # work under way is not started once more
        assert permitted >= named(recipes.machine, state, guarded=False)

    for event in events(recipes.machine):
        for kind, actor in ACTORS.items():
            if (event, kind) in permitted:
                trial.fire(recipes.at(trial, state), event, actor)
                continue
            with pytest.raises(Refused) as refused:
                trial.fire(it, event, actor)
            assert allowed(refused.value) == permitted, f"{event} by {kind}"
            assert trial.get(it) == before, f"{event} by {kind} was refused and changed something"


def nonsense() -> Iterator[tuple[str, str, str]]:
    """Moves that no worker may end its work with: machine, from, to."""
    for name, recipes in RECIPES.items():
        machine = recipes.machine
        armed = {arm.state for arm in machine.arms}
        for state in machine.states.values():
            works = state.kind is Kind.WORK and machine.pick_up(state.name) is None
            if not works and not (state.name in armed and state.kind is Kind.WAITING):
                continue
            for to in (*machine.states, "nowhere"):
                edge = machine.edge(state.name, to)
                if edge is None or not edge.by & {WORKER, SYSTEM} or to == machine.failures.state:
                    yield name, state.name, to


@pytest.mark.parametrize(("name", "state", "to"), list(nonsense()))
def test_a_worker_cannot_end_its_work_with_a_move_that_is_not_for_it(
    trial: ScriptedTrial, name: str, state: str, to: str
) -> None:
    recipes = RECIPES[name]
    it = recipes.at(trial, state)
    if recipes.machine.runs_when_armed(state):
        trial.fire(it, "approve", ANN)
    before = trial.get(it)
    assert trial.work(it, Go(to, data={"board": "changed"} if "board" in before.data else None))

    last_error = trial.get(it).error
    assert last_error is not None
    assert last_error["type"] == "InvalidOutcome"
    ways = dict.fromkeys(e.to for e in recipes.machine.edges_from(state))
    where_to_go = ("is not for workers", "is the state for failures; raise the error", f"lead: {', '.join(ways)}")
    assert any(words in last_error["message"] for words in where_to_go), last_error["message"]
    # It counts as a failure of the step, and by the rules for failures alone it goes on.
    entered = [row for row in trial.rows(it, after=before.seq) if row.to_state == to and row.from_state == state]
    assert all(row.payload["error"]["type"] == "InvalidOutcome" for row in entered)
    assert trial.data(it).get("board") == before.data.get("board")


@pytest.mark.parametrize(("name", "state"), [(n, s) for n, s in PLACES if n not in {"job", "run"}])
def test_a_worker_that_no_longer_holds_it_changes_nothing_in_any_state(
    trial: ScriptedTrial, name: str, state: str
) -> None:
    recipes = RECIPES[name]
    machine = recipes.machine
    it = recipes.at(trial, machine.initial)
    late = trial.take(it)
    trial.engine.give_back([late])
    # The engine's own override, to bring the very instance that the worker knew into each state.
    trial.engine.force(it, state, actor=BOSS, reason="the test wants it there")
    before = trial.get(it)
    for to in machine.states:
        assert trial.finish(late, Go(to)) is False
    assert trial.get(it) == before
