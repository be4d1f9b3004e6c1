"""A machine's handlers, its lookups, its version, and which versions can serve which instances."""

from __future__ import annotations

import json
from datetime import timedelta
from enum import StrEnum
from typing import Any

import pytest
from pydantic import BaseModel

from interlock.machine import (
    AGENT,
    FINAL,
    OWNER,
    SYSTEM,
    USER,
    WAITING,
    WORKER,
    Actor,
    Arm,
    Concurrent,
    Facts,
    Go,
    Machine,
    State,
    Transition,
    Window,
    Work,
    came_from,
    compatible,
    failed_at,
)

HOUR = timedelta(hours=1)


class Order(BaseModel):
    """The data of the machine under test."""

    stage: str = "A"
    user_id: str = ""


def declare(**changes: Any) -> Machine:
    declaration: dict[str, Any] = {
        "initial": "new",
        "states": [State("new"), State("busy"), State("asked", WAITING, waits_for="an answer"), State("done", FINAL)],
        "transitions": [
            Transition("new", "busy", on="start", pick_up=True),
            Transition("busy", "asked", on="ask"),
            Transition("busy", "done", on="finish"),
            Transition("asked", "done", on="answer", by=USER),
        ],
        "arms": [Arm("asked", on="approve"), Arm("new", on="run")],
        "data": Order,
        "stage": "stage",
    }
    return Machine("order", **{**declaration, **changes})


def work(task: Any) -> Go:
    return Go("done")


def other_work(task: Any) -> Go:
    return Go("asked")


def test_work_registers_the_handler_of_a_state_and_gives_it_back() -> None:
    order = declare()
    assert order.work("busy", timeout=HOUR, memory_mb=64)(work) is work
    assert order.handler_for("busy", {}) == Work(work, HOUR, 64)
    assert order.handler_for("new", {}) is None


def test_a_handler_of_a_stage_goes_before_that_of_the_state() -> None:
    order = declare()
    order.work("busy")(work)
    order.work("busy", stage="B")(other_work)
    handlers = {stage: order.handler_for("busy", {"stage": stage}) for stage in ("A", "B")}
    assert {stage: found.handler for stage, found in handlers.items() if found} == {"A": work, "B": other_work}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"state": "gone"}, "machine 'order' has no state 'gone'; it has new, busy, asked, done"),
        ({"state": "busy"}, "state 'busy' of machine 'order' has a handler for stage None already"),
    ],
)
def test_work_refuses(arguments: dict[str, Any], message: str) -> None:
    order = declare()
    order.work("busy")(work)
    with pytest.raises(ValueError, match=message):
        order.work(**arguments)


def test_a_stage_needs_a_machine_with_stages() -> None:
    with pytest.raises(ValueError, match="machine 'order' has no stages; declare it with stage= to give 'A' a handler"):
        declare(stage=None).work("busy", stage="A")


def test_with_handlers_is_a_copy_with_these_handlers_only() -> None:
    order = declare()
    order.work("busy")(work)
    given = Work(other_work, HOUR, 32)
    twin = order.with_handlers({"asked": other_work, ("busy", "B"): given})
    assert twin.name == order.name
    assert twin.digest() == order.digest()
    assert twin.handlers == {("asked", None): Work(other_work, timedelta(minutes=15)), ("busy", "B"): given}
    assert order.handlers == {("busy", None): Work(work, timedelta(minutes=15))}


@pytest.mark.parametrize("handler", [work, Work(work, HOUR)])
def test_with_handlers_refuses_an_unknown_state(handler: Any) -> None:
    with pytest.raises(ValueError, match="machine 'order' has no state 'gone'"):
        declare().with_handlers({"gone": handler})


def test_a_step_is_the_state_and_its_stage() -> None:
    assert declare().step_of("busy", {"stage": "A"}) == "busy:A"
    assert declare().step_of("busy", {}) == "busy"
    assert declare(stage=None).step_of("busy", {"stage": "A"}) == "busy"


