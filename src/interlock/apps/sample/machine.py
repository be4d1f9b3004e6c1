"""The parcel: its life cycle, and what is done in each state."""

from __future__ import annotations

from datetime import timedelta

from pydantic import BaseModel

from interlock.machine import (
    FINAL,
    SYSTEM,
    USER,
    WAITING,
    Failures,
    Go,
    Machine,
    Outcome,
    Review,
    Rule,
    State,
    Timer,
    Transition,
    WorkError,
    exponential,
)
from interlock.worker import Task

WEIGHING, LABELLING, CUSTOMS, SHIPPED, RETURNED = "weighing", "labelling", "customs", "shipped", "returned"
HEAVY = 5_000


class Parcel(BaseModel):
    """What is known of a parcel."""

    content: str
    grams: int = 0
    label: str = ""


class ScaleBusy(WorkError):
    """Somebody else stands on the scale."""


parcel = Machine(
    "parcel",
    initial=WEIGHING,
    data=Parcel,
    states=[
        State(WEIGHING),
        State(LABELLING),
        State(
            CUSTOMS,
            WAITING,
            waits_for="a person to clear it or send it back",
            review=Review("A heavy parcel: clear it?", decisions={"clear": "clear", "send back": "send_back"}),
            timers=(Timer(timedelta(hours=24), fire="send_back"),),
        ),
        State(SHIPPED, FINAL, good=True),
        State(RETURNED, FINAL, good=False),
    ],
    transitions=[
        Transition(WEIGHING, LABELLING, on="weighed"),
        Transition(LABELLING, SHIPPED, on="labelled"),
        Transition(LABELLING, CUSTOMS, on="held"),
        Transition(CUSTOMS, SHIPPED, on="clear", by=USER),
        Transition(CUSTOMS, RETURNED, on="send_back", by=(USER, SYSTEM)),
    ],
    failures=Failures(rules=(Rule((ScaleBusy,), retries=5, backoff=exponential(timedelta(milliseconds=50))),)),
)


@parcel.work(WEIGHING)
def weigh(task: Task[Parcel]) -> Outcome:
    # The scale is busy at the first attempt of every third parcel, to show a retry.
    if task.attempt == 1 and len(task.data.content) % 3 == 0:
        raise ScaleBusy("the scale is in use")
    return Go(LABELLING, data={"grams": 700 * len(task.data.content)})


@parcel.work(LABELLING)
def label(task: Task[Parcel]) -> Outcome:
    printed = task.once("print_label", {"content": task.data.content}, lambda effect: f"IL-{str(effect.id)[-6:]}")
    to = CUSTOMS if task.data.grams > HEAVY else SHIPPED
    return Go(to, data={"label": printed})
