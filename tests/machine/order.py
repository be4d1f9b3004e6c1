"""A sound machine to break in one place at a time."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

from interlock.machine import (
    FAILED,
    FINAL,
    SYSTEM,
    USER,
    WAITING,
    Failures,
    Machine,
    MachineError,
    Rule,
    State,
    Transition,
)


class Order(BaseModel):
    """The data of the machine under test."""

    user_id: str = ""
    size: int = 1


SOUND: dict[str, Any] = {
    "name": "order",
    "initial": "new",
    "states": [
        State("new"),
        State("asked", WAITING, waits_for="an answer"),
        State("broken", FAILED),
        State("done", FINAL),
    ],
    "transitions": [
        Transition("new", "asked", on="ask"),
        Transition("new", "broken", on="fail"),
        Transition("asked", "done", on="answer", by=USER),
        Transition("broken", "new", on="retry", by=SYSTEM),
    ],
    "failures": Failures(state="broken"),
    "data": Order,
}


def states(*changed: State) -> list[State]:
    """The sound states, some of them replaced."""
    names = {state.name for state in changed}
    return [state for state in SOUND["states"] if state.name not in names] + list(changed)


def plus(*transitions: Transition) -> list[Transition]:
    """The sound transitions and more."""
    return [*SOUND["transitions"], *transitions]


def without(*pairs: tuple[str, str]) -> list[Transition]:
    """The sound transitions but for some pairs of states."""
    return [t for t in SOUND["transitions"] if (t.sources[0], t.to) not in pairs]


def rule(**changes: Any) -> Failures:
    """Failures with one rule, for KeyError."""
    return Failures(state="broken", rules=(Rule((KeyError,), **changes),))


def problems(**changes: Any) -> list[str]:
    """What is wrong with the sound machine after these changes."""
    declaration = {**SOUND, **changes}
    try:
        Machine(declaration.pop("name"), **declaration)
    except MachineError as error:
        return error.problems
    return []
