"""The calendar of ends and notice dates: a page, a file to download, and a feed with a secret address."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from itertools import groupby
from typing import Annotated, Any

import sqlalchemy as sa
from fastapi import APIRouter, Query
from fastapi.responses import Response

from interlock.apps.contracts.machine import contract
from interlock.apps.contracts.pages.frame import ContractsFrame, frame_of, show
from interlock.apps.contracts.register import calendar, feeds
from interlock.apps.contracts.register.api import calendar_answer
from interlock.apps.contracts.workflow.step_calls import settings_of
from interlock.dashboard.forms import Done, Posted
from interlock.dashboard.site import Reader
from interlock.engine.application import Unit
from interlock.http.caller import require
from interlock.store import moment

router = APIRouter(include_in_schema=False)
Text = Annotated[str, Query(max_length=200)]
MOST = 200
"""Deadlines on the page; the file and the feed have all."""
MONTHS = {"6": 183, "12": 366, "36": 1098, "all": 0}


@router.get("/ui/contracts/calendar")
async def page(
    v: Reader, workspace: Text = "", months: Annotated[str, Query(pattern="^(6|12|36|all)$")] = "12"
) -> Response:
    today = moment(v.now).date()
    until = today + timedelta(days=MONTHS[months]) if MONTHS[months] else None

    def read(conn: sa.Connection, c: ContractsFrame) -> Mapping[str, Any]:
        found = calendar.events(conn, c.workspace, today, since=today - calendar.PAST, until=until, limit=MOST + 1)
        feed = feeds.of(conn, c.workspace, v.who.name)
        return {
            "more": len(found) > MOST,
            "months": [
                (first, list(some)) for first, some in groupby(found[:MOST], key=lambda one: one.day.replace(day=1))
            ],
            "feed": v.service.address + feed.path if feed is not None else "",
        }

    settings = settings_of(v.service)
    reminded = settings.remind or settings.notify
    return await show(
        v,
        "calendar.html",
        workspace,
        read,
        today=today,
        chosen=months,
        spans=MONTHS,
        settings=settings,
        reminded=reminded,
    )


@router.get("/ui/contracts/calendar.ics")
async def download(v: Reader, workspace: Text = "") -> Response:
    return await calendar_answer(v.service, frame_of(v, workspace).workspace, download=True)


@router.post("/ui/contracts/calendar/feed")
async def feed(form: Posted) -> Response:
    """Make a secret address for this person, or remove it."""
    v = form.v
    workspace = frame_of(v, form.get("workspace")).workspace
    require(v.who, "read", workspace, f"workspace {workspace!r}", machine=contract.name)
    remove = form.get("do") == "remove"

    def job(unit: Unit) -> Done:
        if remove:
            feeds.remove(unit, workspace, v.who.name)
            return Done(said="The address is removed; whoever has it sees nothing more.")
        feeds.make(unit, workspace, v.who.name)
        return Done(said="There is a new address. An older one no longer works.")

    return await form.do(job, "write")
