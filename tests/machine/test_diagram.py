"""A diagram can be read: nothing lies on top of something else, and every transition is on it once."""

from __future__ import annotations

from datetime import timedelta
from itertools import combinations, pairwise

import pytest

from interlock.apps.sample import parcel
from interlock.machine import (
    FAILED,
    FINAL,
    SYSTEM,
    USER,
    WAITING,
    Failures,
    Machine,
    State,
    Timer,
    Transition,
    installed,
)
from interlock.machine.diagram import Box, Diagram, Line, Point, crosses, label_is_off, lay_out, lines_of

MACHINES = {machine.name: machine for machine in [*installed(), parcel]}
BOTH = pytest.mark.parametrize("tall", [True, False], ids=["with numbers", "without"])
EACH = pytest.mark.parametrize("machine", MACHINES.values(), ids=MACHINES.keys())


def line(diagram: Diagram, source: str, target: str) -> Line:
    return next(one for one in diagram.lines if (one.source, one.target) == (source, target))


def touches(box: Box, point: Point) -> bool:
    across, down = abs(point.x - box.x) - box.width / 2, abs(point.y - box.y) - box.height / 2
    return max(across, down) == pytest.approx(0, abs=0.2)


# -- the machines that are shipped


@EACH
@BOTH
def test_no_state_lies_on_another_and_no_line_runs_through_one(machine: Machine, tall: bool) -> None:
    drawn = lay_out(machine, tall=tall)
    assert set(drawn.nodes) == set(machine.states)
    assert not [pair for pair in combinations(drawn.nodes, 2) if drawn.nodes[pair[0]].meets(drawn.nodes[pair[1]], 10)]
    hit = [(one.label, name) for one in drawn.lines for name, box in drawn.nodes.items() if crosses(one, name, box)]
    assert not hit
    assert drawn.metrics["node_edge_hits"] == 0


@EACH
@BOTH
def test_no_words_lie_on_other_words_or_on_a_state(machine: Machine, tall: bool) -> None:
    drawn = lay_out(machine, tall=tall)
    words = [one for one in drawn.lines if one.label_box]
    assert not [(a.label, b.label) for a, b in combinations(words, 2) if a.label_box.meets(b.label_box)]  # type: ignore[union-attr,arg-type]
    assert not [(a.label, n) for a in words for n, box in drawn.nodes.items() if a.label_box.meets(box)]  # type: ignore[union-attr]
    assert drawn.metrics["label_overlaps"] == 0


@EACH
def test_few_words_lie_beside_their_line(machine: Machine) -> None:
    assert sum(label_is_off(one) for one in lay_out(machine).lines) <= 1


@EACH
def test_lines_cross_only_where_they_must(machine: Machine) -> None:
    most = {"application": 4, "job": 2}
    assert lay_out(machine).metrics["crossings"] <= most.get(machine.name, 0)


@EACH
@BOTH
def test_every_transition_is_on_exactly_one_line_which_begins_and_ends_at_its_states(
    machine: Machine, tall: bool
) -> None:
    drawn = lay_out(machine, tall=tall)
    shown = [edge for one in drawn.lines for edge in (*one.there, *one.back)]
    assert sorted(map(repr, shown)) == sorted(map(repr, machine.edges))
    for one in drawn.lines:
        assert {(e.source, e.to) for e in one.there} == {(one.source, one.target)}
        assert {(e.source, e.to) for e in one.back} <= {(one.target, one.source)}
        assert touches(drawn.nodes[one.source], one.points[0])
        assert touches(drawn.nodes[one.target], one.points[-1])
        assert all(a.x == b.x or a.y == b.y for a, b in pairwise(one.points)), "lines run across or down"


@EACH
def test_the_first_state_is_on_top_and_everything_is_inside_the_picture(machine: Machine) -> None:
    drawn = lay_out(machine)
    assert drawn.nodes[machine.initial].y == min(box.y for box in drawn.nodes.values())
    for x, y in [p for one in drawn.lines for p in one.points]:
        assert 0 <= x <= drawn.width
        assert 0 <= y <= drawn.height
    for box in [*drawn.nodes.values(), *(one.label_box for one in drawn.lines if one.label_box)]:
        assert box.x - box.width / 2 >= 0
        assert box.x + box.width / 2 <= drawn.width


@EACH
def test_a_picture_fits_beside_a_table(machine: Machine) -> None:
    assert lay_out(machine).width <= 640


# -- how it is drawn


