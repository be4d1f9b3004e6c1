"""A failure must end somewhere, along transitions that exist."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from interlock.machine import (
    AGENT,
    OWNER,
    SYSTEM,
    USER,
    Arm,
    Backoff,
    Failures,
    Pause,
    Rule,
    State,
    Transition,
    fixed,
)

from .order import SOUND, plus, problems, rule, without

HOUR = timedelta(hours=1)


def test_poison_needs_at_least_one_crash() -> None:
    assert problems(failures=Failures(state="broken", crashes=0)) == [
        "unbounded retry: crashes is 0; poison needs at least 1"
    ]
    assert problems(failures=Failures(state="broken", crashes=1)) == []


PAUSABLE = plus(
    Transition("broken", "asked", on="pause", by=SYSTEM),
    Transition("asked", "new", on="resume", by=SYSTEM),
    Transition("broken", "done", on="give_up", by=SYSTEM),
)

UNBOUNDED: list[tuple[dict[str, Any], str]] = [
    ({"retries": None}, "failure rule KeyError has no number of retries"),
    (
        {"retries": None, "pause": Pause("asked", resume="resume", wait=HOUR)},
        "failure rule KeyError has no number of retries",
    ),
    ({"retries": -1}, "failure rule KeyError has -1 retries; use 0 for none"),
    ({"retries": 2, "backoff": fixed(timedelta(0))}, "failure rule KeyError retries without any wait"),
    ({"retries": 2, "backoff": Backoff(timedelta(seconds=-1))}, "failure rule KeyError retries without any wait"),
]


@pytest.mark.parametrize(("changes", "problem"), UNBOUNDED)
def test_a_failure_must_end_somewhere(changes: dict[str, Any], problem: str) -> None:
    assert problems(transitions=PAUSABLE, failures=rule(**changes)) == [f"unbounded retry: {problem}"]


@pytest.mark.parametrize(
    "changes",
    [
        {"retries": 0, "backoff": fixed(timedelta(0))},
        {"retries": 0, "then": "done"},
        {"retries": None, "pause": Pause("asked", resume="resume")},
        {"retries": 5, "pause": Pause("asked", resume="resume", wait=HOUR), "backoff": fixed(timedelta(0))},
        {"retries": 5, "pause": Pause("asked", resume="resume", wait=HOUR), "then": "done"},
    ],
)
def test_a_failure_that_ends(changes: dict[str, Any]) -> None:
    assert problems(transitions=PAUSABLE, failures=rule(**changes)) == []


@pytest.mark.parametrize("by", [USER, AGENT, OWNER])
def test_where_a_rule_ends_must_be_reachable_for_the_system(by: Any) -> None:
    end = "stuck: failure rule KeyError moves broken → done, and no such transition is for worker or system"
    assert problems(failures=rule(then="done")) == [end]
    assert problems(failures=rule(then="done"), transitions=plus(Transition("broken", "done", on="end", by=by))) == [
        end
    ]


def test_where_a_rule_pauses_must_be_reachable_and_left_again_by_the_system() -> None:
    pausing = rule(retries=1, pause=Pause("asked", resume="answer", wait=HOUR))
    assert problems(failures=pausing) == [
        "stuck: failure rule KeyError moves broken → asked, and no such transition is for worker or system",
        "stuck: failure rule KeyError pauses in 'asked', where the system may not fire 'answer'",
    ]
    assert problems(failures=rule(retries=None, pause=Pause("asked", resume="answer"))) == [
        "stuck: failure rule KeyError moves broken → asked, and no such transition is for worker or system",
        "stuck: failure rule KeyError pauses in 'asked', where the system may not fire 'answer'",
    ]
    # The system may fire something there, but not that.
    other = plus(
        Transition("broken", "asked", on="pause", by=SYSTEM), Transition("asked", "new", on="resume", by=SYSTEM)
    )
    assert problems(failures=pausing, transitions=other) == [
        "stuck: failure rule KeyError pauses in 'asked', where the system may not fire 'answer'"
    ]
    # The system may fire it, but not from where the rule pauses.
    elsewhere = plus(
        Transition("broken", "asked", on="pause", by=SYSTEM), Transition("new", "done", on="wake", by=SYSTEM)
    )
    assert problems(
        failures=rule(retries=1, pause=Pause("asked", resume="wake", wait=HOUR)), transitions=elsewhere
    ) == ["stuck: failure rule KeyError pauses in 'asked', where the system may not fire 'wake'"]


IN_PLACE = Failures(rules=(Rule((KeyError,), retries=1, then="done"),))


def test_without_a_state_for_failures_a_rule_moves_from_where_it_failed() -> None:
    picked = [Transition("new", "busy", on="start", pick_up=True), Transition("busy", "asked", on="ask")]
    rows = [*picked, *without(("new", "asked"), ("new", "broken"), ("broken", "new"))]
    three = [s for s in SOUND["states"] if s.name != "broken"] + [State("busy")]
    assert problems(states=three, transitions=rows, failures=IN_PLACE) == [
        "stuck: failure rule KeyError moves busy → done, and no such transition is for worker or system"
    ]
    assert problems(states=three, transitions=[*rows, Transition("busy", "done", on="end")], failures=IN_PLACE) == []


def test_without_a_state_for_failures_an_armed_state_fails_where_it_waits() -> None:
    rows = [Transition("asked", "new", on="again", by=USER), Transition("new", "done", on="end"), *SOUND["transitions"]]
    rows = [t for t in rows if (t.sources[0], t.to) not in {("new", "broken"), ("broken", "new")}]
    three = [s for s in SOUND["states"] if s.name != "broken"]
    ending = Failures(rules=(Rule((KeyError,), retries=1, then="new"),))
    assert problems(states=three, transitions=rows, failures=ending) == []
    assert problems(states=three, transitions=rows, failures=ending, arms=[Arm("asked", on="approve")]) == [
        "stuck: failure rule KeyError moves asked → new, and no such transition is for worker or system"
    ]


def test_without_a_state_for_failures_a_rule_for_one_state_moves_from_there() -> None:
    rows = [Transition("new", "done", on="end"), Transition("asked", "new", on="again"), *SOUND["transitions"]]
    here = Failures(rules=(Rule((KeyError,), retries=1, then="done", at=("broken",)),))
    assert problems(transitions=[*rows, Transition("broken", "asked", on="x", by=USER)], failures=here) == [
        "stuck: failure rule KeyError moves broken → done, and no such transition is for worker or system"
    ]


def test_a_retry_needs_a_transition_for_the_system() -> None:
    needed = "stuck: no transition from 'broken' on 'retry' is for the system, so no retry can start"
    by_hand = [Transition("broken", "new", on="retry", by=USER), *without(("broken", "new"))]
    assert problems(transitions=by_hand) == [needed]
    other_word = [Transition("broken", "new", on="again", by=SYSTEM), *without(("broken", "new"))]
    assert problems(transitions=other_word) == [needed]
    assert problems(transitions=other_word, failures=Failures(state="broken", retry="again")) == []
    elsewhere = Transition("asked", "new", on="retry", by=SYSTEM)
    assert problems(transitions=[*by_hand, elsewhere]) == [needed]
    assert problems(transitions=by_hand, failures=Failures(state="broken", otherwise=Rule((Exception,)))) == []


def test_a_pause_needs_no_retry() -> None:
    rows = [t for t in PAUSABLE if (t.sources[0], t.to) != ("broken", "new")]
    pausing = Rule((KeyError,), retries=5, pause=Pause("asked", resume="resume", wait=HOUR))
    failures = Failures(state="broken", rules=(pausing,), otherwise=Rule((Exception,)))
    assert problems(transitions=rows, failures=failures) == []
