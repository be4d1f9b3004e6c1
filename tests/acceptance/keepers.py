"""Processes that look after a database and are killed at it: a retention, an erasure, a migration and its way back."""

from __future__ import annotations

import logging
import os
import signal
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from pydantic import BaseModel

from interlock.engine import Engine
from interlock.engine.retention import policies
from interlock.engine.retention.erasing import Erasing
from interlock.engine.retention.policies import Policy, Retention
from interlock.engine.versions import migrating
from interlock.machine import FINAL, OWNER, USER, WAITING, Actor, KeyScope, Machine, State, Transition
from interlock.store import Micros, failpoints, open_store, span
from interlock.testing import VirtualClock
from tests.support.machines import page

CHIEF = Actor(OWNER, "chief")
ANN = "ann@example.org"
AGE = timedelta(days=90)
PAGE = page(key=KeyScope.FOREVER)
SOME = 2
"""Instances in one transaction, so that few make several batches."""


class Errand(BaseModel):
    """What the first version keeps."""

    name: str


class ErrandWithPlace(Errand):
    """A field more."""

    place: str = "here"


def errand(data: type[BaseModel]) -> Machine:
    return Machine(
        "errand",
        initial="asked",
        states=[State("asked", WAITING, waits_for="somebody"), State("done", FINAL)],
        transitions=[Transition("asked", "done", on="do", by=USER)],
        data=data,
    )


OLD, NEW = errand(Errand), errand(ErrandWithPlace)


@dataclass(frozen=True)
class Orders:
    """What a process does, and where it dies."""

    url: str
    folder: Path
    duty: str
    now: Micros
    workspace: str = "w"
    """Whose instances are migrated; a retention has its archive under this name."""
    step: int = 0
    """It dies at the so manieth point of its own writes; 0: where it first comes to the point that is named."""
    point: str = ""

    @property
    def archive(self) -> Path:
        return self.folder / "archive" / self.workspace

    @property
    def last_words(self) -> Path:
        """The file with the points that were reached, the last of them deadly."""
        return self.folder / "points"


def policy(folder: Path) -> Policy:
    rows = dict.fromkeys(("delivery", "outbox", "alert", "action", "ai_answer"), span(AGE))
    return Policy(folder, span(AGE), rows=rows)


def retain(engine: Engine, orders: Orders) -> None:
    Retention(engine, policy(orders.archive)).run()


def erase(engine: Engine, orders: Orders) -> None:
    for _ in Erasing(engine, CHIEF, "she asked for it").every(ANN):
        pass


def migrate(engine: Engine, orders: Orders) -> None:
    way = migrating.route(engine, "errand", workspace=orders.workspace)
    migrating.apply(engine, way, CHIEF, batch=SOME, patience=0)


def back(engine: Engine, orders: Orders) -> None:
    migrating.back(engine, "errand", CHIEF, workspace=orders.workspace, batch=SOME, patience=0)


DUTIES: dict[str, Callable[[Engine, Orders], None]] = {
    "retain": retain,
    "erase": erase,
    "migrate": migrate,
    "back": back,
}


def run(orders: Orders) -> None:
    logging.disable()
    policies.BATCH = SOME
    clock = VirtualClock()
    clock.set(orders.now)
    with open_store(orders.url, wakeup="poll") as store:
        engine = Engine(store, [PAGE, NEW], clock=clock)
        engine.core.register()
        words = os.open(orders.last_words, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        left = orders.step

        def die(reached: str) -> None:
            nonlocal left
            if reached.partition(":")[0] in failpoints.KEEPING:  # a lease is taken and renewed between these
                left -= 1
            os.write(words, f"{reached}\n".encode())
            if left == 0 or reached == orders.point:
                os.kill(os.getpid(), signal.SIGKILL)

        failpoints.hook = die
        DUTIES[orders.duty](engine, orders)
        failpoints.hook = None
