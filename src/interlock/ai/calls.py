"""What is written down: each call with its cost, each answer by the hash of its question, each intent as an effect.

`begin` runs before anything is sent: it looks for a kept answer, then for room in the budget, then writes the intent.
`ended` writes the call, the answer and the end of the effect together. Between the two the model is at work; whoever
dies there leaves an effect that was sent and never answered. For a model that is no reason to ask a person: the next
attempt writes the lost call down, and asks again. It may have been paid for twice, and two calls are told.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

import sqlalchemy as sa
from uuid_utils.compat import uuid7

from interlock.ai import prices
from interlock.ai.errors import BudgetSpent
from interlock.engine import Claim, effects
from interlock.engine.text import shortened
from interlock.engine.unit import Unit
from interlock.machine import WORKER, Actor, EffectUnknown
from interlock.store import Micros, moment, span
from interlock.store.ai import ai_answer as A
from interlock.store.ai import ai_call as C
from interlock.store.sql import upsert

KIND = "ai_call"
"""The kind of the effects."""
DAY = span(timedelta(days=1))
LOST = "AnswerLost"
"""The error of a call whose worker died before its answer was stored."""


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked, for whom, and under which hash its answer is kept."""

    instance_id: UUID | None
    workspace: str
    for_user: str | None
    trace_id: str | None
    task: str
    prompt_version: str
    tier: str
    provider: str
    model: str
    sample: int
    hash: str
    key: str | None
    """The effect's; None outside of a handler."""


@dataclass(frozen=True, slots=True)
class Budget:
    """What one user may use in a day; None is no limit."""

    nanos: int | None = None
    tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Ended:
    """What came of one request."""

    model: str
    attempt: int = 1
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost: int | None = None
    took: Micros = 0
    cached: bool = False
    output: str | None = None
    error_type: str | None = None
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Begun:
    """An answer that was kept, or leave to ask."""

    output: str | None
    model: str
    call_id: UUID | None
    effect_id: UUID | None


@dataclass(frozen=True, slots=True)
class Call:
    """One request to a model, one answer from the cache, or one by rules."""

    id: UUID
    instance_id: UUID | None
    effect_id: UUID | None
    workspace: str
    for_user: str | None
    trace_id: str | None
    task: str
    prompt_version: str
    tier: str
    provider: str
    model: str
    sample: int
    attempt: int
    input_tokens: int | None
    output_tokens: int | None
    cost: int | None
    """Billionths of a dollar; None: nobody knows."""
    took: Micros
    cached: int
    error_type: str | None
    error: str | None
    at: Micros

    @property
    def dollars(self) -> Decimal | None:
        return prices.dollars(self.cost)


@dataclass(frozen=True, slots=True)
class Spent:
    """What was used since a moment."""

    calls: int
    tokens: int
    cost: int
    """Billionths of a dollar, of those calls whose price is known."""


def begin(unit: Unit, claim: Claim | None, asked: Question, budget: Budget, useless: bool = False) -> Begun:
    """The answer that was kept, or an intent written down; BudgetSpent when the user has none left.

    `useless` says that the kept answer does not fit: it goes, and another is asked for.
    """
    this = sa.and_(A.c.workspace == asked.workspace, A.c.hash == asked.hash)
    if useless:
        unit.conn.execute(sa.delete(A).where(this))
    row = unit.conn.execute(sa.select(A.c.output, A.c.model).where(this)).first()
    if row is not None:
        told = Ended(row.model, input_tokens=0, output_tokens=0, cost=0, cached=True)
        return Begun(row.output, row.model, record(unit, asked, told, None), None)
    _check_budget(unit, asked, budget)
    effect = _intend(unit, claim, asked) if claim is not None and asked.key is not None else None
    return Begun(None, asked.model, None, effect)


def _intend(unit: Unit, claim: Claim, asked: Question) -> UUID:
    request, key = {"task": asked.task, "model": asked.model, "hash": asked.hash}, asked.key
    try:
        effect = effects.intend(unit, claim, KIND, request, key=key, asks=False)
    except EffectUnknown:
        lost = effects.unanswered(unit.conn, claim, unit.lock(claim.id), KIND, key)
        said = "the worker was lost before the answer was stored; it is asked again"
        effects.settle(unit, lost.id, "failed", error=said, actor=_actor(claim))
        record(unit, asked, Ended(asked.model, error_type=LOST, error=said), lost.id)
        effect = effects.intend(unit, claim, KIND, request, key=key, asks=False)
    if effect.done:  # its answer is gone, or no longer fits the type: this is another call
        effect = effects.intend(unit, claim, KIND, request, key=f"{key}:{uuid7()}", asks=False)
    effects.sent(unit, claim, effect.id)
    return effect.id


def _actor(claim: Claim) -> Actor:
    return Actor(WORKER, str(claim.worker))


def ended(
    unit: Unit, claim: Claim | None, asked: Question, told: Ended, effect_id: UUID | None, last: bool, call_id: UUID
) -> None:
    """Write down what came of a request; with the last one the effect ends. Doing it twice changes nothing."""
    if unit.conn.execute(sa.select(C.c.id).where(C.c.id == call_id)).first() is not None:
        return
    record(unit, asked, told, effect_id, call_id)
    if told.output is not None:
        _keep(unit, asked, told, call_id)
    if last and effect_id is not None and claim is not None:
        answer = {
            "call": str(call_id),
            "model": told.model,
            "input_tokens": told.input_tokens,
            "output_tokens": told.output_tokens,
        }
        good = told.output is not None
        # Without the claim: an answer that comes late needs nobody to put anything right, it is only kept.
        effects.settle(
            unit,
            effect_id,
            "confirmed" if good else "failed",
            answer=answer if good else None,
            error=None if good else f"{told.error_type}: {told.error}",
            actor=_actor(claim),
        )


