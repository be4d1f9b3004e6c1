"""The life cycle of a contract, from its PDF to a comparison, a rejection or a time-out."""

from __future__ import annotations

from datetime import timedelta

from interlock.apps.contracts.errors import NotRetryable
from interlock.apps.contracts.models import Contract, RejectReason, ReviewForm
from interlock.machine import (
    AGENT,
    SYSTEM,
    USER,
    WORKER,
    Arm,
    Failures,
    KeyScope,
    Kind,
    Machine,
    Reminder,
    Review,
    Rule,
    State,
    Timer,
    Transition,
    exponential,
    failed_at,
)

PENDING = "pending"
PARSING_PDF = "parsing_pdf"
EXTRACTING = "extracting"
VALIDATING = "validating"
REVIEW_REQUIRED = "review_required"
VALIDATED = "validated"
COMPARING = "comparing"
COMPLETED = "completed"
REJECTED = "rejected"
TIMED_OUT = "timed_out"
FAILED = "failed"

REVIEW_WINDOW = timedelta(hours=24)
SAMPLE_WINDOW = timedelta(days=7)
DECIDED = ("decisions", "review_note")
IN_REVIEW = {"reject_reason": RejectReason.REJECTED_IN_REVIEW}
GIVEN_UP = {"reject_reason": RejectReason.GIVEN_UP}
BACKOFF = exponential(timedelta(seconds=10), cap=timedelta(minutes=5), jitter=0.2)

contract = Machine(
    "contract",
    initial=PENDING,
    states=[
        State(PENDING, Kind.WORK),
        State(PARSING_PDF, Kind.WORK),
        State(EXTRACTING, Kind.WORK),
        State(VALIDATING, Kind.WORK),
        State(
            REVIEW_REQUIRED,
            Kind.WAITING,
            waits_for="a reviewer to approve, correct or reject it",
            timers=(
                Reminder(timedelta(hours=12), "A contract has waited half of its 24 hours for a review."),
                Reminder(timedelta(hours=22), "A contract times out in two hours unless it is reviewed."),
                Timer(REVIEW_WINDOW, fire="time_out"),
            ),
            review=Review(
                title="Are these fields right?",
                decisions={"approve": "approve", "correct": "approve", "reject": "reject"},
                form=ReviewForm,
                due=REVIEW_WINDOW,
            ),
        ),
        State(VALIDATED, Kind.WORK),
        State(COMPARING, Kind.WORK),
        State(COMPLETED, Kind.FINAL, good=True),
        State(REJECTED, Kind.FINAL, good=False),
        State(TIMED_OUT, Kind.FINAL, good=False),
        State(FAILED, Kind.FAILED),
    ],
    transitions=[
        Transition(PENDING, PARSING_PDF, on="ingest", by=WORKER, pick_up=True),
        Transition(PARSING_PDF, EXTRACTING, on="parsed", by=WORKER),
        Transition(PARSING_PDF, FAILED, on="fail", by=(WORKER, SYSTEM)),
        Transition(EXTRACTING, VALIDATING, on="extracted", by=WORKER),
        Transition(EXTRACTING, FAILED, on="fail", by=(WORKER, SYSTEM)),
        Transition(VALIDATING, VALIDATED, on="pass", by=WORKER),
        Transition(VALIDATING, REVIEW_REQUIRED, on="ask", by=WORKER),
        Transition(VALIDATING, FAILED, on="fail", by=(WORKER, SYSTEM)),
        Transition(REVIEW_REQUIRED, VALIDATED, on="approve", by=USER, accepts=DECIDED),
        Transition(REVIEW_REQUIRED, REJECTED, on="reject", by=USER, accepts=DECIDED, sets=IN_REVIEW),
        # Only by the system's clock: a client cannot time out a review.
        Transition(REVIEW_REQUIRED, TIMED_OUT, on="time_out", by=SYSTEM),
        Transition(VALIDATED, COMPARING, on="compare", by=WORKER, pick_up=True),
        Transition(COMPARING, COMPLETED, on="compared", by=WORKER),
        Transition(COMPARING, FAILED, on="fail", by=(WORKER, SYSTEM)),
        Transition(FAILED, PARSING_PDF, on="retry", by=(SYSTEM, USER), guard=failed_at(PARSING_PDF)),
        Transition(FAILED, EXTRACTING, on="retry", by=(SYSTEM, USER), guard=failed_at(EXTRACTING)),
        Transition(FAILED, VALIDATING, on="retry", by=(SYSTEM, USER), guard=failed_at(VALIDATING)),
        Transition(FAILED, COMPARING, on="retry", by=(SYSTEM, USER), guard=failed_at(COMPARING)),
        Transition(FAILED, REJECTED, on="give_up", by=(SYSTEM, USER), sets=GIVEN_UP),
    ],
    # A step where an endpoint begins may wait for its call; /extract runs extracting and validating in one go.
    arms=[
        Arm(PENDING, on="run", by=(USER, AGENT, SYSTEM)),
        Arm(EXTRACTING, on="run", by=(USER, AGENT, SYSTEM)),
        Arm(VALIDATED, on="run", by=(USER, AGENT, SYSTEM)),
    ],
    failures=Failures(
        state=FAILED,
        retry="retry",
        rules=(Rule((NotRetryable,), retries=0, then=REJECTED, sets={"reject_reason": RejectReason.NOT_RETRYABLE}),),
        otherwise=Rule(
            (Exception,),
            retries=3,
            backoff=BACKOFF,
            then=REJECTED,
            sets={"reject_reason": RejectReason.RETRIES_EXHAUSTED},
        ),
    ),
    data=Contract,
    key=KeyScope.FOREVER,
    # Key, size and type come from the file; text and fields from reading it.
    created_through="POST /workflows/ingest",
)
