"""The demo's part of sessions. In the present they are really run; acts write the stories of the past."""

from __future__ import annotations

import json
import random
from datetime import timedelta
from functools import partial
from typing import Any
from uuid import UUID

from interlock.apps.sessions import control
from interlock.apps.sessions.agents.lines import parse
from interlock.apps.sessions.allocator.lender import AllocatorUnavailable
from interlock.apps.sessions.control import NewPrompt, NewSession
from interlock.apps.sessions.conversation import messages, prompts
from interlock.apps.sessions.conversation.prompts import Ending, Prompt
from interlock.apps.sessions.demo.surroundings import ATTIC, REPOS, configure, set_up
from interlock.apps.sessions.loans import dead_letters
from interlock.apps.sessions.loans.session_loans import open_loan
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
from interlock.apps.sessions.models import Loan, Result, Session
from interlock.demo import IVO, MARA, Part, Scene
from interlock.engine import Claim, Engine, Filter, Instance, deadletters
from interlock.engine.application import Unit, instances
from interlock.machine import SYSTEM, Actor, Again, Go, Outcome, Spawn, WorkError
from interlock.people import OPERATORS
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
ASKS, FAILS = "Remove the unused feature flags", "Upgrade the payment client\n\ndemo: fail"
RACKS = ("rack-a", "rack-c")
BROKEN_RACK = "rack-b"
ALLOCATOR = Actor(SYSTEM, "allocator")
AT_WORK = 6
"""Sessions that work or wait at most; more would only wait in line."""
LEFT = 2
"""Approvals that are left for whoever looks at the demo."""


class AgentCrashed(WorkError):
    """The agent's own process ended."""


# -- people


def begin(engine: Engine, rng: random.Random, fate: str) -> UUID:
    """Start a session with a prompt; in the present only while few are at work."""
    set_up(engine)
    text = rng.choice(PROMPTS) if rng.random() < 0.9 else FAILS
    repo = ATTIC if fate == "stuck" or rng.random() < 0.03 else rng.choice(REPOS)
    who = rng.choice((MARA, IVO))

    def job(unit: Unit) -> UUID:
        busy = instances(unit.conn, session.name, states=(PENDING, IN_PROGRESS), limit=AT_WORK)
        if not fate and len(busy) == AT_WORK:
            return busy[0].id
        return _start(unit, who, repo, text)

    return engine.write(job, name="demo")


def _start(unit: Unit, who: Actor, repo: str, text: str) -> UUID:
    made, _ = control.start_with_prompt(unit, OPERATORS, who, who.name, NewSession(repo), NewPrompt(text))
    return made.id


def opening(engine: Engine, rng: random.Random) -> None:
    """Sessions that the present begins with: one that works, one that asks, one that fails."""
    for text in (PROMPTS[0], ASKS, FAILS):
        engine.write(partial(_start, who=MARA, repo=REPOS[0], text=text), name="demo")


def decide(engine: Engine, rng: random.Random) -> None:
    """Somebody answers tool calls that wait, but for the newest."""
    waiting = [one for one in engine.reviews.waiting() if one.name.startswith("tool_call_")]
    for review in waiting[:-LEFT]:
        answer = rng.choice(("allow", "deny"))
        form = {"reason": "these are still used"} if answer == "deny" else {}
        engine.reviews.decide(review.id, answer, actor=MARA, answer=form)


def react(engine: Engine, instance: Instance, rng: random.Random) -> None:
    if instance.machine == loan.name:
        engine.write(partial(_settle, loan_id=instance.id), name="demo")
        return
    who, fortune = rng.choice((MARA, IVO)), rng.random()

    def job(unit: Unit) -> None:
        found = unit.lock(instance.id)
        if found.state != NEEDS_REVIEW:
            return
        if fortune < 0.3:
            control.add_prompt(unit, found, who, who.name, NewPrompt("One thing is missing: a line in the changelog"))
        elif fortune > 0.85:
            control.archive(unit, found, who, "merged")

    engine.write(job, name="demo")
    for child in engine.children(instance.id) if fortune >= 0.3 else ():
        if child.state == HELD:
            engine.fire(child.id, "give_back", actor=ALLOCATOR)


def _settle(unit: Unit, loan_id: UUID) -> None:
    """Release a sandbox that could not be given back, so that the pool has it again."""
    for letter in deadletters.find(unit.conn, Filter(machine=loan.name)):
        if letter.instance_id == loan_id:
            dead_letters.release(unit, letter.id, IVO, "looked at the rack: it is free")


