"""Halts: stop claiming work for one machine, or for all of them, until an operator resumes it."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Path
from fastapi.responses import Response
from pydantic import BaseModel, ConfigDict, Field

from interlock.engine import halting
from interlock.engine.unit import Unit
from interlock.http.caller import Caller, TheService, require_operator
from interlock.http.models import Answer
from interlock.http.writing import Write
from interlock.people import OPERATORS
from interlock.store import moment

router = APIRouter(prefix="/api/holds", tags=["holds"])
Held = Annotated[str, Path(min_length=1, max_length=200, description="A machine, or `*` for all.", examples=["parcel"])]


class HoldWhy(BaseModel):
    """Why the machine is halted."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"reason": "the carrier is on strike"}]})

    reason: str = Field("", max_length=500)


class HoldOut(Answer):
    """A halted machine; `*` is all of them."""

    machine: str
    actor: str = Field(description="Who halted it.")
    reason: str
    at: datetime

    @classmethod
    def of(cls, one: halting.Hold) -> HoldOut:
        return cls(machine=one.machine, actor=one.actor, reason=one.reason, at=moment(one.at))


class HoldList(Answer):
    """Halted machines, longest first."""

    holds: list[HoldOut]


@router.get("", summary="Halted machines")
async def list_holds(service: TheService, who: Caller) -> HoldList:
    return HoldList(holds=[HoldOut.of(one) for one in await service.read(halting.holds)])


@router.put("/{machine}", summary="Halt a machine: no step starts, running steps finish", response_model=HoldOut)
async def put_hold(write: Write, machine: Held, body: HoldWhy) -> Response:
    """Halting twice changes nothing and returns the first halt."""

    def hold(unit: Unit) -> HoldOut:
        require_operator(write.who, "operate")
        return HoldOut.of(halting.hold(unit, machine, write.who.actor_in(OPERATORS), reason=body.reason))

    return await write(hold, name="hold")


@router.delete("/{machine}", summary="Resume a machine", response_model=HoldOut)
async def delete_hold(write: Write, machine: Held) -> Response:
    def release(unit: Unit) -> HoldOut:
        require_operator(write.who, "operate")
        return HoldOut.of(halting.release(unit, machine, write.who.actor_in(OPERATORS)))

    return await write(release, name="hold")
