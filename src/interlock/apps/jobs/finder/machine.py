"""The life cycles of the finder's three kinds of items: a company, a source and a listing."""

from __future__ import annotations

from datetime import timedelta

from interlock.apps.jobs.finder.models import Company, Listing, Source
from interlock.machine import (
    SYSTEM,
    USER,
    WORKER,
    Arm,
    Failures,
    KeyScope,
    Kind,
    Machine,
    Review,
    Rule,
    State,
    Transition,
    exponential,
)

PENDING = "PENDING"
PROCESSING = "PROCESSING"
SUCCESS = "SUCCESS"
FILTERED = "FILTERED"
SKIPPED = "SKIPPED"
FAILED = "FAILED"

STATES = [
    State(PENDING, Kind.WORK),
    State(PROCESSING, Kind.WORK),
    State(SUCCESS, Kind.FINAL, good=True),
    State(SKIPPED, Kind.FINAL),
    State(FAILED, Kind.FAILED),
]

TRANSITIONS = [
    Transition(PENDING, PROCESSING, on="start", by=WORKER, pick_up=True),
    Transition(PROCESSING, SUCCESS, on="succeed", by=WORKER),
    Transition(PROCESSING, SKIPPED, on="skip", by=WORKER),
    Transition(PROCESSING, FAILED, on="fail", by=(WORKER, SYSTEM)),
    # Only inside a chain, together with PROCESSING → SUCCESS: an instance that stays in SUCCESS has done its last
    # stage. So a crawl, which a schedule starts, is a new source that begins at the stage CRAWL.
    Transition(SUCCESS, PENDING, on="next_stage", by=WORKER),
    Transition(FAILED, PENDING, on="retry", by=(SYSTEM, USER)),
]

FAILURES = Failures(
    state=FAILED,
    retry="retry",
    # A private address, robots.txt, a board that is not there: asking again would give the same answer.
    rules=(Rule(("NoRetryHelps", "FetchRefused"), retries=0, then=None),),
    otherwise=Rule(
        (Exception,),
        retries=3,
        retries_setting="jobs.max_retries",
        backoff=exponential(timedelta(seconds=30), cap=timedelta(minutes=10), jitter=0.2),
        then=None,
    ),
)

APPROVE_BOARD = Review("Is this the company's job board?", decisions={"discover": "", "dismiss": ""})
"""Asked about a board that is not certain. `discover` looks at it as a source."""
VALIDATE_SOURCE = Review("Crawl this source?", decisions={"enable": "", "reject": ""})
"""Asked about a source whose confidence is not high, with the first rows that were read."""

company = Machine(
    "company",
    initial=PENDING,
    states=STATES,
    transitions=TRANSITIONS,
    failures=FAILURES,
    data=Company,
    stage="stage",
    key=KeyScope.LIVE,
    max_depth=10,
    reviews=[APPROVE_BOARD],
)

source = Machine(
    "source",
    initial=PENDING,
    states=STATES,
    transitions=TRANSITIONS,
    failures=FAILURES,
    data=Source,
    stage="stage",
    key=KeyScope.LIVE,
    max_depth=10,
    reviews=[VALIDATE_SOURCE],
)

listing = Machine(
    "listing",
    initial=PENDING,
    states=[*STATES, State(FILTERED, Kind.FINAL)],
    transitions=[*TRANSITIONS, Transition(PROCESSING, FILTERED, on="filter", by=WORKER)],
    # A listing without a profile to filter by waits unstarted, and goes on when there is one.
    arms=[Arm(PENDING, on="profile_given", by=(SYSTEM, USER))],
    failures=FAILURES,
    data=Listing,
    stage="stage",
    key=KeyScope.LIVE,
    max_depth=10,
)
