"""Names that are joined to others never spell the same for two different things."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from interlock.machine import FINAL, Concurrent, Failures, Machine, MachineError, Rule, State, Transition, Window
from interlock.machine.limits import key_from

HOUR = timedelta(hours=1)


def declare(first: str = "a", event: str = "go", **options: Any) -> Machine:
    return Machine(
        "order",
        initial=first,
        states=[State(first), State("done", FINAL)],
        transitions=[Transition(first, "done", on=event)],
        **options,
    )


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"first": "a:b"}, "name: state 'a:b' has ':' or '|' in it; a step is spelled state:stage"),
        ({"first": "a|b"}, "name: state 'a|b' has ':' or '|' in it"),
        ({"first": ""}, "name: state '' needs a name of printable characters"),
        ({"first": "a\x00"}, r"name: state 'a\\x00' needs a name of printable characters"),
        ({"event": "*lost"}, "name: event '\\*lost' has '\\*' in it"),
        ({"limits": [Window("a/b", "all", 1, HOUR)]}, "name: limit 'a/b' has '/' in it; a limit's key is spelled"),
        ({"limits": [Concurrent("c", "{x}{y}", 1, ("a",))]}, "needs something between its fields"),
        ({"queue": "a@b"}, "name: queue 'a@b' has '@' or ',' in it"),
        ({"queue": "a,b"}, "name: queue 'a,b' has '@' or ',' in it"),
        ({"failures": Failures(rules=(Rule(("A|B",)),))}, r"names 'A\|B', which is not the name of an error class"),
        ({"failures": Failures(rules=(Rule(("crash",)),))}, "names 'crash', which is not the name of an error class"),
    ],
)
def test_a_name_that_would_be_read_as_two_is_refused(options: dict[str, Any], problem: str) -> None:
    with pytest.raises(MachineError, match=problem):
        declare(**options)


STAGES: list[Any] = [
    None,
    "x",
    "x:y",
    "x|y",
    "x%3Ay",
    "x%7Cy",
    "%",
    "%25",
    25,
    "25",
    0,
    "0",
    False,
    True,
    1,
    "1",
    1.5,
    [],
    ["x"],
    ["x:y"],
    ["x%3Ay"],
    "['x']",
    "%!25",
    {"x": 1},
    " ",
    "a b",
]


def test_stages_that_differ_have_steps_that_differ() -> None:
    machine = declare(stage="stage")
    steps = [machine.step_of("a", {"stage": stage}) for stage in STAGES]
    assert len(set(steps)) == len(STAGES)
    assert all(step.partition(":")[0] == "a" for step in steps)
    assert all(step.count(":") <= 1 and "|" not in step for step in steps)
    assert machine.step_of("a", {"stage": "FETCH_page"}) == "a:FETCH_page"
    assert machine.step_of("a", {"stage": ""}) == machine.step_of("a", {}) == "a"


@pytest.mark.parametrize(
    ("template", "one", "other"),
    [
        ("{a}:{b}", {"a": "x:y", "b": "z"}, {"a": "x", "b": "y:z"}),
        ("{a}/{b}", {"a": "x/y", "b": "z"}, {"a": "x", "b": "y/z"}),
        ("{a} and {b}", {"a": "x and y", "b": "z"}, {"a": "x", "b": "y and z"}),
        ("{a}:{b}", {"a": "x%3Ay", "b": "z"}, {"a": "x:y", "b": "z"}),
        ("{a}%{b}", {"a": "x%y", "b": "z"}, {"a": "x", "b": "y%z"}),
    ],
)
def test_keys_of_limits_that_differ_are_spelled_apart(
    template: str, one: dict[str, str], other: dict[str, str]
) -> None:
    assert key_from(template, one) != key_from(template, other)


def test_a_key_with_one_field_is_spelled_as_it_is() -> None:
    assert key_from("user:{a}", {"a": "x:y%"}) == "user:x:y%"
    assert key_from("{a[0]}:{n:03d}", {"a": ["q"], "n": 4}) == "q:004"
    assert key_from("all", {}) == "all"
