"""Interlock doing trivial work: each finished item is a claim, a state change and a chained history row."""

from __future__ import annotations

import time

from interlock.engine import Engine
from interlock.machine import FINAL, Go, Machine, Outcome, State, Transition
from interlock.worker import Task, Worker

trivial = Machine(
    "trivial",
    initial="new",
    states=[State("new"), State("done", FINAL)],
    transitions=[Transition("new", "done", on="do")],
)


@trivial.work("new")
def do(task: Task[dict[str, object]]) -> Outcome:
    return Go("done")


def interlock(url: str, items: int, hands: int) -> dict[str, float]:
    """Items per second through a real worker; and how fast they were created."""
    with Engine(url, [trivial]) as engine:
        begun = time.perf_counter()
        for start in range(0, items, 1000):
            engine.create_many("trivial", [{"n": n} for n in range(start, min(start + 1000, items))])
        created = items / (time.perf_counter() - begun)
        worker = Worker(engine, hands=hands)
        begun = time.perf_counter()
        worker.start()
        while worker.claimer.finished < items:
            time.sleep(0.01)
        rate = items / (time.perf_counter() - begun)
        worker.stop()
        problems = engine.verify().problems
        assert problems == (), problems[:3]
        return {"rate": rate, "created": created}