def made(**changes: object) -> Machine:
    options: dict[str, object] = {
        "initial": "new",
        "states": [
            State("new"),
            State("held", WAITING, waits_for="somebody", timers=(Timer(timedelta(hours=24), fire="expire"),)),
            State("broken", FAILED),
            State("done", FINAL, good=True),
            State("gone", FINAL),
        ],
        "transitions": [
            Transition("new", "done", on="finish"),
            Transition("new", "held", on="hold"),
            Transition("held", "new", on="release", by=USER),
            Transition("held", "gone", on="drop", by=USER),
            Transition("held", "gone", on="expire", by=SYSTEM),
            Transition("new", "broken", on="fail", by=SYSTEM),
            Transition("broken", "new", on="retry", by=SYSTEM),
            Transition("broken", "gone", on="give_up", by=SYSTEM),
        ],
        "failures": Failures(state="broken"),
    }
    return Machine("thing", **{**options, **changes})  # type: ignore[arg-type]


def test_a_way_there_and_the_way_back_are_one_line_with_the_words_of_both() -> None:
    found = line(lay_out(made()), "new", "held")
    assert found.both
    assert found.label == "hold ⇄ release"


def test_several_events_between_two_states_are_one_line_and_a_timer_says_when() -> None:
    found = line(lay_out(made()), "held", "gone")
    assert not found.both
    assert found.label == "drop · expire · 24 h"


def test_the_first_state_is_on_top_even_where_the_line_from_it_was_declared_the_other_way_round() -> None:
    drawn = lay_out(made(initial="held"))
    assert drawn.nodes["held"].y == min(box.y for box in drawn.nodes.values())
    assert line(drawn, "new", "held").points[0].y > line(drawn, "new", "held").points[-1].y


def test_roles_tell_who_or_what_takes_a_line() -> None:
    roles = {(one.source, one.target): one.role for one in lines_of(made())}
    assert roles == {
        ("new", "done"): "main",
        ("new", "held"): "main",
        ("held", "gone"): "person",
        ("new", "broken"): "fail",
        ("broken", "gone"): "fail",
    }


def test_a_way_that_only_time_takes_is_the_timers() -> None:
    machine = made(
        states=[
            State("new", WAITING, waits_for="time", timers=(Timer(timedelta(minutes=90), fire="expire"),)),
            State("gone", FINAL),
        ],
        transitions=[Transition("new", "gone", on="expire", by=SYSTEM)],
        failures=Failures(),
    )
    found = line(lay_out(machine), "new", "gone")
    assert (found.role, found.label) == ("timer", "expire · 90 min")


def test_of_many_lines_with_the_same_words_into_one_state_one_carries_them() -> None:
    names = ["a", "b", "c", "d"]
    machine = Machine(
        "fan",
        initial="a",
        states=[*map(State, names), State("end", FINAL)],
        transitions=[
            *(Transition(one, other, on="go") for one, other in pairwise(names)),
            Transition("d", "end", on="finish"),
            Transition(("a", "b", "c", "d"), "end", on="stop", by=USER),
        ],
    )
    drawn = lay_out(machine)
    into = [one for one in drawn.lines if one.label == "stop"]
    assert [one.label_box is not None for one in into] == [True, False, False]


def test_a_line_from_a_state_to_itself_has_its_words_beside_the_state() -> None:
    machine = made(
        transitions=[
            Transition("new", "done", on="finish"),
            Transition("new", "new", on="once more"),
            Transition("done", "held", on="x", by=USER),
            Transition("held", "gone", on="expire", by=SYSTEM),
            Transition("new", "broken", on="fail", by=SYSTEM),
            Transition("broken", "new", on="retry", by=SYSTEM),
        ]
    )
    drawn = lay_out(machine)
    box = line(drawn, "new", "new").label_box
    assert box is not None
    assert not box.meets(drawn.nodes["new"])


def test_the_same_life_cycle_is_laid_out_once_and_always_alike() -> None:
    one, twin = made(), made()
    assert lay_out(one) is lay_out(twin)
    assert lay_out(one) is not lay_out(one, tall=False)
    assert lay_out(one) is not lay_out(made(initial="held"))


def test_a_picture_with_numbers_is_taller_than_one_without() -> None:
    heights = (
        {box.height for box in lay_out(made()).nodes.values()},
        {box.height for box in lay_out(made(), tall=False).nodes.values()},
    )
    assert heights == ({46}, {34})
