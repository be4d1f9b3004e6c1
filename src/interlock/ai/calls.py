"""Records of model calls: each call with its cost, each answer by the hash of its question, each intent as an effect.

`begin` runs before anything is sent: it looks for a stored answer, checks the budget, and records the intent. `ended`
records the call, the answer and the end of the effect together. A worker that dies between the two leaves an effect
that was sent and never answered. For a model this is no reason to ask a person: the next attempt records the lost call
and asks again. The answer may have been paid for twice, and two calls are recorded.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any
from uuid import UUID

import sqlalchemy as sa
from uuid_utils.compat import uuid7

from interlock.ai import prices
from interlock.ai.errors import BudgetSpent, TotalBudgetSpent
from interlock.config import BudgetSettings
from interlock.engine import Claim, Instance, effects
from interlock.engine.text import shortened
from interlock.engine.unit import Unit
from interlock.machine import WORKER, Actor, EffectUnknown
from interlock.store import Micros, moment
from interlock.store.ai import ai_answer as A
from interlock.store.ai import ai_call as C
from interlock.store.sql import upsert
from interlock.watch import costs
from interlock.watch.costs import DAY, day_of

KIND = "ai_call"
"""The kind of the effects."""
RULES = "rules"
"""The model of a call that asked none."""
LOST = "AnswerLost"
"""The error of a call whose worker died before its answer was stored."""


@dataclass(frozen=True, slots=True)
class Question:
    """A question, its caller, and the hash under which its answer is stored."""

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
    """The key of the effect; None outside a handler."""
    machine: str = ""
    """The caller's; empty outside a handler."""


@dataclass(frozen=True, slots=True)
class Budget:
    """A user's daily limits, None meaning no limit, and the budgets of the installation and of applications."""

    nanos: int | None = None
    tokens: int | None = None
    totals: Mapping[str, BudgetSettings] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Ended:
    """The outcome of one request."""

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
    """A stored answer, or the permission to ask."""

    output: str | None
    model: str
    call_id: UUID | None
    effect_id: UUID | None


@dataclass(frozen=True, slots=True)
class Call:
    """One model call, one cached answer, or one answer by rules."""

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
    """Billionths of a dollar; None if unknown."""
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
    """Usage since a moment."""

    calls: int
    tokens: int
    cost: int
    """Billionths of a dollar, for calls whose price is known."""


def begin(unit: Unit, claim: Claim | None, question: Question, budget: Budget, useless: bool = False) -> Begun:
    """Return the stored answer, or record the intent to ask. Raises BudgetSpent.

    With `useless`, the stored answer is invalid: it is deleted, and a new one is requested.
    """
    this = sa.and_(A.c.workspace == question.workspace, A.c.hash == question.hash)
    if useless:
        unit.conn.execute(sa.delete(A).where(this))
    row = unit.conn.execute(sa.select(A.c.output, A.c.model).where(this)).first()
    if row is not None:
        outcome = Ended(row.model, input_tokens=0, output_tokens=0, cost=0, cached=True)
        return Begun(row.output, row.model, record(unit, question, outcome, None), None)
    _check_budget(unit, question, budget)
    effect = _intend(unit, claim, question) if claim is not None and question.key is not None else None
    return Begun(None, question.model, None, effect)


def _intend(unit: Unit, claim: Claim, question: Question) -> UUID:
    request, key = {"task": question.task, "model": question.model, "hash": question.hash}, question.key
    try:
        effect = effects.intend(unit, claim, KIND, request, key=key, asks=False)
    except EffectUnknown:
        lost = effects.unanswered(unit.conn, claim, unit.lock(claim.id), KIND, key)
        said = "the worker was lost before the answer was stored; the call is repeated"
        effects.settle(unit, lost.id, "failed", error=said, actor=_actor(claim))
        record(unit, question, Ended(question.model, error_type=LOST, error=said), lost.id)
        effect = effects.intend(unit, claim, KIND, request, key=key, asks=False)
    if effect.done:  # its answer is gone or no longer matches the type: this is another call
        effect = effects.intend(unit, claim, KIND, request, key=f"{key}:{uuid7()}", asks=False)
    effects.sent(unit, claim, effect.id)
    return effect.id


def _actor(claim: Claim) -> Actor:
    return Actor(WORKER, str(claim.worker))


def ended(
    unit: Unit,
    claim: Claim | None,
    question: Question,
    outcome: Ended,
    effect_id: UUID | None,
    last: bool,
    call_id: UUID,
) -> None:
    """Record the outcome of a request. The last one also ends the effect. Repeating it changes nothing."""
    if unit.conn.execute(sa.select(C.c.id).where(C.c.id == call_id)).first() is not None:
        return
    if outcome.output is not None:
        _keep(unit, question, outcome, call_id)
    if last and effect_id is not None and claim is not None:
        answer = {
            "call": str(call_id),
            "model": outcome.model,
            "input_tokens": outcome.input_tokens,
            "output_tokens": outcome.output_tokens,
        }
        good = outcome.output is not None
        # Without the claim: a late answer needs no correction and is only stored.
        effects.settle(
            unit,
            effect_id,
            "confirmed" if good else "failed",
            answer=answer if good else None,
            error=None if good else f"{outcome.error_type}: {outcome.error}",
            actor=_actor(claim),
        )
    record(unit, question, outcome, effect_id, call_id)


def note(unit: Unit, _: Claim | None, question: Question, outcome: Ended) -> UUID:
    """Record a call that sent nothing, such as one by rules."""
    return record(unit, question, outcome, None)


