"""A machine whose work does nothing: what remains is what the engine costs."""

from __future__ import annotations

from collections.abc import Callable

from interlock.machine import FINAL, Go, Machine, Outcome, State, Transition
from interlock.worker import Task


def machine(tick: Callable[[], None]) -> Machine:
    """Two states; its handler calls `tick`."""
    trivial = Machine(
        "trivial",
        initial="new",
        states=[State("new"), State("done", FINAL)],
        transitions=[Transition("new", "done", on="do")],
    )

    @trivial.work("new")
    def do(task: Task[dict[str, object]]) -> Outcome:
        tick()
        return Go("done")

    return trivial
