"""Every declared transition is taken by each of those it is for; what is not declared is refused to everybody."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from interlock.machine import By
from tests.apps.machines.recipes import RECIPES, From, Step
from tests.apps.machines.scripted_trial import ScriptedTrial

pytestmark = pytest.mark.soak("postgresql")
"""What a machine declares is the same on both databases; the engine's own rules run on both in `make test`."""


@dataclass(frozen=True)
class Way:
    machine: str
    source: str
    to: str
    by: By
    take: Step | From

    def __str__(self) -> str:
        return f"{self.machine}: {self.source} to {self.to} by {self.by.value}"


WAYS = [
    Way(name, source, to, by, take)
    for name, recipes in RECIPES.items()
    for (source, to), who in recipes.takes.items()
    for by, take in who.items()
]


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_a_transition_is_taken_by_whom_it_is_for(trial: ScriptedTrial, way: Way) -> None:
    start, take = (way.take.state, way.take.step) if isinstance(way.take, From) else (way.source, way.take)
    it = RECIPES[way.machine].at(trial, start)
    seq = trial.get(it).seq
    take(trial, it)
    assert (way.source, way.to, way.by.value) in trial.moves(it, after=seq)
    assert trial.engine.verify(it).problems == ()


@pytest.mark.parametrize("name", RECIPES)
def test_the_recipes_cover_exactly_the_declared_transitions(name: str) -> None:
    declared = {(edge.source, edge.to, by) for edge in RECIPES[name].machine.edges for by in edge.by}
    assert {(way.source, way.to, way.by) for way in WAYS if way.machine == name} == declared


@pytest.mark.parametrize("name", RECIPES)
def test_the_recipes_reach_every_state(name: str) -> None:
    machine, reach = RECIPES[name].machine, RECIPES[name].reach
    assert {machine.initial, *reach} == set(machine.states)
