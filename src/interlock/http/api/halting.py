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

router = APIRouter(prefix="/api/halts", tags=["halts"])
Which = Annotated[
    str, Path(min_length=1, max_length=200, description="A machine, or `*` for all.", examples=["parcel"])
]


class HaltIn(BaseModel):
    """Why the machine is halted."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"reason": "the carrier is on strike"}]})

    reason: str = Field("", max_length=500)


class HaltOut(Answer):
    """A halted machine; `*` is all of them."""

    machine: str
    actor: str = Field(description="Who halted it.")
    reason: str
    at: datetime

    @classmethod
    def of(cls, one: halting.Halt) -> HaltOut:
        return cls(machine=one.machine, actor=one.actor, reason=one.reason, at=moment(one.at))


class HaltList(Answer):
    """Halted machines, longest first."""

    halts: list[HaltOut]


@router.get("", summary="Halted machines")
async def list_halts(service: TheService, who: Caller) -> HaltList:
    return HaltList(halts=[HaltOut.of(one) for one in await service.read(halting.all_halts)])


@router.put("/{machine}", summary="Halt a machine: no step starts, running steps finish", response_model=HaltOut)
async def put_halt(write: Write, machine: Which, body: HaltIn) -> Response:
    """Halting twice changes nothing and returns the first halt."""

    def halt(unit: Unit) -> HaltOut:
        require_operator(write.who, "operate")
        return HaltOut.of(halting.halt(unit, machine, write.who.actor_in(OPERATORS), reason=body.reason))

    return await write(halt, name="halt")


@router.delete("/{machine}", summary="Resume a machine", response_model=HaltOut)
async def delete_halt(write: Write, machine: Which) -> Response:
    def resume(unit: Unit) -> HaltOut:
        require_operator(write.who, "operate")
        return HaltOut.of(halting.resume(unit, machine, write.who.actor_in(OPERATORS)))

    return await write(resume, name="halt")
