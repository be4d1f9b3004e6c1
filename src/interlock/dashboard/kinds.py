"""The six kinds of states. Each has an icon and a word, so that colour is never the only sign."""

from __future__ import annotations

from interlock.machine import Kind, Machine, State
from interlock.machine.transitions import PEOPLE, By

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
    edges = machine.edges_from(name)
    # Where programs move it on, people may interfere, but nobody waits for them.
    others = any(By.WORKER in edge.by or (By.AGENT in edge.by and not edge.by & PEOPLE) for edge in edges)
    people = not others and any(edge.by & PEOPLE for edge in edges)
    reviewed = state.review is not None or any(arm.state == name and arm.by & PEOPLE for arm in machine.arms)
    return "person" if reviewed or people else "wait"
