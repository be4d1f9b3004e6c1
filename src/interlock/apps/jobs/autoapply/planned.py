"""Version 2 of the machine: a job is looked at before work is spent, a time can be chosen, interviews are noted.

It is off unless `[jobs.autoapply] planned` is set.
"""

from __future__ import annotations

from interlock.apps.jobs.autoapply.machine import (
    AFTER_PICK_UP,
    BY_USER,
    FAILED,
    JOB_CLOSED,
    LIFE,
    PAUSED,
    PREPARING,
    QUEUED,
    READY_TO_SUBMIT,
    REQUIRES_REVIEW,
    SUBMITTED,
    WITHDRAWN,
    nothing_left,
    version,
)
from interlock.machine import SYSTEM, USER, WORKER, Kind, State, Transition

VALIDATING = "validating"
SCHEDULED = "scheduled"
INTERVIEW_REQUESTED = "interview_requested"

SCHEDULE = "schedule"
REQUEST_INTERVIEW = "request_interview"

planned = version(
    (
        *LIFE,
        State(VALIDATING, Kind.WORK),
        State(SCHEDULED, Kind.WORK),
        State(INTERVIEW_REQUESTED, Kind.FINAL, good=True),
    ),
    (
        Transition(QUEUED, VALIDATING, on="validate", by=WORKER, pick_up=True),
        # Withdrawn while validating, it goes validating → paused → withdrawn in one transaction.
        Transition(VALIDATING, PREPARING, on="prepare", by=WORKER),
        Transition(VALIDATING, WITHDRAWN, on="close", by=WORKER, sets=JOB_CLOSED),
        Transition(VALIDATING, FAILED, on="fail", by=(WORKER, SYSTEM)),
        Transition(VALIDATING, PAUSED, on="pause", by=USER),
        *AFTER_PICK_UP,
        Transition(READY_TO_SUBMIT, SCHEDULED, on=SCHEDULE, by=(WORKER, USER), accepts=("scheduled_for",)),
        Transition(
            REQUIRES_REVIEW,
            SCHEDULED,
            on=SCHEDULE,
            by=(WORKER, USER),
            accepts=("scheduled_for", "approved_packet"),
            guard=nothing_left,
        ),
        Transition(SCHEDULED, READY_TO_SUBMIT, on="release", by=WORKER),
        Transition(SCHEDULED, PAUSED, on="pause", by=USER),
        Transition(SCHEDULED, WITHDRAWN, on="withdraw", by=USER, sets=BY_USER),
        Transition(SUBMITTED, INTERVIEW_REQUESTED, on=REQUEST_INTERVIEW, by=USER),
        Transition(INTERVIEW_REQUESTED, WITHDRAWN, on="withdraw", by=USER, sets=BY_USER),
    ),
)
