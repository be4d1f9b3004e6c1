"""Alerts and their rules. They concern the whole installation, so they are for members of the first workspace."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from fastapi import APIRouter, Path, Query
from fastapi.responses import Response
from pydantic import BaseModel, ConfigDict, Field

from interlock.engine.unit import Unit
from interlock.http.caller import Caller, TheService, require_operator
from interlock.http.models import Answer, at
from interlock.http.writing import Write
from interlock.people import OPERATORS
from interlock.store import moment
from interlock.watch import alerts, rules

router = APIRouter(prefix="/api", tags=["alerts"])
Name = Annotated[str, Path(max_length=60, examples=["many_parcels"])]


class AlertOut(Answer):
    """An alert that is open or was open."""

    id: UUID
    rule: str
    machine: str | None
    status: str
    sentence: str
    value: float
    threshold: float
    opened_at: datetime
    seen_at: datetime
    notices: int
    acknowledged_at: datetime | None
    acknowledged_by: str | None
    closed_at: datetime | None

    @classmethod
    def of(cls, a: alerts.Alert) -> AlertOut:
        return cls(
            id=a.id,
            rule=a.rule,
            machine=a.machine,
            status=a.status,
            sentence=a.sentence,
            value=a.value,
            threshold=a.threshold,
            opened_at=moment(a.opened_at),
            seen_at=moment(a.seen_at),
            notices=a.notices,
            acknowledged_at=at(a.acknowledged_at),
            acknowledged_by=a.acknowledged_by,
            closed_at=at(a.closed_at),
        )


class AlertList(Answer):
    """Alerts, newest first."""

    alerts: list[AlertOut]
    next: UUID | None


class RuleIn(BaseModel):
    """The condition under which an alert opens."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [{"metric": "state_count", "state": "customs", "machine": "parcel", "op": ">", "threshold": 50}]
        },
    )

    metric: str = Field(
        max_length=100,
        description="One of " + ", ".join(rules.METRICS) + ", or application.metric.",
        examples=["dead_letters"],
    )
    op: Literal[">", ">=", "<", "<="] = ">"
    threshold: float = Field(examples=[50], description="Seconds, a ratio (0.2 is 20 %), or a count.")
    machine: str | None = Field(None, max_length=200, description="A machine, `each`, or null for all together.")
    state: str | None = Field(None, max_length=200, description="For state_count.")
    window: float = Field(3600, ge=60, le=2_592_000, description="The window of rates and throughput, in seconds.")
    for_seconds: float = Field(0, ge=0, le=2_592_000, description="Seconds that the condition must last first.")
    min_count: int = Field(0, ge=0, le=10**9, description="For rates: the minimum number of attempts or ends.")
    notify: list[Annotated[str, Field(max_length=300)]] = Field(default_factory=list, max_length=20)
    repeat_every: float = Field(14_400, ge=60, le=2_592_000)


class RuleOut(Answer):
    """A rule in force."""

    name: str
    built_in: bool
    metric: str
    op: str
    threshold: float
    machine: str | None
    state: str | None
    window: float
    for_seconds: float
    min_count: int
    notify: list[str]
    repeat_every: float

    @classmethod
    def of(cls, r: rules.Rule, built_in: Collection[str] = ()) -> RuleOut:
        return cls(
            name=r.name,
            built_in=r.name in built_in,
            metric=r.metric,
            op=r.op,
            threshold=r.threshold,
            machine=r.machine,
            state=r.state,
            window=r.window.total_seconds(),
            for_seconds=r.for_.total_seconds(),
            min_count=r.min_count,
            notify=list(r.notify),
            repeat_every=r.repeat_every.total_seconds(),
        )


class RuleList(Answer):
    """Built-in rules and users' own."""

    rules: list[RuleOut]
    unreadable: dict[str, str] = Field(
        default_factory=dict, description="Rules that are not in force because their rows cannot be read."
    )


class Removed(Answer):
    """The rule was deleted."""

    name: str


@router.get("/alerts", summary="List alerts, newest first", response_model=AlertList)
async def list_alerts(
    service: TheService,
    who: Caller,
    status: Literal["open", "closed"] | None = None,
    after: UUID | None = None,
    limit: Annotated[int, Query(ge=1, le=500)] = 50,
) -> Response:
    require_operator(who)
    page = await service.read(lambda conn: alerts.page(conn, status=status, after=after, limit=limit))
    return await service.answer(lambda: AlertList(alerts=[AlertOut.of(a) for a in page.alerts], next=page.next))


@router.post("/alerts/{id}/acknowledge", summary="Acknowledge an alert; it is not repeated", response_model=AlertOut)
async def acknowledge_alert(write: Write, id: UUID) -> Response:
    require_operator(write.who, "operate")
    actor = write.who.actor_in(OPERATORS)
    return await write(lambda unit: AlertOut.of(alerts.acknowledge(unit, id, actor)), name="alert")


@router.get("/alert-rules", summary="List alert rules", response_model=RuleList)
async def list_rules(service: TheService, who: Caller) -> Response:
    require_operator(who)
    registry = service.engine.registry
    found, broken = await service.read(
        lambda conn: (rules.every(conn, service.settings.alerts, registry), rules.unreadable(conn))
    )
    names = rules.built_in_names(registry)
    return await service.answer(lambda: RuleList(rules=[RuleOut.of(r, names) for r in found], unreadable=broken))


@router.put("/alert-rules/{name}", summary="Create or replace an alert rule", response_model=RuleOut)
async def put_rule(write: Write, name: Name, body: RuleIn) -> Response:
    require_operator(write.who, "manage")
    given = {
        **body.model_dump(exclude={"for_seconds"}),
        "name": name,
        "for": body.for_seconds,
        "notify": tuple(body.notify),
    }
    actor = write.who.actor_in(OPERATORS)
    return await write(lambda unit: RuleOut.of(rules.put(unit, given, actor)), name="alert")


@router.delete("/alert-rules/{name}", summary="Delete an alert rule", response_model=Removed)
async def delete_rule(write: Write, name: Name) -> Response:
    require_operator(write.who, "manage")

    def remove(unit: Unit) -> Removed:
        rules.remove(unit, name, write.who.actor_in(OPERATORS))
        return Removed(name=name)

    return await write(remove, name="alert")
