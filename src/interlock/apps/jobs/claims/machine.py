"""The life cycles of a job that can be applied for, and of a run that applies for it."""

from __future__ import annotations

from datetime import timedelta

from interlock.apps.jobs.claims.models import Job, Run, Verified
from interlock.machine import (
    AGENT,
    SYSTEM,
    USER,
    WORKER,
    Facts,
    KeyScope,
    Kind,
    Machine,
    Reminder,
    Review,
    State,
    Transition,
)

DISCOVERED = "discovered"
QUEUED = "queued"
APPLIED = "applied"
EXPIRED = "expired"
REJECTED = "rejected"

job = Machine(
    "job",
    initial=DISCOVERED,
    states=[
        State(DISCOVERED, Kind.WAITING, waits_for="an agent to claim it"),
        State(QUEUED, Kind.WAITING, waits_for="the run that claimed it to report how it ended"),
        State(APPLIED, Kind.FINAL, good=True),
        State(EXPIRED, Kind.FINAL),
        State(REJECTED, Kind.FINAL),
    ],
    transitions=[
        Transition(DISCOVERED, QUEUED, on="claim", by=(AGENT, WORKER), accepts=("run_id",)),
        # A person, too: they verify what a vanished run had submitted.
        Transition(QUEUED, APPLIED, on="apply", by=(AGENT, WORKER, USER)),
        Transition(QUEUED, DISCOVERED, on="release", by=(AGENT, WORKER, SYSTEM, USER)),
        # Clean-up must not touch decided jobs, nor a crawler a claimed one; a person may correct anything.
        Transition(DISCOVERED, EXPIRED, on="expire", by=(AGENT, SYSTEM, USER)),
        Transition(QUEUED, EXPIRED, on="expire", by=(SYSTEM, USER)),
        Transition((APPLIED, REJECTED), EXPIRED, on="expire", by=USER),
        Transition((DISCOVERED, QUEUED, APPLIED, EXPIRED), REJECTED, on="reject", by=USER),
    ],
    data=Job,
    key=KeyScope.FOREVER,
    # Key and lock consist of board and number: under another key the same job could be applied for twice.
    created_through='POST /api/crawler/jobs {"action": "add", …}',
)

PENDING = "pending"
SUBMITTED = "submitted"
SUCCESS = "success"
FAILED = "failed"
LOST = "lost"

REPORT, ERROR = ("artifacts",), ("error",)
VERIFY = Review(
    title="Requires verification: did this application go out?",
    decisions={"it_went_out": "succeed", "it_did_not": "fail"},
    form=Verified,
    due=timedelta(hours=24),
)
"""Asked when the lease of a run with a reported submission expires: nobody else may apply until it is decided."""


def its_own_agent(facts: Facts) -> bool | str:
    """Passes for the agent of the run and for everybody who is not an agent; an agent without a name stands for any."""
    if facts.actor.kind is not AGENT or facts.actor.name in {"", facts.data["agent"]}:
        return True
    return f"it is the run of agent {facts.data['agent']!r}, and no other agent reports for it"


run = Machine(
    "run",
    initial=PENDING,
    states=[
        State(PENDING, Kind.WAITING, waits_for="its agent to report, as long as its lease is renewed"),
        State(
            SUBMITTED,
            Kind.WAITING,
            waits_for="its agent to report how the submission ended, or a person to verify it",
            timers=(Reminder(timedelta(hours=1), "A run reported a submission and has not said how it ended."),),
        ),
        State(SUCCESS, Kind.FINAL, good=True),
        State(FAILED, Kind.FINAL, good=False),
        State(LOST, Kind.FINAL, good=False),
    ],
    transitions=[
        Transition(PENDING, SUBMITTED, on="submit", by=(AGENT, WORKER), guard=its_own_agent, merges=REPORT),
        Transition(PENDING, SUCCESS, on="succeed", by=(AGENT, WORKER), guard=its_own_agent, merges=REPORT),
        Transition(PENDING, FAILED, on="fail", by=(AGENT, WORKER), guard=its_own_agent, accepts=ERROR, merges=REPORT),
        # From pending only: a submitted run is verified, not lost with its agent.
        Transition(PENDING, LOST, on="lose", by=SYSTEM),
        Transition(SUBMITTED, SUCCESS, on="succeed", by=(AGENT, WORKER, USER), guard=its_own_agent, merges=REPORT),
        Transition(
            SUBMITTED,
            FAILED,
            on="fail",
            by=(AGENT, WORKER, USER),
            guard=its_own_agent,
            accepts=ERROR,
            merges=REPORT,
        ),
    ],
    data=Run,
    key=KeyScope.FOREVER,
    # A run holds its job's lock.
    created_through='POST /api/crawler/jobs {"action": "run", …}',
    reviews=[VERIFY],
)