def note(unit: Unit, _: Claim | None, asked: Question, told: Ended) -> UUID:
    """Write down a call that sent nothing, such as one by rules."""
    return record(unit, asked, told, None)


def record(unit: Unit, asked: Question, told: Ended, effect_id: UUID | None, call_id: UUID | None = None) -> UUID:
    """A row for the call, with secrets hidden in its error."""
    return unit.insert(
        C,
        id=call_id or uuid7(),
        instance_id=asked.instance_id,
        effect_id=effect_id,
        workspace=asked.workspace,
        for_user=asked.for_user,
        trace_id=asked.trace_id,
        task=asked.task,
        prompt_version=asked.prompt_version,
        tier=asked.tier,
        provider=asked.provider,
        model=told.model,
        sample=asked.sample,
        attempt=told.attempt,
        input_tokens=told.input_tokens,
        output_tokens=told.output_tokens,
        cost=told.cost,
        took=told.took,
        cached=int(told.cached),
        error_type=told.error_type,
        error=shortened(told.error) if told.error else None,
        at=unit.now,
    )


def _keep(unit: Unit, asked: Question, told: Ended, call_id: UUID) -> None:
    # Whoever is first: what somebody was told already stays what everybody is told.
    unit.conn.execute(
        upsert(A)
        .values(
            workspace=asked.workspace,
            hash=asked.hash,
            task=asked.task,
            model=told.model,
            output=told.output,
            call_id=call_id,
            at=unit.now,
        )
        .on_conflict_do_nothing()
    )


# -- budgets


def day_of(now: Micros) -> Micros:
    """When the day of this moment began, in UTC."""
    return now - now % DAY


def spent(conn: sa.Connection, workspace: str, for_user: str | None, since: Micros) -> Spent:
    """What a user used since a moment, everywhere; for no user, what the workspace used for nobody."""
    whose = [C.c.for_user == for_user] if for_user is not None else [C.c.workspace == workspace, C.c.for_user.is_(None)]
    row = conn.execute(
        sa.select(
            sa.func.count(),
            sa.func.coalesce(sa.func.sum(sa.func.coalesce(C.c.input_tokens, 0)), 0)
            + sa.func.coalesce(sa.func.sum(sa.func.coalesce(C.c.output_tokens, 0)), 0),
            sa.func.coalesce(sa.func.sum(C.c.cost), 0),
        ).where(*whose, C.c.at >= since)
    ).one()
    return Spent(*map(int, row))


def _check_budget(unit: Unit, asked: Question, budget: Budget) -> None:
    if budget.nanos is None and budget.tokens is None:
        return
    begins = day_of(unit.now)
    used, until = spent(unit.conn, asked.workspace, asked.for_user, begins), moment(begins + DAY)
    if budget.nanos is not None and used.cost >= budget.nanos:
        said = f"${prices.dollars(used.cost):.4f} of ${prices.dollars(budget.nanos):.4f} (ai.budget_dollars)"
    elif budget.tokens is not None and used.tokens >= budget.tokens:
        said = f"{used.tokens:,} of {budget.tokens:,} tokens (ai.budget_tokens)"
    else:
        return
    whose = f"the user {asked.for_user!r}" if asked.for_user is not None else f"the workspace {asked.workspace!r}"
    raise BudgetSpent(
        f"the budget of {whose} is spent: {said}; a new day begins at {until:%Y-%m-%d %H:%M} UTC", until=until
    )


# -- looking


def of(conn: sa.Connection, instance_id: UUID, *, limit: int = 1000) -> list[Call]:
    """The calls for an instance, in order."""
    rows = conn.execute(sa.select(C).where(C.c.instance_id == instance_id).order_by(C.c.id).limit(limit))
    return [Call(*row) for row in rows]


@dataclass(frozen=True, slots=True)
class DaySpend:
    """What a task used on a day."""

    day: Micros
    task: str
    model: str
    calls: int
    cached: int
    failed: int
    input_tokens: int
    output_tokens: int
    cost: int
    """Billionths of a dollar, of those calls whose price is known."""
    unpriced: int
    """Calls that cost nobody knows what."""


def spend(conn: sa.Connection, workspace: str, since: Micros, *, until: Micros | None = None) -> list[DaySpend]:
    """Calls, tokens and cost by day, task and model, the newest day first."""

    def total(value: Any) -> Any:
        return sa.func.coalesce(sa.func.sum(value), 0)

    def many(*where: Any) -> Any:
        return total(sa.case((sa.and_(*where), 1), else_=0))

    day = (C.c.at - C.c.at % sa.literal_column(str(DAY))).label("day")
    query = (
        sa.select(
            day,
            C.c.task,
            C.c.model,
            sa.func.count(),
            total(C.c.cached),
            many(C.c.error_type.is_not(None)),
            total(C.c.input_tokens),
            total(C.c.output_tokens),
            total(C.c.cost),
            many(C.c.cost.is_(None)),
        )
        .where(C.c.workspace == workspace, C.c.at >= since, *([C.c.at < until] if until is not None else []))
        .group_by(day, C.c.task, C.c.model)
        .order_by(day.desc(), C.c.task, C.c.model)
    )
    return [DaySpend(int(r[0]), r[1], r[2], *map(int, tuple(r)[3:])) for r in conn.execute(query)]
