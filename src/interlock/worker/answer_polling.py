"""Waiting for a person's answer: how often a handler looks, and what it costs.

A plain handler that waits keeps its thread and its slot. An `async def` gives its slot up until the answer is there:
its worker claims other work meanwhile, and may run more than its `concurrency` when several answers come at once.
Nothing is written while a handler waits; its lease reaches beyond the deadline, and its worker's heartbeat keeps it.
"""

from __future__ import annotations

from collections.abc import Iterator
from uuid import UUID

from interlock.engine import Claim, Engine
from interlock.engine.questions import Question, decide, look
from interlock.store import SECOND, StoreError

FIRST, LONGEST = 0.05, 0.5


def pauses() -> Iterator[float]:
    """The seconds between two looks: short at first, never so long that a cancellation goes unnoticed for a second."""
    wait = FIRST
    while True:
        yield wait
        wait = min(wait * 1.5, LONGEST)


def looked_at(engine: Engine, question_id: UUID) -> Question | None:
    """How the question stands, decided by default if its deadline has passed; None while the database is away."""
    try:
        found = engine.read(lambda conn: look(conn, question_id))
        if found.is_open and found.until <= engine.clock.now():
            engine.write(lambda unit: decide(unit, question_id), name="tick")
            found = engine.read(lambda conn: look(conn, question_id))
    except StoreError as trouble:
        if not trouble.retryable:
            raise
        return None
    return found


def time_limit(engine: Engine, claim: Claim, question: Question) -> float:
    """The steady moment until which a handler that waits may run: a whole time limit after the deadline."""
    left = max(question.until - engine.clock.now(), 0) / SECOND
    return engine.clock.steady() + left + claim.work.timeout.total_seconds()
