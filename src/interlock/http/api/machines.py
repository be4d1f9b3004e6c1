"""Machines: the life cycles of this installation."""

from __future__ import annotations

from fastapi import APIRouter

from interlock.engine import NotFound
from interlock.http.caller import Caller, TheService
from interlock.http.models import Answer, MachineOut
from interlock.http.service import Service
from interlock.machine import Machine

router = APIRouter(prefix="/api/machines", tags=["machines"])


class MachineList(Answer):
    """All machines."""

    machines: list[MachineOut]


def _machine_out(service: Service, machine: Machine) -> MachineOut:
    core = service.engine.core
    runs_here = not service.engine.registry.missing_handlers(machine)
    return MachineOut.of(machine, core.current[machine.name], runs_here=runs_here)


@router.get("", summary="Every machine")
async def list_machines(service: TheService, who: Caller) -> MachineList:
    return MachineList(machines=[_machine_out(service, machine) for machine in service.engine.registry])


@router.get("/{name}", summary="One machine: states, transitions, the schema of its data")
async def get_machine(service: TheService, who: Caller, name: str) -> MachineOut:
    if name not in service.engine.registry:
        raise NotFound(f"there is no machine {name!r}")
    return _machine_out(service, service.engine.registry[name])
