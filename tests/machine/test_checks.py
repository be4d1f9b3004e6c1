"""Every mistake in a declaration is refused, all at once, with its place named."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from interlock.machine import (
    AGENT,
    FAILED,
    FINAL,
    OWNER,
    SYSTEM,
    USER,
    WAITING,
    WORKER,
    Arm,
    Concurrent,
    Facts,
    Failures,
    Machine,
    MachineError,
    Pause,
    Reminder,
    Review,
    Rule,
    State,
    Timer,
    Transition,
    Window,
)

from .order import SOUND, plus, problems, rule, states, without

HOUR = timedelta(hours=1)


def yes(facts: Facts) -> bool:
    return True


def test_a_sound_machine_has_no_problems() -> None:
    assert problems() == []


def test_every_problem_is_listed_at_once_in_the_message() -> None:
    with pytest.raises(MachineError) as caught:
        Machine(
            "order",
            initial="start",
            states=[State("a", FINAL), State("a", FINAL)],
            transitions=[Transition("a", "b", on="go")],
        )
    assert str(caught.value) == (
        "machine 'order' is not sound:"
        "\n  - unknown: initial names state 'start'; there are a"
        "\n  - unknown: transition a → b names state 'b'; there are a"
        "\n  - doubled: state 'a' is declared 2 times"
    )


THERE_ARE = "there are new, asked, broken, done"

UNKNOWN: list[tuple[dict[str, Any], str]] = [
    ({"name": "an order"}, "the name 'an order' is not a word of letters, digits and underscores"),
    ({"initial": "old"}, f"initial names state 'old'; {THERE_ARE}"),
    (
        {"transitions": plus(Transition("old", "done", on="go"))},
        f"transition old → done names state 'old'; {THERE_ARE}",
    ),
    (
        {"transitions": plus(Transition("new", "gone", on="go"))},
        f"transition new → gone names state 'gone'; {THERE_ARE}",
    ),
    (
        {"transitions": plus(Transition("new", "done", on="go", takes=("day",)))},
        "transition new → done takes limit 'day', which is no window of the machine",
    ),
    (
        {
            "transitions": plus(Transition("new", "done", on="go", takes=("two",))),
            "limits": [Concurrent("two", "all", 2, ("new",))],
        },
        "transition new → done takes limit 'two', which is no window of the machine",
    ),
    (
        {"transitions": plus(Transition("new", "done", on="go", accepts=("colour",)))},
        "transition new → done accepts field 'colour', which Order does not have",
    ),
    ({"arms": [Arm("old", on="go")]}, f"arm on 'go' names state 'old'; {THERE_ARE}"),
    (
        {"arms": [Arm("asked", on="go", accepts=("colour",))]},
        "arm on 'go' accepts field 'colour', which Order does not have",
    ),
    (
        {"states": states(State("new", lost="old"))},
        "state 'new' (lost) names state 'old'; there are asked, broken, done, new",
    ),
    (
        {"states": states(State("asked", WAITING, waits_for="it", timers=(Timer(HOUR, fire="late"),)))},
        "the timer of state 'asked' fires 'late', which no transition from it has",
    ),
    (
        # The event exists, but in another state.
        {"states": states(State("asked", WAITING, waits_for="it", timers=(Timer(HOUR, fire="ask"),)))},
        "the timer of state 'asked' fires 'ask', which no transition from it has",
    ),
    (
        {"states": states(State("asked", WAITING, waits_for="it", review=Review("Well?", {"yes": "say_yes"})))},
        "the review of state 'asked' decides 'yes' by event 'say_yes', which it does not have",
    ),
    (
        # The event arms another state.
        {
            "states": states(State("asked", WAITING, waits_for="it", review=Review("Well?", {"yes": "run"}))),
            "arms": [Arm("new", on="run")],
        },
        "the review of state 'asked' decides 'yes' by event 'run', which it does not have",
    ),
    ({"failures": Failures(state="lost")}, f"failures names state 'lost'; {THERE_ARE}"),
    ({"failures": rule(then="lost")}, f"failure rule KeyError names state 'lost'; {THERE_ARE}"),
    ({"failures": rule(at=("lost",))}, f"failure rule KeyError names state 'lost'; {THERE_ARE}"),
    (
        {"failures": rule(retries=1, pause=Pause("lost", resume="go", wait=HOUR))},
        f"failure rule KeyError names state 'lost'; {THERE_ARE}",
    ),
    (
        {"failures": Failures(state="broken", otherwise=Rule((Exception,), retries=1, then="lost"))},
        f"failure rule Exception names state 'lost'; {THERE_ARE}",
    ),
    (
        {"failures": rule(sets={"colour": "red"})},
        "failure rule KeyError sets field 'colour', which Order does not have",
    ),
    ({"limits": [Concurrent("two", "all", 2, ("lost",))]}, f"limit 'two' names state 'lost'; {THERE_ARE}"),
    (
        {"limits": [Concurrent("two", "{colour}", 2, ("new",))]},
        "limit 'two' reads field 'colour', which Order does not have",
    ),
    ({"limits": [Window("day", "{colour}", 2, HOUR)]}, "limit 'day' reads field 'colour', which Order does not have"),
    ({"limits": [Window("day", "all", "colour", HOUR)]}, "limit 'day' reads field 'colour', which Order does not have"),
    ({"stage": "step"}, "stage 'step' is not a field of Order"),
    ({"cancel": "lost"}, f"cancel names state 'lost'; {THERE_ARE}"),
]


@pytest.mark.parametrize(("changes", "problem"), UNKNOWN)
def test_what_is_named_must_exist(changes: dict[str, Any], problem: str) -> None:
    assert problems(**changes) == [f"unknown: {problem}"]


def test_what_is_named_and_exists_passes() -> None:
    assert (
        problems(
            states=states(
                State("new", lost="broken"),
                State(
                    "asked",
                    WAITING,
                    waits_for="it",
                    timers=(Reminder(HOUR, "Still there."), Timer(2 * HOUR, fire="late")),
                    review=Review("Well?", {"yes": "answer", "again": "rework"}),
                ),
            ),
            transitions=[
                Transition("new", "asked", on="ask", takes=("day",), accepts=("size",)),
                Transition("new", "broken", on="fail", by=(WORKER, SYSTEM)),
                Transition("asked", "done", on="answer", by=USER),
                Transition("asked", "broken", on="late", by=SYSTEM),
                Transition("broken", "new", on="retry", by=SYSTEM),
            ],
            arms=[Arm("asked", on="rework", accepts=("size",))],
            failures=rule(at=("new",), sets={"size": 0}),
            limits=[Window("day", "{user_id}", "size", HOUR), Concurrent("two", "{user_id}", 2, ("new",))],
            stage="user_id",
        )
        == []
    )


def test_without_a_model_no_field_can_be_checked() -> None:
    changes: dict[str, Any] = {
        "data": None,
        "stage": "step",
        "transitions": plus(Transition("new", "done", on="go", accepts=("colour",))),
        "limits": [Window("day", "{colour}", "colour", HOUR)],
        "failures": rule(sets={"colour": "red"}),
    }
    assert problems(**changes) == []


DOUBLED: list[tuple[dict[str, Any], str]] = [
    ({"states": [*SOUND["states"], State("new")]}, "state 'new' is declared 2 times"),
    (
        {"transitions": plus(Transition("new", "asked", on="ask"))},
        "transition new → asked on 'ask' is declared 2 times",
    ),
    (
        {"transitions": plus(Transition(("new", "broken"), "asked", on="ask"))},
        "transition new → asked on 'ask' is declared 2 times",
    ),
    ({"limits": [Window("day", "all", n, HOUR) for n in (1, 2, 3)]}, "limit 'day' is declared 3 times"),
    ({"arms": [Arm("asked", on="go"), Arm("asked", on="go")]}, "arm 'go' of state 'asked' is declared 2 times"),
    ({"arms": [Arm("asked", on="answer")]}, "event 'answer' of state 'asked' is a transition and an arm"),
    (
        {
            "transitions": [
                Transition("new", "asked", on="ask", pick_up=True),
                Transition("new", "broken", on="fail", pick_up=True),
                *without(("new", "asked"), ("new", "broken")),
            ]
        },
        "state 'new' has 2 pick-ups",
    ),
]


@pytest.mark.parametrize(("changes", "problem"), DOUBLED)
def test_nothing_is_declared_twice(changes: dict[str, Any], problem: str) -> None:
    assert problems(**changes) == [f"doubled: {problem}"]


def test_the_same_event_may_arm_one_state_and_move_another() -> None:
    assert problems(arms=[Arm("asked", on="ask")]) == []


def test_one_event_to_two_states_needs_guards() -> None:
    more = plus(Transition("new", "done", on="ask"))
    assert problems(transitions=more) == [
        "ambiguous: event 'ask' in state 'new' leads to asked, done; give asked, done a guard"
    ]


def test_one_guard_of_two_is_not_enough() -> None:
    more = plus(Transition("new", "done", on="ask", guard=yes))
    assert problems(transitions=more) == [
        "ambiguous: event 'ask' in state 'new' leads to asked, done; give asked a guard"
    ]


def test_guards_on_all_targets_of_an_event_are_enough() -> None:
    more = [Transition("new", "asked", on="ask", guard=yes), Transition("new", "done", on="ask", guard=yes)]
    assert problems(transitions=[*more, *without(("new", "asked"))]) == []


def test_a_state_that_no_way_leads_to() -> None:
    island = [*SOUND["states"], State("island"), State("beach")]
    bridge = [Transition("island", "beach", on="walk"), Transition("beach", "done", on="sail")]
    assert problems(states=island, transitions=plus(*bridge)) == [
        "unreachable: no way leads to state 'island'",
        "unreachable: no way leads to state 'beach'",
    ]


def test_a_state_without_a_way_out_must_be_final() -> None:
    assert problems(
        states=[*SOUND["states"], State("cellar")], transitions=plus(Transition("new", "cellar", on="go"))
    ) == ["dead end: state 'cellar' is work and has no way out; make it final or give it a transition"]


def test_a_machine_without_a_final_state_never_ends() -> None:
    assert problems(
        states=states(State("done", WAITING, waits_for="more")),
        transitions=plus(Transition("done", "new", on="more", by=USER)),
    ) == ["dead end: no state is final, so nothing ever ends"]


def test_a_circle_that_leads_to_no_final_state() -> None:
    circle = [
        Transition("new", "left", on="turn"),
        Transition("left", "right", on="turn"),
        Transition("right", "left", on="turn"),
    ]
    assert problems(states=[*SOUND["states"], State("left"), State("right")], transitions=plus(*circle)) == [
        "dead end: no way leads from state 'left' to a final state",
        "dead end: no way leads from state 'right' to a final state",
    ]


def test_a_waiting_state_says_for_what() -> None:
    assert problems(states=states(State("asked", WAITING))) == [
        "stuck: waiting state 'asked' does not say for what; set waits_for"
    ]


def test_a_waiting_state_needs_somebody_who_moves_it() -> None:
    assert problems(transitions=[Transition("asked", "done", on="answer", by=WORKER), *without(("asked", "done"))]) == [
        "stuck: nobody but a worker may move waiting state 'asked', and none works there"
    ]


@pytest.mark.parametrize("by", [USER, OWNER, AGENT, SYSTEM])
def test_a_waiting_state_may_be_moved_by(by: Any) -> None:
    assert problems(transitions=[Transition("asked", "done", on="answer", by=by), *without(("asked", "done"))]) == []


def test_a_waiting_state_that_is_armed_is_moved_by_its_worker() -> None:
    rows = [Transition("asked", "done", on="answer", by=WORKER), *without(("asked", "done"))]
    assert problems(transitions=rows, arms=[Arm("asked", on="approve")]) == []


def test_a_waiting_state_with_a_timer_is_moved_by_it() -> None:
    rows = [Transition("asked", "done", on="answer", by=WORKER), *without(("asked", "done"))]
    timed = states(State("asked", WAITING, waits_for="it", timers=(Timer(HOUR, fire="answer"),)))
    assert problems(transitions=rows, states=timed) == []


def test_a_work_state_needs_a_transition_for_its_worker() -> None:
    assert problems(
        transitions=[
            Transition("new", "asked", on="ask", by=USER),
            Transition("new", "broken", on="fail", by=AGENT),
            *without(("new", "asked"), ("new", "broken")),
        ]
    ) == ["stuck: no transition from work state 'new' is for a worker or the system"]


def test_a_failed_state_needs_somebody_who_moves_it() -> None:
    shelved = [*SOUND["states"], State("shelved", FAILED)]
    rows = plus(Transition("new", "shelved", on="shelve"), Transition("shelved", "new", on="retry", by=SYSTEM))
    # The system retries only from the state that the failure rules name.
    assert problems(states=shelved, transitions=rows) == [
        "stuck: nothing moves state 'shelved' on: no retry by the system, no person"
    ]
    rows[-1] = Transition("shelved", "new", on="retry", by=USER)
    assert problems(states=shelved, transitions=rows) == []


def test_a_worker_does_not_move_a_failed_state() -> None:
    rows = [Transition("broken", "new", on="retry", by=WORKER), *without(("broken", "new"))]
    assert problems(transitions=rows, failures=Failures(state="broken", otherwise=Rule((Exception,)))) == [
        "stuck: nothing moves state 'broken' on: no retry by the system, no person"
    ]


def test_a_final_state_has_no_timer() -> None:
    assert problems(
        states=states(State("done", FINAL, timers=(Timer(HOUR, fire="reopen"),))),
        transitions=plus(Transition("done", "new", on="reopen", by=USER)),
    ) == ["stuck: final state 'done' has a timer; nothing may move an ended instance"]


def test_a_final_state_has_no_reminder() -> None:
    assert problems(states=states(State("done", FINAL, timers=(Reminder(HOUR, "Still there."),)))) == [
        "stuck: final state 'done' has a reminder; nobody can do anything about it"
    ]


@pytest.mark.parametrize("lost", ["asked", "done"])
def test_a_lost_worker_needs_a_transition_for_the_system(lost: str) -> None:
    rows = [Transition("new", "broken", on="fail", by=(WORKER, SYSTEM)), *without(("new", "broken"))]
    assert problems(states=states(State("new", lost=lost)), transitions=rows) == [
        f"stuck: state 'new' goes to '{lost}' when its worker is lost, but has no such transition for the system"
    ]
