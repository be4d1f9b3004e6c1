"""The life cycle of an application, from a match to its submission or withdrawal."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from interlock.apps.jobs.autoapply.errors import (
    AlreadyApplied,
    GenerationTimeout,
    InvalidJobUrl,
    JobClosed,
    ModelQuotaExceeded,
    SiteUnreachable,
)
from interlock.apps.jobs.autoapply.models import Application, ByHandForm, ReviewForm, ReviewReason, WithdrawReason
from interlock.machine import (
    SYSTEM,
    USER,
    WORKER,
    Arm,
    Ask,
    EffectUnknown,
    Facts,
    Failures,
    KeyScope,
    Kind,
    LimitReached,
    Machine,
    Pause,
    Reminder,
    Review,
    Rule,
    State,
    Transition,
    Window,
    exponential,
)
from interlock.machine.transitions import PEOPLE

QUEUED = "queued"
PREPARING = "preparing"
READY_TO_SUBMIT = "ready_to_submit"
REQUIRES_REVIEW = "requires_review"
SUBMITTED = "submitted"
FAILED = "failed"
PAUSED = "paused"
WITHDRAWN = "withdrawn"

SUBMISSION = "submit_application"
"""The kind of the effect that sends an application."""
USER_DAY = "user_day"
RULE_DAY = "rule_day"
RULE_WEEK = "rule_week"
COMPANY_COOLDOWN = "company_cooldown"
GLOBAL_HOUR = "global_hour"


def _verifying(facts: Facts) -> bool:
    return facts.data.get("review_reason") == ReviewReason.VERIFY_SUBMISSION


def _by_hand(facts: Facts) -> bool:
    return facts.data.get("review_reason") == ReviewReason.SUBMIT_BY_HAND


def nothing_left(facts: Facts) -> bool | str:
    """Passes unless an earlier submission may have arrived: approving that one would send it twice."""
    if _verifying(facts):
        return "a submission may have arrived already; verify it, then say whether it did"
    if _by_hand(facts):
        return "only you can send it; send it, then say whether you submitted it"
    asked = facts.data.get("open_questions") or 0
    return not asked or f"{asked} questions of the form need your answer first"


def people_verify(facts: Facts) -> bool | str:
    """Passes for a worker who submitted, and for a person who knows the outcome: unknown to us, or by hand."""
    if facts.actor.kind not in PEOPLE or _verifying(facts) or _by_hand(facts):
        return True
    return "only a submission whose outcome is unknown can be verified; approve or reject the application instead"


VERIFY_SUBMISSION = Review(
    title="Did the application arrive?",
    decisions={"arrived": "submit", "not_arrived": "fail"},
    settles={"arrived": "confirmed", "not_arrived": "failed"},
)
"""The review that opens when a submission was sent and no answer came."""

SUBMIT_BY_HAND = Review(
    title="Have you sent this application?",
    decisions={"submitted": "submit", "failed": "fail", "later": "pause", "reject": "reject"},
    form=ByHandForm,
)
"""The review that opens where only a person can send the packet."""

BACKOFF = exponential(timedelta(minutes=15))
EXHAUSTED = {"withdraw_reason": WithdrawReason.RETRIES_EXHAUSTED}
INVALID_URL = {"withdraw_reason": WithdrawReason.INVALID_URL}
JOB_CLOSED = {"withdraw_reason": WithdrawReason.JOB_CLOSED}
UNKNOWN = {"review_reason": ReviewReason.VERIFY_SUBMISSION}
TAKEN = {"withdraw_reason": WithdrawReason.ALREADY_APPLIED}
PACKET = {"review_reason": ReviewReason.APPROVE_PACKET}
ASK_TO_VERIFY = Ask("verify_submission", VERIFY_SUBMISSION)
BY_USER = {"withdraw_reason": WithdrawReason.USER}
REJECTED = {"withdraw_reason": WithdrawReason.REJECTED_IN_REVIEW}
AN_HOUR = Pause(PAUSED, resume="resume", wait=timedelta(hours=1))
UNTIL_RESET = Pause(PAUSED, resume="resume")

LIFE = (
    State(QUEUED, Kind.WORK),
    State(PREPARING, Kind.WORK),
    State(READY_TO_SUBMIT, Kind.WORK),
    State(SUBMITTED, Kind.FINAL, good=True),
    State(FAILED, Kind.FAILED),
    State(PAUSED, Kind.WAITING, waits_for="its user to resume or cancel it, or for the moment set by the system"),
    State(
        REQUIRES_REVIEW,
        Kind.WAITING,
        waits_for="its user to approve or reject it",
        timers=(Reminder(timedelta(hours=48), "An application has waited two days for your approval."),),
        review=Review(
            title="Submit this application?",
            decisions={"approve": "approve", "reject": "reject", "later": "pause"},
            form=ReviewForm,
        ),
    ),
    State(WITHDRAWN, Kind.FINAL),
)
PICK_UP = Transition(QUEUED, PREPARING, on="prepare", by=WORKER, pick_up=True)
AFTER_PICK_UP = (
    Transition(QUEUED, PAUSED, on="pause", by=USER),
    Transition(QUEUED, WITHDRAWN, on="withdraw", by=USER, sets=BY_USER),
    # Withdrawn while preparing, it goes preparing → paused → withdrawn in one transaction.
    Transition(PREPARING, READY_TO_SUBMIT, on="prepared", by=WORKER),
    Transition(PREPARING, FAILED, on="fail", by=(WORKER, SYSTEM)),
    Transition(PREPARING, PAUSED, on="pause", by=USER),
    Transition(READY_TO_SUBMIT, REQUIRES_REVIEW, on="ask", by=WORKER, sets=PACKET),
    Transition(READY_TO_SUBMIT, SUBMITTED, on="submit", by=WORKER),
    Transition(READY_TO_SUBMIT, FAILED, on="fail", by=(WORKER, SYSTEM)),
    Transition(READY_TO_SUBMIT, PAUSED, on="pause", by=USER),
    Transition(READY_TO_SUBMIT, WITHDRAWN, on="withdraw", by=USER, sets=BY_USER),
    Transition(REQUIRES_REVIEW, SUBMITTED, on="submit", by=(WORKER, USER), guard=people_verify),
    Transition(REQUIRES_REVIEW, WITHDRAWN, on="reject", by=USER, sets=REJECTED),
    Transition(REQUIRES_REVIEW, WITHDRAWN, on="withdraw", by=USER, sets=BY_USER),
    Transition(REQUIRES_REVIEW, PAUSED, on="pause", by=USER),
    Transition(REQUIRES_REVIEW, FAILED, on="fail", by=(WORKER, SYSTEM, USER), guard=people_verify),
    Transition(FAILED, QUEUED, on="retry", by=(SYSTEM, USER)),
    Transition(FAILED, WITHDRAWN, on="withdraw", by=(SYSTEM, USER), sets=BY_USER),
    Transition(FAILED, PAUSED, on="pause", by=(SYSTEM, USER)),
    Transition(PAUSED, QUEUED, on="resume", by=(USER, SYSTEM)),
    Transition(PAUSED, WITHDRAWN, on="withdraw", by=USER, sets=BY_USER),
    Transition(SUBMITTED, WITHDRAWN, on="withdraw", by=USER, sets=BY_USER),
)
FAILURES = Failures(
    state=FAILED,
    retry="retry",
    rules=(
        # Never through failed, which leads back to the queue and to a second submission.
        Rule(
            (EffectUnknown,),
            at=(READY_TO_SUBMIT, REQUIRES_REVIEW),
            then=REQUIRES_REVIEW,
            sets=UNKNOWN,
            asks=(ASK_TO_VERIFY,),
            dead_letter=False,
        ),
        Rule((GenerationTimeout,), retries=3, backoff=BACKOFF, then=WITHDRAWN, sets=EXHAUSTED),
        Rule((SiteUnreachable,), retries=3, backoff=BACKOFF, then=WITHDRAWN, sets=EXHAUSTED),
        Rule((ModelQuotaExceeded,), retries=5, pause=AN_HOUR, then=WITHDRAWN, sets=EXHAUSTED),
        Rule((InvalidJobUrl,), retries=0, then=WITHDRAWN, sets=INVALID_URL, dead_letter=False),
        Rule((JobClosed,), retries=0, then=WITHDRAWN, sets=JOB_CLOSED, dead_letter=False),
        Rule((AlreadyApplied,), retries=0, then=WITHDRAWN, sets=TAKEN, dead_letter=False),
        Rule((LimitReached,), retries=None, pause=UNTIL_RESET),
    ),
    otherwise=Rule((Exception,), retries=3, backoff=BACKOFF, then=WITHDRAWN, sets=EXHAUSTED),
)
# Checked when it is queued, taken with the intent to submit. A retried application counts once, or it would wait
# for itself; only the breaker counts every attempt.
LIMITS = (
    Window(USER_DAY, key="{seeker}", size="daily_limit", per=timedelta(days=1), once=True),
    Window(RULE_DAY, key="{seeker}/{rule_id}", size="rule_daily_limit", per=timedelta(days=1), once=True),
    Window(RULE_WEEK, key="{seeker}/{rule_id}", size="weekly_limit", per=timedelta(days=7), once=True),
    Window(COMPANY_COOLDOWN, key="{seeker}/{company_key}", size=1, per=timedelta(days=7), once=True),
    Window(GLOBAL_HOUR, key="all", size=1000, per=timedelta(hours=1)),
)


def version(states: Sequence[State], transitions: Sequence[Transition]) -> Machine:
    """A version of the machine: what the versions differ in is their states and transitions."""
    return Machine(
        "application",
        initial=QUEUED,
        states=states,
        transitions=transitions,
        arms=[
            Arm(REQUIRES_REVIEW, on="approve", by=USER, accepts=("approved_packet",), guard=nothing_left),
        ],
        failures=FAILURES,
        limits=LIMITS,
        data=Application,
        key=KeyScope.LIVE,
        cancel=WITHDRAWN,
        reviews=[SUBMIT_BY_HAND],
        # Its record, its limits and its one place for an opening are made with it.
        created_through="POST /auto-apply/enqueue",
    )


application = version(LIFE, (PICK_UP, *AFTER_PICK_UP))
"""Version 1."""
