"""Model calls of an instance, and spend."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from typing import Annotated, Self
from uuid import UUID

from fastapi import APIRouter, Query
from fastapi.responses import Response
from pydantic import Field

from interlock.ai import calls, prices
from interlock.http.caller import Caller, TheService, require, visible, workspace_of
from interlock.http.models import EXAMPLE_ID, Answer
from interlock.store import SECOND, moment

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


class SpendOut(Answer):
    """What a task used on a day."""

    day: datetime
    task: str
    model: str
    calls: int
    cached: int
    failed: int
    input_tokens: int
    output_tokens: int
    cost: Decimal = Field(description="In dollars, of those calls whose price is known.")
    unpriced: int = Field(description="Calls of unknown cost.")


class SpendList(Answer):
    """By day (UTC), task and model, newest first."""

    workspace: str
    spend: list[SpendOut]


@router.get("/api/ai-spend", summary="Calls, tokens and cost of models, by day and task", response_model=SpendList)
async def get_ai_spend(
    service: TheService,
    who: Caller,
    workspace: Annotated[str | None, Query(max_length=200)] = None,
    days: Annotated[int, Query(ge=1, le=400)] = 30,
) -> Response:
    where = workspace_of(who, workspace)
    require(who, "read", where, f"workspace {where!r}")
    since = calls.day_of(service.engine.clock.now()) - (days - 1) * calls.DAY
    found = await service.read(lambda conn: calls.spend(conn, where, since))
    rows = [
        SpendOut(
            day=moment(s.day),
            task=s.task,
            model=s.model,
            calls=s.calls,
            cached=s.cached,
            failed=s.failed,
            input_tokens=s.input_tokens,
            output_tokens=s.output_tokens,
            cost=prices.dollars(s.cost) or Decimal(0),
            unpriced=s.unpriced,
        )
        for s in found
    ]
    return await service.answer(lambda: SpendList(workspace=where, spend=rows))
