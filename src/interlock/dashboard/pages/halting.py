"""Pause everything: one switch for all machines, and one for each."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import Response

from interlock.dashboard import words
from interlock.dashboard.forms import Done, posted
from interlock.dashboard.site import Reader, render
from interlock.engine import halting
from interlock.engine.unit import Unit
from interlock.http.caller import require_operator
from interlock.people import OPERATORS

router = APIRouter(include_in_schema=False)


@router.get("/ui/pause")
async def switches(v: Reader) -> Response:
    held = {one.machine: one for one in await v.service.read(halting.holds)}
    return await render(
        v,
        "holding.html",
        held=held,
        everything=held.get(halting.EVERYTHING),
        mine=v.may("operate", OPERATORS),
        machines=sorted(v.service.engine.registry, key=lambda m: m.name),
        others=sorted(held.keys() - {m.name for m in v.service.engine.registry} - {halting.EVERYTHING}),
    )


@router.post("/ui/pause")
async def stop(request: Request) -> Response:
    form = await posted(request)
    machine = form["machine"]

    def run(unit: Unit) -> Done:
        require_operator(form.v.who, "operate")
        before = halting.one(unit.conn, machine)
        if before is not None:
            return Done(said=f"{_named(machine)} was stopped already, by {words.person(before.actor)}.")
        halting.hold(unit, machine, form.v.who.actor_in(OPERATORS), reason=form.get("reason")[:500])
        return Done(said=f"{_named(machine)} stands still: no step starts until somebody lets it go on.")

    return await form.do(run, "hold")


@router.post("/ui/pause/release")
async def go_on(request: Request) -> Response:
    form = await posted(request)
    machine = form["machine"]

    def run(unit: Unit) -> Done:
        require_operator(form.v.who, "operate")
        if halting.one(unit.conn, machine) is None:
            return Done(said=f"{_named(machine)} was not stopped any more.")
        halting.release(unit, machine, form.v.who.actor_in(OPERATORS))
        return Done(said=f"{_named(machine)} goes on.")

    return await form.do(run, "hold")


def _named(machine: str) -> str:
    return "All work" if machine == halting.EVERYTHING else f"Work of {words.title(machine)[:80]}"
