"""Model calls of an instance, and costs."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from typing import Annotated, Literal, Self
from uuid import UUID

import sqlalchemy as sa
from fastapi import APIRouter, Query
from fastapi.responses import Response
from pydantic import Field

from interlock.ai import calls, prices
from interlock.http.caller import Caller, TheService, require, visible, workspace_of
from interlock.http.models import EXAMPLE_ID, Answer
from interlock.people import OPERATORS
from interlock.store import SECOND, moment
from interlock.watch import costs

router = APIRouter(tags=["models"])


class AiCallOut(Answer):
    """One model call, one cached answer, or one answer by rules."""

    id: UUID = Field(examples=[EXAMPLE_ID])
    task: str = Field(examples=["extract"])
    prompt_version: str
    tier: str = Field(examples=["strong"])
    provider: str = Field(examples=["anthropic"])
    model: str = Field(description="`rules` if no model was called.")
    user: str | None = Field(description="The person whose budget it counts against; null: the workspace's.")
    sample: int
    attempt: int = Field(description="2: repeated because the first answer did not match its type.")
    input_tokens: int | None
    output_tokens: int | None
    cost: Decimal | None = Field(description="In dollars; null if unknown.")
    seconds: float
    cached: bool = Field(description="Answered from the cache.")
    error_type: str | None = Field(examples=["ModelTimeout"])
    error: str | None
    trace_id: str | None
    at: datetime

    @classmethod
    def of(cls, c: calls.Call) -> Self:
        return cls(
            id=c.id,
            task=c.task,
            prompt_version=c.prompt_version,
            tier=c.tier,
            provider=c.provider,
            model=c.model,
            user=c.for_user,
            sample=c.sample,
            attempt=c.attempt,
            input_tokens=c.input_tokens,
            output_tokens=c.output_tokens,
            cost=c.dollars,
            seconds=c.took / SECOND,
            cached=bool(c.cached),
            error_type=c.error_type,
            error=c.error,
            trace_id=c.trace_id,
            at=moment(c.at),
        )


class AiCallList(Answer):
    """The model calls of an instance, in order."""

    calls: list[AiCallOut]


@router.get("/api/instances/{id}/ai-calls", summary="The model calls of an instance", response_model=AiCallList)
async def list_ai_calls(service: TheService, who: Caller, id: UUID) -> Response:
    await visible(service, who, id)
    found = await service.read(lambda conn: calls.of(conn, id))
    return await service.answer(lambda: AiCallList(calls=[AiCallOut.of(c) for c in found]))


def _dollars(nano: int) -> Decimal:
    return prices.dollars(nano) or Decimal(0)


class CostOut(Answer):
    """What a task used on a day."""

    day: datetime
    application: str | None = Field(description="Null: of a machine without an application, or outside of a handler.")
    machine: str | None
    task: str
    model: str = Field(description="`rules` if no model was called.")
    calls: int
    cached: int
    failed: int
    input_tokens: int
    output_tokens: int
    cost: Decimal = Field(description="In dollars, of those calls whose price is known.")
    unpriced: int = Field(description="Calls of unknown cost.")


class BudgetOut(Answer):
    """A budget of models, and what is used of it."""

    of: str = Field(description="An application, or `all`.", examples=["all"])
    period: Literal["day", "month"]
    limit: Decimal = Field(description="In dollars.")
    used: Decimal = Field(description="In dollars.")
    share: float = Field(description="The used part; 1 or more: calls are refused.", examples=[0.8])
    until: datetime = Field(description="When the next period begins.")

    @classmethod
    def of_budget(cls, b: costs.Budget) -> Self:
        return cls(
            of=b.whose,
            period=b.period,
            limit=_dollars(b.limit),
            used=_dollars(b.used),
            share=b.share,
            until=moment(b.until),
        )


class CostList(Answer):
    """By day (UTC), machine, task and model, newest first."""

    workspace: str | None = Field(description="Null: all workspaces together.")
    total: Decimal = Field(description="In dollars, of those calls whose price is known.")
    costs: list[CostOut]
    budgets: list[BudgetOut] = Field(description="Of the installation and of applications; empty for one workspace.")


@router.get("/api/costs", summary="What models cost, by day, application and task", response_model=CostList)
async def get_costs(
    service: TheService,
    who: Caller,
    workspace: Annotated[str | None, Query(max_length=200)] = None,
    days: Annotated[int, Query(ge=1, le=400)] = 30,
) -> Response:
    whole = workspace is None and who.may("read", OPERATORS)
    where = costs.ALL if whole else workspace_of(who, workspace)
    if not whole:
        require(who, "read", where, f"workspace {where!r}")
    engine, now = service.engine, service.engine.clock.now()

    def read(conn: sa.Connection) -> tuple[list[costs.DayCost], list[costs.Budget]]:
        found = costs.by_day(conn, [where], now - (days - 1) * costs.DAY)
        limits = costs.limits_of(engine.core.settings) if whole else {}
        return found, costs.budgets(conn, engine.registry, limits, now)

    found, budgets = await service.read(read)
    rows = [
        CostOut(
            day=moment(one.day),
            application=costs.application_of(engine.registry, one.machine),
            machine=one.machine or None,
            task=one.task,
            model=one.model,
            calls=one.calls,
            cached=one.cached,
            failed=one.failed,
            input_tokens=one.input_tokens,
            output_tokens=one.output_tokens,
            cost=_dollars(one.cost),
            unpriced=one.unpriced,
        )
        for one in found
    ]
    total = _dollars(sum(one.cost for one in found))
    return await service.answer(
        lambda: CostList(
            workspace=None if whole else where,
            total=total,
            costs=rows,
            budgets=[BudgetOut.of_budget(one) for one in budgets],
        )
    )
