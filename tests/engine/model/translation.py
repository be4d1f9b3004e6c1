"""A machine with a bit of everything: a text is translated, laid out, proofread by a person, and delivered."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from pydantic import BaseModel

from interlock.machine import (
    AGENT,
    FAILED,
    FINAL,
    OWNER,
    SYSTEM,
    USER,
    WAITING,
    WORKER,
    Arm,
    Concurrent,
    Failures,
    LimitReached,
    Machine,
    Outcome,
    Pause,
    Reminder,
    Review,
    Rule,
    State,
    Timer,
    Transition,
    Window,
    Work,
    WorkError,
    exponential,
    failed_at,
    fixed,
)


class Glitch(WorkError):
    """Goes away by itself."""


class Busy(WorkError):
    """The dictionary wants an hour's rest."""


class Hopeless(WorkError):
    """No retry can help."""


class Text(BaseModel):
    customer: str
    note: str = ""
    reason: str = ""


def _decided_by_the_test(_: Any) -> Outcome:
    raise AssertionError("the model test decides outcomes itself and runs no handler")


def hours(number: float) -> timedelta:
    return timedelta(hours=number)


STATES = [
    State("queued"),
    State("translating", lost="queued", timers=(Timer(hours(8), "give_up"),)),
    State("layout"),
    State(
        "proofread",
        WAITING,
        waits_for="its customer to approve or reject it",
        timers=(Reminder(hours(12), "A translation waits for you."), Timer(hours(24), "expire")),
        review=Review("Is it good?", decisions={"approve": "approve", "reject": "reject"}, due=hours(20)),
    ),
    State("on_hold", WAITING, waits_for="its customer, or the moment set for it"),
    State("failed", FAILED, timers=(Reminder(hours(0.25), "A translation failed."),)),
    State("delivered", FINAL, good=True),
    State("refused", FINAL, good=False),
    State("cancelled", FINAL),
]

TRANSITIONS = [
    Transition("queued", "translating", on="start", pick_up=True),
    Transition("translating", "layout", on="set"),
    Transition(("translating", "layout"), "proofread", on="show"),
    Transition("layout", "translating", on="redo"),
    Transition("translating", "delivered", on="express", takes=("express",)),
    Transition("translating", "queued", on="requeue", by=SYSTEM),
    Transition("translating", "cancelled", on="give_up", by=SYSTEM),
    Transition("proofread", "delivered", on="deliver"),
    Transition("proofread", "cancelled", on="reject", by=USER, accepts=("note",)),
    Transition("proofread", "refused", on="expire", by=SYSTEM),
    Transition(("translating", "layout", "proofread"), "failed", on="fail", by=(WORKER, SYSTEM)),
    Transition(("queued", "translating", "layout", "proofread"), "on_hold", on="hold", by=USER),
    Transition("on_hold", "queued", on="resume", by=(SYSTEM, USER, AGENT)),
    Transition("failed", "queued", on="retry", by=(SYSTEM, USER), guard=failed_at("translating")),
    Transition("failed", "layout", on="retry", by=(SYSTEM, USER), guard=failed_at("layout")),
    Transition("failed", "proofread", on="retry", by=(SYSTEM, USER), guard=failed_at("proofread")),
    Transition("failed", "on_hold", on="rest", by=SYSTEM),
    Transition("failed", "refused", on="refuse", by=(SYSTEM, OWNER)),
    Transition(("queued", "on_hold", "failed"), "cancelled", on="cancel", by=USER, sets={"reason": "cancelled"}),
    # In a chain only: what rests in delivered is left by nobody.
    Transition("delivered", "queued", on="next"),
    Transition("cancelled", "queued", on="reopen", by=USER, takes=("express",)),
]

FAILURES = Failures(
    state="failed",
    rules=(
        Rule((Glitch,), retries=2, backoff=exponential(timedelta(minutes=10))),
        Rule((Hopeless,), then="refused", sets={"reason": "hopeless"}),
        Rule((Busy,), retries=1, pause=Pause("on_hold", "resume", wait=hours(1))),
        Rule((LimitReached,), retries=None, pause=Pause("on_hold", "resume")),
    ),
    otherwise=Rule((Exception,), retries=1, backoff=fixed(timedelta(minutes=5))),
    crashes=2,
)

TRANSLATION = Machine(
    "translation",
    initial="queued",
    states=STATES,
    transitions=TRANSITIONS,
    arms=[
        Arm("proofread", on="approve", by=USER, accepts=("note",)),
        Arm("queued", on="begin", by=(USER, AGENT)),
    ],
    failures=FAILURES,
    data=Text,
    limits=[
        Window("express", key="customer:{customer}", size=1, per=hours(6)),
        Window("mails", key="all", size=2, per=hours(3)),
        Concurrent("desk", key="{customer}", size=1, states=("translating",)),
    ],
    max_depth=2,
).with_handlers(
    {place: Work(_decided_by_the_test, timedelta(minutes=30)) for place in ("translating", "layout", "proofread")}
)
