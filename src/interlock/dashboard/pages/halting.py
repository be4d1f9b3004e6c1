"""Halt and resume all machines, or one."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import Response

from interlock.dashboard import formatting
from interlock.dashboard.forms import Done, posted
from interlock.dashboard.site import Reader, render
from interlock.engine import halting
from interlock.engine.unit import Unit
from interlock.http.caller import require_operator
from interlock.people import OPERATORS

router = APIRouter(include_in_schema=False)


@router.get("/ui/halt")
async def switches(v: Reader) -> Response:
    halted = {one.machine: one for one in await v.service.read(halting.all_halts)}
    return await render(
        v,
        "halt.html",
        halted=halted,
        everything=halted.get(halting.EVERYTHING),
        mine=v.may("operate", OPERATORS),
        machines=sorted(v.service.engine.registry, key=lambda m: m.name),
        others=sorted(halted.keys() - {m.name for m in v.service.engine.registry} - {halting.EVERYTHING}),
    )


@router.post("/ui/halt")
async def stop(request: Request) -> Response:
    form = await posted(request)
    machine = form["machine"]

    def run(unit: Unit) -> Done:
        require_operator(form.v.who, "operate")
        before = halting.find(unit.conn, machine)
        if before is not None:
            return Done(said=f"{_named(machine)} already halted, by {formatting.person(before.actor)}.")
        halting.halt(unit, machine, form.v.who.actor_in(OPERATORS), reason=form.get("reason")[:500])
        return Done(said=f"{_named(machine)} halted: no step starts until it is resumed.")

    return await form.do(run, "halt")


@router.post("/ui/halt/resume")
async def resume(request: Request) -> Response:
    form = await posted(request)
    machine = form["machine"]

    def run(unit: Unit) -> Done:
        require_operator(form.v.who, "operate")
        if halting.find(unit.conn, machine) is None:
            return Done(said=f"{_named(machine)} not halted: nothing to resume.")
        halting.resume(unit, machine, form.v.who.actor_in(OPERATORS))
        return Done(said=f"{_named(machine)} resumed.")

    return await form.do(run, "halt")


def _named(machine: str) -> str:
    return "All machines" if machine == halting.EVERYTHING else formatting.title(machine)[:80].capitalize()