def test_lookups() -> None:
    order = declare(
        transitions=[
            Transition("new", "busy", on="start", pick_up=True),
            Transition("busy", "done", on="finish"),
            Transition("busy", "done", on="stop", by=USER),
            Transition("busy", "asked", on="ask"),
            Transition("asked", "done", on="answer", by=USER),
        ],
        limits=[Window("day", "{user_id}", 2, HOUR), Concurrent("two", "all", 2, ("busy",))],
    )
    pick_up, finish, stop, ask, _ = order.edges
    assert repr(order) == "Machine('order', 4 states, 5 transitions)"
    assert order.edges_from("busy") == (finish, stop, ask)
    assert order.edges_on("busy", "stop") == (stop,)
    assert order.edges_on("busy", "answer") == ()
    assert order.edge("busy", "done") is finish
    assert order.edge("done", "busy") is None
    assert order.pick_up("new") is pick_up
    assert order.pick_up("busy") is None
    assert order.arm("asked", "approve") is order.arms[0]
    assert order.arm("asked", "answer") is None
    assert [name for name in order.states if order.runs_when_armed(name)] == ["asked"]
    assert [name for name in order.states if order.starts_work(name)] == ["new", "busy"]
    assert [name for name in order.states if order.concurrent(name)] == ["busy"]
    assert order.window("day").key_for({"user_id": "ann"}) == "day/ann"
    with pytest.raises(ValueError, match="machine 'order' has no window limit 'two'; it has day"):
        order.window("two")


def test_title_and_queue_are_the_name_by_default() -> None:
    plain = Machine(
        "big_order",
        initial="new",
        states=[State("new"), State("done", FINAL)],
        transitions=[Transition("new", "done", on="finish")],
    )
    assert (plain.title, plain.queue) == ("big order", "big_order")
    machine = declare(title="An order", queue="slow")
    assert (machine.title, machine.queue) == ("An order", "slow")


def test_a_machine_without_windows_says_so() -> None:
    with pytest.raises(ValueError, match="machine 'order' has no window limit 'day'; it has none"):
        declare(limits=[Concurrent("two", "all", 2, ("busy",))]).window("day")


def test_the_spec_names_the_guards() -> None:
    rows = [
        Transition("new", "busy", on="start", pick_up=True),
        Transition("busy", "asked", on="ask"),
        Transition("asked", "done", on="answer", by=USER, guard=came_from("busy")),
    ]
    guarded = declare(transitions=rows, arms=[Arm("asked", on="approve", guard=failed_at("busy"))]).spec()
    assert [row["guard"] for row in guarded["transitions"]] == [None, None, "came_from(busy)"]
    assert [row["guard"] for row in guarded["arms"]] == ["failed_at(busy)"]


def test_the_size_of_a_window_is_a_number_or_a_field() -> None:
    assert Window("day", "all", 2, HOUR).size_for({}) == 2
    assert Window("day", "all", "limit", HOUR).size_for({"limit": 7}) == 7


def test_the_digest_follows_the_life_cycle() -> None:
    assert declare().digest() == declare().digest()
    assert (
        declare(
            initial="busy",
            states=[State("busy"), State("done", FINAL)],
            arms=[],
            transitions=[Transition("busy", "done", on="finish")],
        ).digest()
        != declare().digest()
    )
    assert json.loads(json.dumps(declare().spec())) == declare().spec()


def facts(**changes: Any) -> Facts:
    given: dict[str, Any] = {"state": "done", "previous": None, "failed_step": None, "data": {}, "actor": Actor(USER)}
    return Facts(**{**given, **changes})


def test_the_guard_for_the_step_that_failed() -> None:
    guard = failed_at("busy")
    assert guard.__name__ == "failed_at(busy)"
    assert guard(facts(failed_step="busy")) is True
    assert guard(facts(failed_step="busy:A")) is True
    assert guard(facts(failed_step="busybody")) is False
    assert guard(facts(failed_step=None)) is False


def test_the_guard_for_the_state_before() -> None:
    guard = came_from("busy")
    assert guard.__name__ == "came_from(busy)"
    assert guard(facts(previous="busy")) is True
    assert guard(facts(previous="new")) is False
    assert guard(facts(previous=None)) is False


def test_an_actor_may_what_is_for_its_kind() -> None:
    assert Actor(WORKER).may(frozenset({WORKER, SYSTEM}))
    assert not Actor(AGENT).may(frozenset({USER}))


