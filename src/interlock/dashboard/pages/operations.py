"""Operations: workers, leases and limits; schedules; the outbox."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from fastapi import APIRouter, Request
from fastapi.responses import Response

from interlock.dashboard.filters import cursor_of
from interlock.dashboard.forms import Done, posted
from interlock.dashboard.schema import json_object
from interlock.dashboard.site import Reader, render
from interlock.engine import leases, limits, outbox, schedules, workers
from interlock.engine.unit import Unit
from interlock.http.api.outbox import REMEDIES, channels_of, visible_to
from interlock.http.caller import require, require_operator
from interlock.http.problems import BadRequest
from interlock.machine import Actor
from interlock.store import moment
from interlock.worker.application_duty import LEASE_PREFIX

router = APIRouter(include_in_schema=False)
STATUSES = ("waiting", "dead", "delivered", "discarded")


@router.get("/ui/workers")
async def show_workers(v: Reader) -> Response:
    require_operator(v.who)

    sizes = {name: limit for m in v.service.engine.registry for name, limit in m.limits.items()}

    def read(conn: Any) -> dict[str, Any]:
        return {
            "workers": workers.every(conn, 50),
            "leases": leases.active(conn, v.now),
            "limits": limits.usage(conn, v.service.engine.registry, v.now, limit=50),
            "claimed": workers.claim_counts(conn),
        }

    found = await v.service.read(read)
    held = found.pop("leases")
    return await render(
        v,
        "workers.html",
        sizes=sizes,
        leases=[one for one in held if not one.name.startswith(LEASE_PREFIX)],
        duties=[one for one in held if one.name.startswith(LEASE_PREFIX)],
        **found,
    )


@router.get("/ui/schedules")
async def show_schedules(v: Reader) -> Response:
    mine = frozenset(w for w in v.workspaces if v.may("read", w))
    found = await v.service.read(lambda conn: schedules.all_schedules(conn, workspaces=mine))
    ahead = {
        (s.workspace, s.name): schedules.upcoming(s, moment(v.now), 3) if s.paused_at is None else [] for s in found
    }
    return await render(v, "schedules.html", schedules=found, ahead=ahead)


@router.post("/ui/schedules/new")
async def new_schedule(request: Request) -> Response:
    form = await posted(request)
    v, workspace = form.v, form.get("workspace") or "default"
    data = json_object(form.get("data"), "the data")
    spec = schedules.ScheduleSpec(
        name=form["name"],
        machine=form["machine"],
        cron=form["cron"],
        zone=form.get("zone") or "UTC",
        workspace=workspace,
        data=data,
        overlap=form.get("overlap") or "allow",
        missed=form.get("missed") or "once",
    )

    def job(unit: Unit) -> Done:
        require(v.who, "manage", workspace, f"workspace {workspace!r}")
        made = schedules.put(unit, spec, v.who.actor_in(workspace))
        return Done(said=f"Schedule {made.name} saved", to="/ui/schedules")

    return await form.do(job, "schedule")


@router.post("/ui/schedules/{workspace}/{name}/{what}")
async def change_schedule(request: Request, workspace: str, name: str, what: str) -> Response:
    form = await posted(request)
    v = form.v
    needed = {"pause": "operate", "resume": "operate", "run": "operate", "remove": "manage"}.get(what)
    if needed is None:
        raise BadRequest(f"there is no action {what[:30]!r} for schedules; use pause, resume, run or remove")

    def job(unit: Unit) -> Done:
        require(v.who, needed, workspace, f"schedule {name!r}")
        actor: Actor = v.who.actor_in(workspace)
        match what:
            case "pause":
                schedules.pause(unit, workspace, name, actor)
                return Done(said=f"Schedule {name} paused", to="/ui/schedules")
            case "resume":
                schedules.resume(unit, workspace, name, actor)
                return Done(said=f"Schedule {name} resumed", to="/ui/schedules")
            case "run":
                made = schedules.run_now(unit, workspace, name, actor)
                return Done(said=f"Schedule {name} started", to=f"/ui/instances/{made.id}")
        schedules.remove(unit, workspace, name, actor)
        return Done(said=f"Schedule {name} removed", to="/ui/schedules")

    return await form.do(job, "schedule")


@router.get("/ui/outbox")
async def show_outbox(v: Reader, status: str = "", channel: str = "", after: str = "") -> Response:
    mine = None if v.operator else v.workspaces
    chosen = status if status in STATUSES else None
    last = cursor_of(after)

    def read(conn: Any) -> dict[str, Any]:
        page = outbox.page(conn, status=chosen, channel=channel or None, workspaces=mine, after=last, limit=50)
        return {
            "page": page,
            "counts": outbox.counts(conn, workspaces=mine),
            "stuck": outbox.unconfigured(conn, channels_of(v.service), workspaces=mine),
        }

    found = await v.service.read(read)
    unconfigured = {one.channel for one in found["stuck"]}
    return await render(
        v, "outbox.html", chosen=chosen or "", statuses=STATUSES, remedies=REMEDIES, unconfigured=unconfigured, **found
    )


@router.get("/ui/outbox/{id}")
async def show_message(v: Reader, id: UUID) -> Response:
    found = await v.service.read(lambda conn: outbox.get(conn, id))
    visible_to(v.who, found, "read")
    tried = await v.service.read(lambda conn: outbox.deliveries(conn, id))
    return await render(v, "message.html", message=found, deliveries=tried)


@router.post("/ui/outbox/{id}/{what}")
async def change_message(request: Request, id: UUID, what: str) -> Response:
    form = await posted(request)
    if what not in {"retry", "discard"}:
        raise BadRequest(f"there is no action {what[:30]!r} for messages; use retry or discard")

    def job(unit: Unit) -> Done:
        actor = visible_to(form.v.who, outbox.get(unit.conn, id), "operate")
        if what == "retry":
            outbox.retry(unit, id, actor)
            return Done(said="The message will be sent again")
        outbox.discard(unit, id, actor, form.get("note"))
        return Done(said="The message is discarded")

    return await form.do(job, "outbox")
