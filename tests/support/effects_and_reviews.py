"""Small machines with effects, reviews, and every way to wait. Their handlers stay with the tests."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from pydantic import BaseModel, Field

from interlock.engine import Claim, Effect
from interlock.machine import (
    AGENT,
    FAILED,
    FINAL,
    OWNER,
    SYSTEM,
    USER,
    WAITING,
    WORKER,
    Actor,
    Arm,
    Concurrent,
    Failures,
    Machine,
    NotSent,
    Pause,
    Reminder,
    Review,
    Rule,
    State,
    Timer,
    Transition,
    Window,
    WorkError,
    fixed,
)
from interlock.testing import Trial
from interlock.worker.port import EnginePort
from interlock.worker.task import Task, make_task

ANN, BOB = Actor(USER, "ann"), Actor(USER, "bob")
CHIEF = Actor(OWNER, "chief")
ROBOT = Actor(AGENT, "robot")


class QuotaUsedUp(WorkError):
    """The other side takes no more for now."""


class Broken(WorkError):
    """Something that no retry can help."""


# -- effects

parcel = Machine(
    "parcel",
    initial="packing",
    states=[
        State("packing"),
        State("posting"),
        State("checking", WAITING, waits_for="the carrier's word"),
        State("delivered", FINAL, good=True),
        State("dropped", FINAL, good=False),
    ],
    transitions=[
        Transition("packing", "posting", on="packed"),
        Transition("posting", "delivered", on="delivered"),
        Transition("posting", "checking", on="doubted"),
        Transition("checking", "delivered", on="arrived", by=USER),
        Transition(("packing", "posting", "checking"), "dropped", on="drop", by=(USER, WORKER)),
    ],
    failures=Failures(otherwise=Rule((Exception,), retries=3, backoff=fixed(timedelta(minutes=1)))),
    limits=[Window("daily", key="{user}", size=2, per=timedelta(days=1))],
)


class Carrier:
    """The other side of an effect: it remembers what arrived, and may refuse, or lose its answer."""

    def __init__(self, *moods: str) -> None:
        self.moods = list(moods)
        self.arrived: list[str] = []

    def send(self, effect: Effect) -> dict[str, Any]:
        mood = self.moods.pop(0) if self.moods else "fine"
        if mood == "refuses":
            raise NotSent("the counter is closed")
        self.arrived.append(effect.key)
        if mood == "falls silent":
            raise ConnectionError("the line went dead")
        return {"receipt": len(self.arrived)}

    async def send_later(self, effect: Effect) -> dict[str, Any]:
        return self.send(effect)


def at_work(trial: Trial, claim: Claim) -> Task[Any]:
    """What the handler of this claim would be given, for a test that plays the handler itself."""
    return make_task(claim, EnginePort(trial.engine, claim))


# -- reviews


class Purchase(BaseModel):
    """What is to be bought."""

    item: str
    amount: int = 0
    note: str = ""


class Verdict(BaseModel):
    """What the reviewer fills in."""

    amount: int = Field(ge=1, le=1000)
    note: str = ""


class Opinion(BaseModel):
    """What is asked beside the state."""

    stars: int = Field(ge=1, le=5)


OPINION = Review("How good is this shop?", decisions={"rated": ""}, form=Opinion)
STOP = Review("Shall it be stopped?", decisions={"stop": "reject", "go on": ""}, due=timedelta(hours=1))
APPROVE = Review(
    "May this be bought?",
    decisions={"approve": "approve", "reject": "reject", "redo": "redo"},
    form=Verdict,
    due=timedelta(hours=8),
)

purchase = Machine(
    "purchase",
    initial="drafting",
    data=Purchase,
    states=[
        State("drafting"),
        State(
            "review",
            WAITING,
            waits_for="a reviewer",
            review=APPROVE,
            timers=(Reminder(timedelta(hours=4), "a purchase waits"), Timer(timedelta(hours=24), "expire")),
        ),
        State("paid", FINAL, good=True),
        State("rejected", FINAL, good=False),
    ],
    transitions=[
        Transition("drafting", "review", on="drafted"),
        Transition("review", "drafting", on="redo", by=USER, accepts=("note",)),
        Transition("review", "paid", on="paid"),
        Transition("review", "rejected", on="reject", by=USER),
        Transition("review", "rejected", on="expire", by=SYSTEM),
        Transition("drafting", "rejected", on="reject", by=USER),
    ],
    arms=[Arm("review", on="approve", by=USER, accepts=("amount", "note"))],
    reviews=[OPINION],
    failures=Failures(otherwise=Rule((Exception,), retries=0)),
)


# -- what waits, in every way there is

visit = Machine(
    "visit",
    initial="working",
    states=[
        State("working"),
        State("held"),
        State("broken", FAILED),
        State("resting", WAITING, waits_for="the quota to come back"),
        State(
            "asking",
            WAITING,
            waits_for="the customer's answer",
            timers=(Reminder(timedelta(hours=1), "the customer is silent"), Timer(timedelta(hours=24), "give_up")),
        ),
        State(
            "judging",
            WAITING,
            waits_for="a judge",
            review=Review("Good enough?", decisions={"yes": "answered"}, due=timedelta(hours=3)),
        ),
        State("listening", WAITING, waits_for="the carrier's notice"),
        State("done", FINAL, good=True),
    ],
    transitions=[
        Transition("working", "asking", on="ask"),
        Transition("working", "judging", on="judge"),
        Transition("working", "listening", on="listen"),
        Transition("working", "held", on="hold"),
        Transition(("working", "broken"), "resting", on="rest", by=(WORKER, SYSTEM)),
        Transition("resting", "working", on="resume", by=SYSTEM),
        Transition("working", "broken", on="fail"),
        Transition("broken", "working", on="retry", by=(SYSTEM, USER)),
        Transition(("asking", "judging"), "done", on="answered", by=USER),
        Transition("asking", "done", on="give_up", by=SYSTEM),
        Transition("listening", "done", on="noticed", by=(AGENT, SYSTEM)),
        Transition(("working", "held"), "done", on="finished"),
        Transition("done", "working", on="reopen", by=USER),
    ],
    arms=[Arm("held", on="start", by=USER)],
    failures=Failures(
        state="broken",
        rules=(
            Rule((QuotaUsedUp,), retries=5, pause=Pause("resting", "resume", timedelta(hours=1))),
            Rule((Broken,), retries=0),
        ),
        otherwise=Rule((Exception,), retries=2, backoff=fixed(timedelta(minutes=10))),
    ),
    limits=[Concurrent("desk", key="{desk}", size=1, states=("working",))],
)

leaflet = Machine(
    "leaflet",
    initial="proof",
    states=[
        State("proof", WAITING, waits_for="a reader", review=Review("Print it?", decisions={"print": "approve"})),
        State("approved", WAITING, waits_for="the press"),
        State("printed", FINAL),
    ],
    transitions=[
        Transition("proof", "approved", on="approve", by=USER),
        Transition("approved", "proof", on="withdraw", by=USER),
        Transition("approved", "printed", on="print", by=USER),
    ],
)
