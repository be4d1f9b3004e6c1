"""Machines: the life cycles of this installation."""

from __future__ import annotations

from typing import Any, Self

from fastapi import APIRouter
from pydantic import Field

from interlock.engine import NotFound
from interlock.http.caller import Caller, TheService
from interlock.http.models import Answer
from interlock.http.service import Service
from interlock.machine import Machine

router = APIRouter(prefix="/api/machines", tags=["machines"])


class StateOut(Answer):
    """One state of a machine."""

    name: str
    kind: str
    waits_for: str
    good: bool | None
    review: str | None
    timers: list[str]


class TransitionOut(Answer):
    """A declared transition; `to` is null if the event only starts the state's step."""

    from_state: str
    to: str | None
    event: str
    by: list[str]
    guard: str | None
    accepts: list[str]


class MachineOut(Answer):
    """A machine: its states, transitions and data schema."""

    name: str
    title: str
    version: int
    initial: str
    queue: str
    cancel: str | None
    created_through: str | None = Field(
        description="Where instances are created, if only its application creates them.",
        examples=["POST /workflows/ingest"],
    )
    runs_here: bool = Field(description="Whether this process has the code for its work.")
    states: list[StateOut]
    transitions: list[TransitionOut]
    data: dict[str, Any] | None = Field(description="The data as JSON Schema.")

    @classmethod
    def of(cls, m: Machine, version: int, *, runs_here: bool) -> Self:
        def who(by: frozenset[Any]) -> list[str]:
            return sorted(b.value for b in by)

        return cls(
            name=m.name,
            title=m.title,
            version=version,
            initial=m.initial,
            queue=m.queue,
            cancel=m.cancel,
            created_through=m.created_through,
            runs_here=runs_here,
            data=m.data.model_json_schema() if m.data else None,
            states=[
                StateOut(
                    name=s.name,
                    kind=s.kind.value,
                    waits_for=s.waits_for,
                    good=s.good,
                    review=s.review.title if s.review else None,
                    timers=[f"after {t.after}: {getattr(t, 'fire', getattr(t, 'message', ''))}" for t in s.timers],
                )
                for s in m.states.values()
            ],
            transitions=[
                TransitionOut(
                    from_state=e.source,
                    to=e.to,
                    event=e.on,
                    by=who(e.by),
                    accepts=list(e.accepts),
                    guard=e.guard.__name__ if e.guard else None,
                )
                for e in m.edges
            ]
            + [
                TransitionOut(
                    from_state=a.state,
                    to=None,
                    event=a.on,
                    by=who(a.by),
                    accepts=list(a.accepts),
                    guard=a.guard.__name__ if a.guard else None,
                )
                for a in m.arms
            ],
        )


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
