"""The life cycle of a receipt."""

from __future__ import annotations

from datetime import timedelta

from interlock import (
    FINAL,
    SYSTEM,
    USER,
    WAITING,
    Failures,
    Machine,
    Reminder,
    Review,
    Rule,
    State,
    Timer,
    Transition,
    WorkError,
    exponential,
)

from expenses.models import CategoryForm, Receipt

CHECKING, APPROVAL, PAYING, PAID, REJECTED = "checking", "approval", "paying", "paid", "rejected"


class BankBusy(WorkError):
    """The bank takes no orders at the moment."""


ASK_CATEGORY = Review(
    "Which category is this receipt?",
    decisions={"answer": ""},
    form=CategoryForm,
)
AUDIT = Review(
    "Does the payment agree with the paper receipt?",
    decisions={"agrees": "", "differs": ""},
    due=timedelta(days=30),
)

receipt = Machine(
    "receipt",
    initial=CHECKING,
    data=Receipt,
    states=[
        State(CHECKING),
        State(
            APPROVAL,
            WAITING,
            waits_for="a person to approve it",
            review=Review("Pay this receipt?", decisions={"approve": "approve", "reject": "reject"}),
            timers=(
                Reminder(timedelta(days=2), "A receipt waits for approval."),
                Timer(timedelta(days=14), "reject"),
            ),
        ),
        State(PAYING),
        State(PAID, FINAL, good=True),
        State(REJECTED, FINAL, good=False),
    ],
    transitions=[
        Transition(CHECKING, PAYING, on="passed"),
        Transition(CHECKING, APPROVAL, on="above_limit"),
        Transition(CHECKING, REJECTED, on="refused"),
        Transition(APPROVAL, PAYING, on="approve", by=USER),
        Transition(APPROVAL, REJECTED, on="reject", by=(USER, SYSTEM)),
        Transition(PAYING, PAID, on="confirmed"),
    ],
    reviews=[ASK_CATEGORY, AUDIT],
    failures=Failures(rules=(Rule((BankBusy,), retries=5, backoff=exponential(timedelta(seconds=10))),)),
)
