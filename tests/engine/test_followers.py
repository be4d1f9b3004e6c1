"""What else happens when an instance enters a state: in the same transaction, by whatever door, or not at all."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from uuid import UUID

import pytest

from interlock.engine import Instance, InvalidData, Refused, Result, firing
from interlock.engine.unit import Unit
from interlock.machine import (
    FINAL,
    OWNER,
    SYSTEM,
    USER,
    WAITING,
    WORKER,
    Actor,
    Edge,
    Go,
    Machine,
    Outcome,
    Review,
    State,
    Transition,
)
from interlock.store import Store
from interlock.testing import Trial
from interlock.worker import Task

ANN, BOSS = Actor(USER, "ann"), Actor(OWNER, "boss")


def machines() -> list[Machine]:
    """A light and the lamp it belongs to: the lamp follows its light."""
    lamp = Machine(
        "lamp",
        initial="dark",
        states=[State("dark", WAITING, waits_for="its light"), State("bright", FINAL)],
        transitions=[Transition("dark", "bright", on="shine", by=(USER, SYSTEM, WORKER))],
    )
    light = Machine(
        "light",
        initial="off",
        states=[
            State("off", WAITING, waits_for="a person", review=Review("Light?", decisions={"yes": "switch"})),
            State("working"),
            State("on", FINAL),
            State("broken", FINAL),
        ],
        transitions=[
            Transition("off", "on", on="switch", by=USER, merges=("notes",)),
            Transition("off", "broken", on="smash", by=USER),
            Transition("off", "working", on="try", by=USER),
            Transition("working", "on", on="worked"),
        ],
    )

    @light.work("working")
    def work(task: Task[Any]) -> Outcome:
        return Go("on")

    @light.entering("on")
    def lamp_follows(unit: Unit, instance: Instance, edge: Edge, actor: Actor) -> None:
        lamp_id = instance.data.get("lamp")
        if lamp_id:
            unit.lock(UUID(lamp_id))
            firing.fire(unit, UUID(lamp_id), "shine", actor, reason=edge.on)
        if instance.data.get("refuse"):
            raise Refused("not this one")

    @light.entering("broken")
    def never(unit: Unit, instance: Instance, edge: Edge, actor: Actor) -> None:
        raise Refused("a light is not broken here")

    return [lamp, light]


@pytest.fixture
def trial(store: Store) -> Iterator[Trial]:
    with Trial(machines(), store=store) as made:
        yield made


def pair(trial: Trial, **data: Any) -> tuple[Any, Any]:
    lamp = trial.create("lamp")
    return lamp, trial.create("light", {"lamp": str(lamp), **data})


def test_an_event_a_review_an_override_and_a_worker_all_take_the_other_along(trial: Trial) -> None:
    by_event, one = pair(trial)
    trial.engine.fire(one, "switch", actor=ANN)
    by_review, two = pair(trial)
    (question,) = trial.engine.reviews.waiting(instance_id=two)
    trial.engine.reviews.decide(question.id, "yes", actor=ANN)
    by_force, three = pair(trial)
    trial.engine.force(three, "on", actor=BOSS, reason="it is on")
    by_worker, four = pair(trial)
    trial.engine.fire(four, "try", actor=ANN)
    trial.run_until_idle()
    assert [trial.state(i) for i in (by_event, by_review, by_force, by_worker)] == ["bright"] * 4
    assert trial.engine.verify().problems == ()


def test_an_outcome_that_a_follower_refuses_is_undone_whole_and_the_other_with_it(trial: Trial) -> None:
    lamp, light = pair(trial, refuse=True)
    beside_lamp, beside = pair(trial)
    for one in (light, beside):
        trial.engine.fire(one, "try", actor=ANN)
    trial.run_until_idle()
    assert (trial.state(lamp), trial.state(light)) == ("dark", "working")
    assert [row.kind for row in trial.engine.history(lamp)] == ["created"]
    assert (trial.state(beside_lamp), trial.state(beside)) == ("bright", "on")
    assert trial.engine.verify().problems == ()


def test_followers_of_a_batch_act_once_though_one_of_it_was_taken_away(trial: Trial) -> None:
    """The results are written without reading their rows: the update finds that one has changed, and all is undone."""
    lamps, lights = zip(*(pair(trial) for _ in range(3)), strict=True)
    for light in lights:
        trial.engine.fire(light, "try", actor=ANN)
    claims = trial.claim(3)
    trial.engine.pause(lights[1], actor=ANN)
    done = trial.engine.finish([Result(claim, Go("on")) for claim in claims])
    assert {claim.id: good for claim, good in zip(claims, done, strict=True)} == dict(
        zip(lights, (True, False, True), strict=True)
    )
    assert [trial.state(lamp) for lamp in lamps] == ["bright", "dark", "bright"]
    assert [len(trial.engine.history(lamp)) for lamp in lamps] == [2, 1, 2]
    assert trial.engine.verify().problems == ()


def test_what_a_follower_raises_refuses_the_move(trial: Trial) -> None:
    _, light = pair(trial)
    before = trial.get(light)
    with pytest.raises(Refused, match="not broken here"):
        trial.engine.fire(light, "smash", actor=ANN)
    assert trial.get(light) == before


def test_an_instance_that_is_created_in_a_state_enters_it(store: Store) -> None:
    seen: list[tuple[str, str]] = []
    lamp, _ = machines()

    @lamp.entering("dark")
    def note(unit: Unit, instance: Instance, edge: Edge, actor: Actor) -> None:
        seen.append((edge.source, edge.on))

    with Trial([lamp], store=store) as trial:
        trial.create("lamp")
    assert seen == [("", "created")]


def test_an_unknown_state_cannot_be_followed() -> None:
    lamp, _ = machines()
    with pytest.raises(ValueError, match="has no state 'green'; it has dark, bright"):
        lamp.entering("green")


def test_what_a_transition_merges_is_added_and_replayed(trial: Trial) -> None:
    _, light = pair(trial, notes={"a": {"x": 1}})
    trial.engine.fire(light, "switch", actor=ANN, data={"notes": {"a": {"y": 2}, "b": 3}})
    assert trial.data(light)["notes"] == {"a": {"x": 1, "y": 2}, "b": 3}
    assert trial.engine.history(light)[-1].payload["merge"] == {"notes": {"a": {"y": 2}, "b": 3}}
    assert trial.engine.verify(light).problems == ()


def test_what_would_take_fields_away_is_refused(trial: Trial) -> None:
    _, light = pair(trial, notes={"a": {"x": 1}})
    with pytest.raises(InvalidData, match=r"notes\.a is an object already"):
        trial.engine.fire(light, "switch", actor=ANN, data={"notes": {"a": 1}})
    assert trial.data(light)["notes"] == {"a": {"x": 1}}


def test_what_comes_afterwards_comes_after_the_commit_and_not_after_a_refusal(trial: Trial) -> None:
    done: list[str] = []

    def write(unit: Unit) -> None:
        unit.after_commit.append(lambda: done.append("notified"))
        assert done == []

    trial.engine.write(write)
    assert done == ["notified"]

    def refuse(unit: Unit) -> None:
        unit.after_commit.append(lambda: done.append("never"))
        raise Refused("no")

    with pytest.raises(Refused):
        trial.engine.write(refuse)
    assert done == ["notified"]
