"""A user's own machine, brought in through `--app`: each sale is paid and packed, and a ledger says so."""

from __future__ import annotations

import os
import time

from pydantic import BaseModel

from interlock.machine import FINAL, Go, Machine, Outcome, Registry, State, Transition
from interlock.worker import Task


class Sale(BaseModel):
    """What is sold."""

    number: int = 0
    seconds: float = 0.0
    """How long it takes to pack."""


sale = Machine(
    "sale",
    initial="paying",
    data=Sale,
    states=[State("paying"), State("packing"), State("done", FINAL, good=True)],
    transitions=[Transition("paying", "packing", on="paid"), Transition("packing", "done", on="packed")],
)


def _write(line: str) -> None:
    """One line, whole, whoever else writes at the same time."""
    handle = os.open(os.environ["SALE_LEDGER"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(handle, f"{line}\n".encode())
    os.close(handle)


@sale.work("paying")
def pay(task: Task[Sale]) -> Outcome:
    _write(f"paid {task.id}")
    return Go("packing")


@sale.work("packing")
def pack(task: Task[Sale]) -> Outcome:
    _write(f"began {task.id}")
    end = time.monotonic() + task.data.seconds
    while time.monotonic() < end and not task.cancelled:
        time.sleep(0.01)  # it takes its time, and listens
    task.check()
    _write(f"packed {task.id}")
    return Go("done")


registry = Registry([sale])
