"""What people do on an instance's page: fire an event, pause, resume, cancel, force."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

from fastapi import APIRouter, Request
from fastapi.responses import Response

from interlock.dashboard import formatting, schema
from interlock.dashboard.forms import Done, Form, posted, utc_moment
from interlock.engine import Instance, firing, pausing
from interlock.engine.unit import Unit
from interlock.http.caller import require
from interlock.machine import Actor, Machine

router = APIRouter(include_in_schema=False)
Job = Callable[[Unit, Actor, str], Instance]


def accepts(machine: Machine, it: Instance, event: str) -> dict[str, Any] | None:
    """The part of the data schema that the event accepts."""
    arm = machine.arm(it.state, event)
    edges = machine.edges_on(it.state, event)
    names = arm.accepts if arm is not None else edges[0].accepts if edges else ()
    if not names:
        return None
    whole = machine.data.model_json_schema() if machine.data is not None else {}
    known = whole.get("properties", {})
    return {
        "properties": {name: known.get(name, {"type": "string"}) for name in names},
        "$defs": whole.get("$defs", {}),
    }


async def _do(
    request: Request, id: UUID, permission: str, job: Callable[[Form], tuple[Job, str]], name: str
) -> Response:
    form = await posted(request)
    work, said = job(form)

    def run(unit: Unit) -> Done:
        it = unit.lock(id)
        require(form.v.who, permission, it.workspace, f"instance {id}", machine=it.machine)
        if form.seq is not None and it.seq != form.seq:
            return Done(
                said=f"Nothing changed: the instance has moved to {formatting.title(it.state)}. Check it again."
            )
        after = work(unit, form.v.who.actor_in(it.workspace), form.get("reason")[:2000])
        return Done(said=said.format(state=formatting.title(after.state)))

    return await form.do(run, name)


@router.post("/ui/instances/{id}/fire")
async def fire(request: Request, id: UUID) -> Response:
    def job(form: Form) -> tuple[Job, str]:
        event, served = form["event"], form.v.service.engine.core.served

        def run(unit: Unit, actor: Actor, reason: str) -> Instance:
            it = unit.lock(id)
            machine = served.get((it.machine, it.version))
            part = accepts(machine, it, event) if machine is not None and it.state in machine.states else None
            data = schema.answer(part, form.fields) if part else None
            return firing.fire(unit, id, event, actor, reason=reason, data=data)

        return run, f"{formatting.title(event).capitalize().replace('{', '').replace('}', '')}: now {{state}}."

    return await _do(request, id, "fire", job, "fire")


@router.post("/ui/instances/{id}/pause")
async def pause(request: Request, id: UUID) -> Response:
    def job(form: Form) -> tuple[Job, str]:
        until = utc_moment(form.get("until"))
        return lambda unit, actor, reason: pausing.pause(
            unit, id, actor, reason=reason, resume_at=until
        ), "Paused: no step runs until it is resumed."

    return await _do(request, id, "operate", job, "pause")


@router.post("/ui/instances/{id}/resume")
async def resume(request: Request, id: UUID) -> Response:
    return await _do(
        request,
        id,
        "operate",
        lambda _: (lambda unit, actor, reason: pausing.resume(unit, id, actor, reason=reason), "Resumed."),
        "resume",
    )


@router.post("/ui/instances/{id}/cancel")
async def cancel(request: Request, id: UUID) -> Response:
    return await _do(
        request,
        id,
        "operate",
        lambda _: (
            lambda unit, actor, reason: firing.cancel(unit, id, actor, reason=reason),
            "It is now {state}.",
        ),
        "fire",
    )


@router.post("/ui/instances/{id}/force")
async def force(request: Request, id: UUID) -> Response:
    def job(form: Form) -> tuple[Job, str]:
        to = form["to"]
        return lambda unit, actor, reason: firing.force(unit, id, to, actor, reason), "Forced: now {state}."

    return await _do(request, id, "force", job, "fire")