def record(unit: Unit, question: Question, outcome: Ended, effect_id: UUID | None, call_id: UUID | None = None) -> UUID:
    """Insert the row of a call, with secrets removed from its error, and add it to the costs of its day."""
    costs.add(
        unit.conn,
        question.workspace,
        unit.now,
        machine=question.machine,
        task=question.task,
        model=outcome.model,
        input_tokens=outcome.input_tokens,
        output_tokens=outcome.output_tokens,
        cost=outcome.cost,
        cached=outcome.cached,
        failed=outcome.error_type is not None,
    )
    return unit.insert(
        C,
        id=call_id or uuid7(),
        instance_id=question.instance_id,
        effect_id=effect_id,
        workspace=question.workspace,
        for_user=question.for_user,
        trace_id=question.trace_id,
        task=question.task,
        prompt_version=question.prompt_version,
        tier=question.tier,
        provider=question.provider,
        model=outcome.model,
        sample=question.sample,
        attempt=outcome.attempt,
        input_tokens=outcome.input_tokens,
        output_tokens=outcome.output_tokens,
        cost=outcome.cost,
        took=outcome.took,
        cached=int(outcome.cached),
        error_type=outcome.error_type,
        error=shortened(outcome.error) if outcome.error else None,
        at=unit.now,
    )


def report(
    unit: Unit,
    instance: Instance,
    task: str,
    model: str,
    *,
    input_tokens: int | None,
    output_tokens: int | None,
    cost: int | None,
    failed: bool = False,
) -> None:
    """Add what a program of its own spent for an instance, such as an agent, to the costs of its day.

    `cost` is in billionths of a dollar. Call it last in a transaction: the sums stay locked until the commit.
    """
    costs.add(
        unit.conn,
        instance.workspace,
        unit.now,
        machine=instance.machine,
        task=task,
        model=model,
        input_tokens=input_tokens,
        output_tokens=output_tokens,
        cost=cost,
        failed=failed,
    )


def _keep(unit: Unit, question: Question, outcome: Ended, call_id: UUID) -> None:
    # The first answer wins, so that everybody gets the same.
    unit.conn.execute(
        upsert(A)
        .values(
            workspace=question.workspace,
            hash=question.hash,
            task=question.task,
            model=outcome.model,
            output=outcome.output,
            call_id=call_id,
            at=unit.now,
        )
        .on_conflict_do_nothing()
    )


# -- budgets


def spent(conn: sa.Connection, workspace: str, for_user: str | None, since: Micros) -> Spent:
    """A user's usage since a moment, everywhere; without a user, the workspace's own."""
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


def _check_budget(unit: Unit, question: Question, budget: Budget) -> None:
    _check_totals(unit, question.machine, budget.totals)
    if budget.nanos is None and budget.tokens is None:
        return
    begins = day_of(unit.now)
    used, until = spent(unit.conn, question.workspace, question.for_user, begins), moment(begins + DAY)
    if budget.nanos is not None and used.cost >= budget.nanos:
        said = f"${prices.dollars(used.cost):.4f} of ${prices.dollars(budget.nanos):.4f} (ai.budget_dollars)"
    elif budget.tokens is not None and used.tokens >= budget.tokens:
        said = f"{used.tokens:,} of {budget.tokens:,} tokens (ai.budget_tokens)"
    else:
        return
    whose = (
        f"the user {question.for_user!r}" if question.for_user is not None else f"the workspace {question.workspace!r}"
    )
    raise BudgetSpent(
        f"the budget of {whose} is spent: {said}; a new day begins at {until:%Y-%m-%d %H:%M} UTC", until=until
    )


def require_budget(unit: Unit, claim: Claim) -> None:
    """Raise TotalBudgetSpent if the budget of the claim's application or of the installation is spent."""
    _check_totals(unit, claim.machine.name, costs.limits_of(unit.core.settings))


def _check_totals(unit: Unit, machine: str, totals: Mapping[str, BudgetSettings]) -> None:
    """Check the budgets of the installation and of the machine's application."""
    if not totals:
        return
    registry = unit.core.registry
    mine = {costs.INSTALLATION, costs.application_of(registry, machine)}
    kept = {whose: limits for whose, limits in totals.items() if whose in mine}
    spent = [one for one in costs.budgets(unit.conn, registry, kept, unit.now) if one.spent]
    if spent:
        one = max(spent, key=lambda one: one.until)
        until = moment(one.until)
        raise TotalBudgetSpent(
            f"{one.words} is spent: {one.amounts} (ai.budgets.{one.whose}.{one.period}); the next one begins at "
            f"{until:%Y-%m-%d %H:%M} UTC",
            until=until,
        )


# -- reading


def of(conn: sa.Connection, instance_id: UUID, *, limit: int = 1000) -> list[Call]:
    """The model calls of an instance, in order."""
    rows = conn.execute(sa.select(C).where(C.c.instance_id == instance_id).order_by(C.c.id).limit(limit))
    return [Call(*row) for row in rows]


def paid_for(instance_id: sa.ColumnElement[Any]) -> sa.ColumnElement[bool]:
    """A condition for queries of other tables: a model was asked for this instance, and not only rules or the store."""
    asked = sa.select(sa.literal(1)).where(C.c.instance_id == instance_id, C.c.cached == 0, C.c.model != RULES)
    return sa.exists(asked.correlate_except(C))
