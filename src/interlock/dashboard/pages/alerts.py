"""Alerts and their rules."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from fastapi import APIRouter, Request
from fastapi.responses import Response

from interlock.dashboard.filters import cursor_of
from interlock.dashboard.forms import Done, posted
from interlock.dashboard.site import Reader, render
from interlock.engine.unit import Unit
from interlock.http.caller import require_operator
from interlock.http.problems import BadRequest
from interlock.people import OPERATORS
from interlock.watch import alerts, applications, rule_values, rules

router = APIRouter(include_in_schema=False)


@router.get("/ui/alerts")
async def show_alerts(v: Reader, after: str = "") -> Response:
    require_operator(v.who)
    last = cursor_of(after)
    registry, now = v.service.engine.registry, v.service.engine.clock.now()

    def read(conn: Any) -> dict[str, Any]:
        return {
            "open": alerts.open_alerts(conn),
            "page": alerts.page(conn, status="closed", after=last, limit=30),
            "rules": rules.every(conn, v.service.settings.alerts, registry),
            "metrics": {one: rules.unit_of(one) for one in (*rules.METRICS, *applications.names(conn, registry, now))},
            "broken_rules": rules.unreadable(conn),
        }

    return await render(
        v,
        "alerts.html",
        built_in=rules.built_in_names(registry),
        unit_of=rules.unit_of,
        metric_words=rule_values.metric_words,
        format_value=rule_values.format_value,
        notify=v.service.settings.alerts.notify,
        **await v.service.read(read),
    )


@router.post("/ui/alerts/{id}/acknowledge")
async def acknowledge(request: Request, id: UUID) -> Response:
    form = await posted(request)
    require_operator(form.v.who, "operate")
    actor = form.v.who.actor_in(OPERATORS)

    def job(unit: Unit) -> Done:
        alerts.acknowledge(unit, id, actor)
        return Done(said="Acknowledged; it is not repeated", to="/ui/alerts")

    return await form.do(job, "alert")


@router.post("/ui/alert-rules/new")
async def new_rule(request: Request) -> Response:
    form = await posted(request)
    require_operator(form.v.who, "manage")
    threshold, minutes = _number(form["threshold"], "threshold"), _number(form.get("minutes") or "0", "delay")
    given = {
        "name": form["name"],
        "metric": form["metric"],
        "op": form.get("op") or ">",
        "threshold": threshold,
        "machine": form.get("machine") or None,
        "state": form.get("state") or None,
        "for": minutes * 60,
        "notify": tuple(part.strip() for part in form.get("notify").split(",") if part.strip()),
    }

    def job(unit: Unit) -> Done:
        made = rules.put(unit, given, form.v.who.actor_in(OPERATORS))
        return Done(said=f"Rule {made.name} saved", to="/ui/alerts")

    return await form.do(job, "alert")


def _number(given: str, what: str) -> float:
    try:
        return float(given.replace(",", "."))
    except ValueError:
        raise BadRequest(f"the {what} {given[:40]!r} is not a number") from None


@router.post("/ui/alert-rules/{name}/remove")
async def remove_rule(request: Request, name: str) -> Response:
    form = await posted(request)
    require_operator(form.v.who, "manage")

    def job(unit: Unit) -> Done:
        rules.remove(unit, name, form.v.who.actor_in(OPERATORS))
        return Done(said=f"Rule {name} removed", to="/ui/alerts")

    return await form.do(job, "alert")
