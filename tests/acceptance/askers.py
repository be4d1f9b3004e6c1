"""The process that is killed while its handler asks a person, or just after the answer."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

from interlock.engine import Engine
from interlock.machine import FINAL, Go, Machine, Review, State, Transition
from interlock.store import open_store
from interlock.worker import Task, Worker
from tests.support.killing import die_at

TOOL = Review("May it?", decisions={"allow": "", "deny": ""})


@dataclass(frozen=True)
class Orders:
    """What the process does, and where it dies."""

    url: str
    folder: Path
    deadline: timedelta
    point: str = ""
    times: int = 1


def machine(folder: Path, deadline: timedelta) -> Machine:
    """One step that asks, and pays what was allowed."""
    asking = Machine(
        "asking",
        initial="running",
        states=[State("running"), State("done", FINAL)],
        transitions=[Transition("running", "done", on="finish")],
        reviews=[TOOL],
    )

    @asking.work("running")
    def run(task: Task[Any]) -> Go:
        answer = task.ask("tool", TOOL, deadline=deadline, default="deny")
        with (folder / "answers").open("a") as answers:
            answers.write(f"{answer.decision} {answer.by}\n")
        return Go("done", {"decision": answer.decision})

    return asking


def run(orders: Orders) -> None:
    logging.disable()
    if orders.point:
        die_at(orders.point, orders.times)
    with open_store(orders.url, durability="normal", wakeup="poll") as store:
        engine = Engine(store, [machine(orders.folder, orders.deadline)])
        worker = Worker(engine, concurrency=2, lease=timedelta(seconds=2), sweep_every=0.05).start()
        worker.heartbeat.join()