# -- acts of the past


def borrow(task: Task[Session], rng: random.Random) -> Outcome:
    """Borrow a sandbox, or reuse the one that the session has."""
    prompt = task.read(prompts.following, task.id)
    if prompt is None:
        return Go((IN_PROGRESS, NEEDS_REVIEW))
    held = task.read(open_loan, task.id)
    if held is None:
        rack = BROKEN_RACK if task.data.repo == ATTIC else rng.choice(RACKS)
        made = task.spawn(Spawn(loan.name, {"session_id": str(task.id), "allocator": rack}))
    else:
        made = held.id
    name = f"conversation-{rng.randrange(10**6):06}"
    return Go(
        IN_PROGRESS,
        data={"loan_id": str(made), "prompt_id": str(prompt.id), "agent_session": name, "result": None, "error": None},
    )


def work(task: Task[Session], rng: random.Random) -> Outcome:
    fortune = rng.random()
    if fortune < 0.4:
        return Again(timedelta(seconds=rng.uniform(0.5, 2)), reason="the agent takes another turn")
    if fortune > 0.98:
        raise AgentCrashed("the agent ended with exit code 137")
    prompt = task.read(prompts.active, task.id)
    if prompt is None:
        return Go(NEEDS_REVIEW)
    failed = "demo: fail" in prompt.text
    turns, cost = rng.randint(2, 14), round(rng.uniform(0.01, 0.9), 4)
    task.write(_say, prompt, failed, turns, cost)
    words = "The model's API failed with status 529: overloaded" if failed else f"The agent finished in {turns} turns."
    result = Result.FAILED if failed else Result.DONE
    usage = {"input_tokens": turns * 850, "output_tokens": turns * 120}
    ending = Ending(result, words, "api_error" if failed else "done", "", cost, cost, usage, turns)
    task.write(prompts.end, prompt.id, ending)
    return Go(NEEDS_REVIEW, data={"result": result, "error": words if failed else None}, reason=words)


def _say(unit: Unit, claim: Claim, prompt: Prompt, failed: bool, turns: int, cost: float) -> None:
    """What the agent printed."""
    read: dict[str, Any] = {
        "type": "tool_use",
        "id": "toolu_1",
        "name": "mcp__sandbox__read_file",
        "input": {"path": "README.md"},
    }
    lines: list[dict[str, Any]] = [
        {"type": "system", "subtype": "init", "model": "demo", "tools": ["mcp__sandbox__read_file"]},
        _assistant({"type": "text", "text": "I look at what is there."}, read),
        {
            "type": "user",
            "message": {
                "role": "user",
                "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "1\t# Shop"}],
            },
        },
        _assistant({"type": "text", "text": "API Error: 529" if failed else "It is done, with a test."}),
        {
            "type": "result",
            "subtype": "success",
            "is_error": failed,
            "num_turns": turns,
            "total_cost_usd": cost,
            "result": "API Error: 529" if failed else "It is done, with a test.",
        },
    ]
    parsed = [parse(number, json.dumps(one).encode()) for number, one in enumerate(lines, 1)]
    messages.store(unit, claim, prompt.id, parsed)


def _assistant(*content: dict[str, Any]) -> dict[str, Any]:
    return {"type": "assistant", "message": {"role": "assistant", "model": "demo", "content": list(content)}}


def lend(task: Task[Loan], rng: random.Random) -> Outcome:
    item = f"{task.data.allocator}/{rng.randrange(64)}"
    task.once("borrow_sandbox", {"allocator": task.data.allocator}, lambda _: {"item": item})
    return Go(HELD, data={"lent": True, "borrow_effect": "borrow_sandbox"})


def take_back(task: Task[Loan], rng: random.Random) -> Outcome:
    if task.data.allocator == BROKEN_RACK:
        raise AllocatorUnavailable(f"{BROKEN_RACK} does not answer")
    return Go(RETURNED, data={"operation_id": f"op-{rng.randrange(10**6):06}"})


SESSIONS = Part(
    "sessions",
    acts={session.name: {PENDING: borrow, IN_PROGRESS: work}, loan.name: {BORROWING: lend, RETURNING: take_back}},
    begin=begin,
    react=react,
    configure=configure,
    start=set_up,
    opening=opening,
    each=decide,
    waiting={(session.name, NEEDS_REVIEW): 5, (loan.name, STUCK): 2},
    share=4,
    minutes=25,
    scenes=(Scene("stuck", 8), Scene("", 3, left=True)),
)