def test_an_owner_may_what_a_user_may() -> None:
    assert Actor(OWNER).may(frozenset({USER}))
    assert not Actor(USER).may(frozenset({OWNER}))
    assert not Actor(OWNER).may(frozenset({WORKER, SYSTEM}))


def test_an_actor_is_written_and_read_back() -> None:
    written = {"user:ann": Actor(USER, "ann"), "system": Actor(SYSTEM), "worker:host:1": Actor(WORKER, "host:1")}
    for text, actor in written.items():
        assert str(actor) == text
        assert Actor.parse(text) == actor


class Colour(StrEnum):
    """A colour."""

    RED = "red"


class Size(StrEnum):
    """A size."""

    BIG = "big"


class Plain(BaseModel):
    """Fields of every shape."""

    count: int = 0
    maybe: int | None = None
    colour: Colour = Colour.RED
    many: list[int] = []


def spec(model: type[BaseModel] | None, **changes: Any) -> dict[str, Any]:
    return declare(data=model, stage=None, **changes).spec()


def test_a_machine_serves_its_own_instances() -> None:
    assert compatible(spec(Plain), spec(Plain)) == []
    assert compatible(spec(None), spec(None)) == []


def test_more_states_transitions_and_fields_are_no_problem() -> None:
    class More(Plain):
        note: str = ""

    states = [*declare().states.values(), State("shelved", WAITING, waits_for="space")]
    rows = [
        Transition("busy", "asked", on="ask"),
        Transition("busy", "shelved", on="shelve"),
        Transition("shelved", "done", on="drop", by=USER),
        Transition("new", "busy", on="start", pick_up=True),
        Transition("busy", "done", on="finish"),
        Transition("asked", "done", on="answer", by=USER),
    ]
    assert compatible(spec(Plain), spec(More, states=states, transitions=rows)) == []


def test_what_is_gone_is_a_problem() -> None:
    smaller = spec(
        Plain,
        states=[State("new"), State("busy", WAITING, waits_for="it"), State("done", FINAL)],
        transitions=[Transition("new", "busy", on="begin"), Transition("busy", "done", on="finish", by=USER)],
        arms=[],
    )
    assert compatible(spec(Plain), smaller) == [
        "state 'busy' was work and is waiting",
        "state 'asked' is gone",
        "transition 'new' → 'busy' on 'start' is gone",
        "transition 'busy' → 'asked' on 'ask' is gone",
        "transition 'asked' → 'done' on 'answer' is gone",
        "event 'approve', which starts the work of 'asked', is gone",
        "event 'run', which starts the work of 'new', is gone",
    ]


class Other(BaseModel):
    """The same fields with other types."""

    count: str = ""
    maybe: str | None = None
    colour: Size = Size.BIG
    many: list[str] = []


class Fewer(BaseModel):
    """One field of four."""

    count: int = 0


class Needy(Plain):
    """A field that instances of old do not have."""

    owner: str


def test_fields_with_other_types_are_a_problem() -> None:
    assert compatible(spec(Plain), spec(Other)) == [
        "field 'count' of the data has another type: it was integer and is string",
        "field 'maybe' of the data has another type: it was integer and is string or None",
        "field 'colour' of the data may not be 'red' any more",
        "field 'many[]' of the data has another type: it was integer and is string",
    ]


def test_fields_that_are_gone_are_a_problem() -> None:
    names = ["maybe", "colour", "many"]
    assert compatible(spec(Plain), spec(Fewer)) == [f"field {name!r} of the data is gone" for name in names]


def test_a_new_field_must_have_a_default() -> None:
    assert compatible(spec(Plain), spec(Needy)) == ["field 'owner' of the data is required now"]
    assert compatible(spec(Needy), spec(Needy)) == []


def test_a_data_model_that_is_gone_is_a_problem() -> None:
    assert compatible(spec(Plain), spec(None)) == ["the data model is gone"]


def test_a_data_model_where_there_was_none_is_a_problem() -> None:
    [problem] = compatible(spec(None), spec(Plain))
    assert problem == "the data had no model, so it cannot be known whether it fits the new model"
