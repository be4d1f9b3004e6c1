"""What each decision of a review leads to, in words: every page with decisions says it before one is made."""

from __future__ import annotations

from interlock.dashboard.formatting import title
from interlock.dashboard.kinds import kind_of
from interlock.engine import Instance, OpenReview
from interlock.machine import Kind, Machine


def leads(machine: Machine | None, instance: Instance, review: OpenReview) -> dict[str, str]:
    """What happens after each decision, as the rest of a sentence that starts with its name."""
    return {decision: _lead(machine, instance, review, decision) for decision in review.decisions}


def _lead(machine: Machine | None, instance: Instance, review: OpenReview, decision: str) -> str:
    """What happens after this decision, as the rest of a sentence."""
    event = review.decisions[decision]
    settled = {"confirmed": "it counts as sent", "failed": "it counts as not sent"}.get(
        review.settles.get(decision, "")
    )
    if machine is None or not event:
        done = "the running step gets the answer and continues" if review.visit else "the answer is stored"
        return f"{settled}, and its step is retried" if settled else done
    targets = sorted({edge.to for edge in machine.edges_on(instance.state, event)})
    moves = " or ".join(f"moves to {title(to)}{_there(machine, to)}" for to in targets)
    if not moves:
        moves = f"starts its step {title(instance.state)}" if machine.arm(instance.state, event) else "is not moved"
    return f"it {moves}" + (f"; {settled}" if settled else "")


def _there(machine: Machine, to: str) -> str:
    """What the state means for the instance."""
    state = machine.states[to]
    if state.kind is Kind.FINAL:
        return ", where it ends"
    if state.waits_for:
        return f", where it waits for {state.waits_for}"
    return ", where a worker continues" if kind_of(machine, to) == "work" else ""
