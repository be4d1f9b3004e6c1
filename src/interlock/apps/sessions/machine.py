"""The life cycles of a session and of the sandbox that it borrows."""

from __future__ import annotations

from datetime import timedelta

from interlock.apps.sessions.models import Loan, Result, Session, ToolAnswer
from interlock.machine import (
    AGENT,
    SYSTEM,
    USER,
    WORKER,
    Arm,
    EffectUnknown,
    Facts,
    Failures,
    Kind,
    Machine,
    Review,
    Rule,
    State,
    Transition,
    came_from,
    exponential,
)

PENDING = "pending"
IN_PROGRESS = "in_progress"
NEEDS_REVIEW = "needs_review"
NEEDS_REVIEW_IP_RETURNED = "needs_review_ip_returned"
ARCHIVED = "archived"


def was_worked_on(facts: Facts) -> bool:
    """A session archived while its agent worked was cancelled, so it comes back to the review of what there is."""
    return facts.previous in {IN_PROGRESS, NEEDS_REVIEW}


PATIENT = exponential(timedelta(seconds=15), cap=timedelta(minutes=5))
"""Waits 15, 30, 60 and 120 seconds: longer than an allocator takes to restart."""

TOOL_CALL = Review("May the agent do this?", decisions={"allow": "", "deny": ""}, form=ToolAnswer)
"""A call of a tool that needs a person. Only a person's decision allows it; the agent waits meanwhile."""

session = Machine(
    "session",
    initial=PENDING,
    states=[
        State(PENDING, Kind.WORK),
        State(IN_PROGRESS, Kind.WORK, lost=PENDING),
        State(NEEDS_REVIEW, Kind.WAITING, waits_for="its user to review the work or add a prompt"),
        State(NEEDS_REVIEW_IP_RETURNED, Kind.FINAL, good=True),
        State(ARCHIVED, Kind.FINAL),
    ],
    transitions=[
        # Not a pick-up: it is in progress only once it has a sandbox.
        Transition(PENDING, IN_PROGRESS, on="start", by=WORKER),
        Transition(IN_PROGRESS, NEEDS_REVIEW, on="finish", by=(WORKER, SYSTEM)),
        Transition(IN_PROGRESS, PENDING, on="lose", by=SYSTEM),
        Transition(NEEDS_REVIEW, PENDING, on="prompt", by=(USER, AGENT, SYSTEM)),
        Transition(NEEDS_REVIEW, NEEDS_REVIEW_IP_RETURNED, on="return_ip", by=SYSTEM),
        Transition(NEEDS_REVIEW_IP_RETURNED, PENDING, on="prompt", by=USER),
        Transition(PENDING, ARCHIVED, on="archive", by=USER),
        Transition(IN_PROGRESS, ARCHIVED, on="archive", by=USER, sets={"result": Result.CANCELLED}),
        # By the system after a run that was cancelled because somebody archived the session.
        Transition(NEEDS_REVIEW, ARCHIVED, on="archive", by=(USER, SYSTEM)),
        Transition(NEEDS_REVIEW_IP_RETURNED, ARCHIVED, on="archive", by=USER),
        # Only a person un-archives; the return of a sandbox does not.
        Transition(ARCHIVED, PENDING, on="unarchive", by=USER, guard=came_from(PENDING)),
        Transition(ARCHIVED, NEEDS_REVIEW, on="unarchive", by=USER, guard=was_worked_on),
        Transition(
            ARCHIVED, NEEDS_REVIEW_IP_RETURNED, on="unarchive", by=USER, guard=came_from(NEEDS_REVIEW_IP_RETURNED)
        ),
    ],
    # A session that was created without a prompt waits in pending for its first one.
    arms=[Arm(PENDING, on="prompt", by=(USER, AGENT, SYSTEM))],
    reviews=[TOOL_CALL],
    created_through="POST /sessions",
    failures=Failures(
        rules=(
            # No transition leads from pending to a review: it stays there as a dead letter until somebody retries it.
            Rule((Exception,), retries=4, backoff=PATIENT, at=(PENDING,)),
            # The agent may have changed the branch already, so a person checks before it runs again.
            Rule((EffectUnknown,), retries=0, then=NEEDS_REVIEW, sets={"result": Result.UNKNOWN}, at=(IN_PROGRESS,)),
        ),
        otherwise=Rule((Exception,), retries=0, then=NEEDS_REVIEW, sets={"result": Result.FAILED}, at=(IN_PROGRESS,)),
    ),
    data=Session,
)

BORROWING = "borrowing"
HELD = "held"
RETURNING = "returning"
RETURNED = "returned"
STUCK = "stuck"

loan = Machine(
    "loan",
    initial=BORROWING,
    states=[
        State(BORROWING, Kind.WORK),
        State(HELD, Kind.WAITING, waits_for="its session to give the sandbox back"),
        State(RETURNING, Kind.WORK),
        State(RETURNED, Kind.FINAL, good=True),
        State(STUCK, Kind.FAILED),
    ],
    transitions=[
        Transition(BORROWING, HELD, on="lend", by=WORKER),
        Transition(BORROWING, RETURNED, on="lend_nothing", by=(WORKER, SYSTEM)),
        Transition(BORROWING, STUCK, on="fail", by=(WORKER, SYSTEM)),
        Transition(HELD, RETURNING, on="give_back", by=(WORKER, SYSTEM, USER)),
        Transition(RETURNING, RETURNED, on="take_back", by=WORKER),
        Transition(RETURNING, STUCK, on="fail", by=(WORKER, SYSTEM)),
        Transition(STUCK, RETURNING, on="retry", by=USER),
        Transition(STUCK, RETURNED, on="resolve", by=USER, accepts=("resolution",)),
    ],
    failures=Failures(
        rules=(
            Rule((EffectUnknown,), retries=0, then=STUCK, at=(BORROWING,)),
            # A lost answer is looked up by token at the allocator; nothing is sent again without asking.
            Rule((EffectUnknown,), retries=4, backoff=PATIENT, then=STUCK, at=(RETURNING,)),
        ),
        # Five attempts: the first and four retries.
        otherwise=Rule((Exception,), retries=4, backoff=PATIENT, then=STUCK),
    ),
    data=Loan,
)
