"""The engine: create, fire, claim, finish, timers, leases, limits, effects, lineage, reviews, audit, explain.

The protocol of one instance, under eight laws:

* `create` writes the row, its first history row and its next work in one transaction.
* Ready work (`wake = 'work'`, `due_at` past) is claimed: the claim sets holder, deadline and a new fence, and takes
  the declared pick-up. While `wake = 'lease'`, only the holder with that fence may finish.
* `finish` applies one outcome, all of it or nothing: moves along declared transitions with a history row each, the
  next work, messages, children and limits. A late outcome changes nothing.
* An event fired by a person, an agent, a timer or the system takes the lease away and moves the instance.
* A failure is counted per step and rule, and becomes a retry, a pause, a move or a dead letter.
* Due work (`wake = 'resume'`, timers, time limits, lost workers) is done by whichever process finds it first.

Everything is a synchronous function of a `Unit` (the changes of one transaction). `Engine` runs each in a transaction
of its own, `Engine.within` in that of the caller, and `AsyncEngine` in a thread.
"""

from interlock.engine.aio import AsyncEngine
from interlock.engine.audit.replaying import Past, Verdict
from interlock.engine.audit.replaying import Row as HistoryRow
from interlock.engine.claiming import Claim
from interlock.engine.deadletters import DeadLetter, Filter
from interlock.engine.effects import Effect
from interlock.engine.engine import Created, Engine
from interlock.engine.errors import (
    Allowed,
    AlreadyDecided,
    CreatedElsewhere,
    EngineError,
    Fenced,
    Forbidden,
    InvalidData,
    KeyTaken,
    LeaseTaken,
    NotFinished,
    NotFound,
    NotServed,
    OutOfDate,
    Refused,
    ReviewClaimed,
    Unreadable,
)
from interlock.engine.explain import Explanation, Upcoming
from interlock.engine.finishing import Result
from interlock.engine.instance import Instance
from interlock.engine.leases import Lease
from interlock.engine.listing import Where
from interlock.engine.questions import Answer, QuestionClosed
from interlock.engine.reviews import OpenReview
from interlock.engine.unit import Unit
from interlock.engine.workers import WorkerRow

__all__ = [
    "Allowed",
    "AlreadyDecided",
    "Answer",
    "AsyncEngine",
    "Claim",
    "Created",
    "CreatedElsewhere",
    "DeadLetter",
    "Effect",
    "Engine",
    "EngineError",
    "Explanation",
    "Fenced",
    "Filter",
    "Forbidden",
    "HistoryRow",
    "Instance",
    "InvalidData",
    "KeyTaken",
    "Lease",
    "LeaseTaken",
    "NotFinished",
    "NotFound",
    "NotServed",
    "OpenReview",
    "OutOfDate",
    "Past",
    "QuestionClosed",
    "Refused",
    "Result",
    "ReviewClaimed",
    "Unit",
    "Unreadable",
    "Upcoming",
    "Verdict",
    "Where",
    "WorkerRow",
]
