"""Sessions of the demo: agents work on branches in borrowed sandboxes, and people review the result."""

from __future__ import annotations

import random
from datetime import timedelta
from uuid import UUID

from interlock.apps.sessions.machine import (
    BORROWING,
    HELD,
    IN_PROGRESS,
    NEEDS_REVIEW,
    PENDING,
    RETURNED,
    RETURNING,
    STUCK,
    loan,
    session,
)
from interlock.apps.sessions.models import Loan, Resolution, Result, Session
from interlock.demo import IVO, MARA, Pace, Part, Scene
from interlock.engine import Engine, Instance
from interlock.machine import SYSTEM, Actor, Again, Go, Outcome, Spawn, WorkError
from interlock.worker import Task

PROMPTS = (
    "Add pagination to the invoices list",
    "Find out why the nightly export is empty",
    "Move the settings to TOML",
    "Write tests for the tax rules",
    "Replace the date picker",
    "Speed up the search page",
    "Fix the flaky login test",
    "Translate the mails to Danish",
    "Remove the unused feature flags",
    "Document the webhook format",
)
REPOS = ("harbour/shop", "harbour/ledger", "north/website", "north/parcel-api")
ATTIC = "harbour/attic"
"""Its sandboxes are in a rack that takes none back."""
RACKS = ("rack-a", "rack-c")
BROKEN_RACK = "rack-b"
ALLOCATOR = Actor(SYSTEM, "allocator")


class AgentCrashed(WorkError):
    """The agent's own process ended."""


class AllocatorAway(WorkError):
    """The allocator of sandboxes did not answer."""


def begin(engine: Engine, rng: random.Random, fate: str) -> UUID:
    who, name = rng.choice((MARA, IVO)), rng.choice(PROMPTS)
    branch = name.lower().replace(" ", "-")[:28].strip("-")
    data = {
        "user_id": who.name,
        "title": name,
        "repo": ATTIC if fate == "stuck" or rng.random() < 0.03 else rng.choice(REPOS),
        "branch": f"agent/{branch}",
    }
    return engine.create(session.name, data, labels={"repo": str(data["repo"])}, actor=who, by_application=True).id


def borrow(task: Task[Session], rng: random.Random) -> Outcome:
    """Borrow a sandbox, or reuse the one the session has."""
    if task.data.loan_id is not None:
        return Go(IN_PROGRESS)
    rack = BROKEN_RACK if task.data.repo == ATTIC else rng.choice(RACKS)
    made = task.spawn(Spawn(loan.name, {"session_id": str(task.id), "allocator": rack}))
    name = f"conversation-{rng.randrange(10**6):06}"
    return Go(IN_PROGRESS, data={"loan_id": str(made), "agent_session": name, "result": None, "error": None})


def work(task: Task[Session], rng: random.Random) -> Outcome:
    fortune = rng.random()
    if fortune < 0.55:
        return Again(timedelta(seconds=rng.uniform(0.5, 2)), reason="the agent takes another turn")
    if fortune > 0.98:
        raise AgentCrashed("the agent ended with exit code 137")
    diff = f"--- a/README.md\n+++ b/README.md\n@@ -1 +1,2 @@\n # {task.data.repo}\n+{task.data.title}: done.\n"
    task.keep("changes.diff", diff.encode(), media_type="text/plain")
    return Go(NEEDS_REVIEW, data={"result": Result.DONE}, reason=f"{rng.randint(2, 40)} files changed")


def lend(task: Task[Loan], rng: random.Random) -> Outcome:
    item = f"{task.data.allocator}/{rng.randrange(64)}"
    task.once("borrow_sandbox", {"allocator": task.data.allocator}, lambda _: {"item": item})
    return Go(HELD, data={"lent": True, "borrow_effect": "borrow_sandbox"})


def take_back(task: Task[Loan], rng: random.Random) -> Outcome:
    if task.data.allocator == BROKEN_RACK:
        raise AllocatorAway(f"{BROKEN_RACK} does not answer")
    return Go(RETURNED, data={"operation_id": f"op-{rng.randrange(10**6):06}"})


def react(engine: Engine, instance: Instance, rng: random.Random) -> None:
    if instance.machine == loan.name:
        found = {"resolution": Resolution.RESOLVED.value}
        engine.fire(instance.id, "resolve", actor=IVO, data=found, reason="looked at the rack: it is free")
        return
    who, fortune = rng.choice((MARA, IVO)), rng.random()
    if fortune < 0.4:
        engine.fire(instance.id, "prompt", actor=who, reason="one thing is missing")
        return
    if fortune < 0.85:
        engine.fire(instance.id, "return_ip", actor=ALLOCATOR)
    else:
        engine.fire(instance.id, "archive", actor=who, reason="merged")
    for child in engine.children(instance.id):
        if child.state == HELD:
            engine.fire(child.id, "give_back", actor=ALLOCATOR)


SESSIONS = Part(
    "sessions",
    acts={session.name: {PENDING: borrow, IN_PROGRESS: work}, loan.name: {BORROWING: lend, RETURNING: take_back}},
    begin=begin,
    react=react,
    waiting={(session.name, NEEDS_REVIEW): 5, (loan.name, STUCK): 2},
    share=12,
    minutes=25,
    scenes=(Scene("stuck", 8), Scene("", 3, left=True)),
    paces={
        (session.name, PENDING): Pace(0.3, 0.9, ("borrowing a sandbox",)),
        (session.name, IN_PROGRESS): Pace(
            2.0, 3.0, ("reading the code", "changing it", "running the tests", "writing it down")
        ),
    },
)


def parts() -> list[Part]:
    return [SESSIONS]
