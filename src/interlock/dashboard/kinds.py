"""The six kinds of states, each with an icon and a word: never a colour alone."""

from __future__ import annotations

from interlock.machine import Kind, Machine, State
from interlock.machine.transitions import PEOPLE

WORDS = {
    "work": "working",
    "wait": "waiting",
    "person": "needs a person",
    "failed": "failed",
    "done": "done",
    "ended": "ended",
}


def kind_of(machine: Machine | None, name: str) -> str:
    """work, wait (for time or an outside event), person, failed, done or ended."""
    state: State | None = machine.states.get(name) if machine is not None else None
    if machine is None or state is None:
        return "ended"
    match state.kind:
        case Kind.WORK:
            return "work"
        case Kind.FAILED:
            return "failed"
        case Kind.FINAL:
            return "done" if state.good else "ended"
    people = any(edge.by & PEOPLE for edge in machine.edges_from(name))
    asked = state.review is not None or any(arm.state == name and arm.by & PEOPLE for arm in machine.arms)
    return "person" if asked or people else "wait"
