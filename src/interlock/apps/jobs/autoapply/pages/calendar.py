"""Follow-ups and appointments, and the address at which a calendar program reads them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Annotated, Any

import sqlalchemy as sa
from fastapi import APIRouter, Query
from fastapi.responses import Response

from interlock.apps.jobs.autoapply.board import calendar, cards, dates
from interlock.apps.jobs.autoapply.pages.times import zone_of
from interlock.apps.jobs.finder.pages.frame import JobsFrame, acting, seen_workspace, show
from interlock.dashboard.forms import Posted
from interlock.dashboard.site import Reader, Visitor
from interlock.http.calendar_file import MEDIA_TYPE
from interlock.http.problems import BadRequest
from interlock.store import span

router = APIRouter(include_in_schema=False)
Text = Annotated[str, Query(max_length=200)]
AHEAD = {"7": 7, "30": 30, "365": 365}
"""How far the page looks ahead, in days."""
MOST = 60
"""Dates on the page; the file has all."""


@router.get("/ui/jobs/calendar")
async def page(v: Reader, workspace: Text = "", days: Annotated[str, Query(pattern="^(7|30|365)$")] = "30") -> Response:
    return await _page(v, seen_workspace(v, workspace), days)


async def _page(v: Visitor, workspace: str, days: str = "30", address: str = "") -> Response:
    """`address` is shown this once: only its hash is stored."""

    def read(conn: sa.Connection, jobs: JobsFrame) -> Mapping[str, Any]:
        found = dates.due(conn, jobs.workspace, v.now + span(timedelta(days=AHEAD[days])), limit=MOST + 1)
        rows = {
            card.application.id: card
            for card in cards.some(conn, jobs.workspace, [d.application_id for d in found[:MOST]])
        }
        shown = [(one, rows[one.application_id]) for one in found[:MOST] if one.application_id in rows]
        return {
            "late": [pair for pair in shown if pair[0].at <= v.now],
            "coming": [pair for pair in shown if pair[0].at > v.now],
            "more": len(found) > MOST,
            "since": calendar.feed_since(conn, jobs.workspace),
            "zone": zone_of(jobs),
        }

    return await show(
        v, "calendar.html", workspace, read, folder="apply", days=days, ahead=list(AHEAD), address=address
    )


@router.get("/ui/jobs/calendar.ics")
async def download(v: Reader, workspace: Text = "") -> Response:
    """All dates as a file."""
    place = seen_workspace(v, workspace)
    text = await v.service.read(lambda conn: calendar.calendar_of(calendar.events(conn, place, v.now)))
    headers = {"Content-Disposition": 'attachment; filename="applications.ics"'}
    return Response(text, media_type=MEDIA_TYPE, headers=headers)


@router.post("/ui/jobs/calendar")
async def feed(form: Posted) -> Response:
    """Make a secret address, or close it. The answer is the page itself: the address is stored nowhere."""
    workspace, wanted = acting(form), form["do"]
    v = form.v
    if wanted == "make":
        actor = str(v.who.actor_in(workspace))
        secret = await v.service.write_as(v.who, lambda unit: calendar.make_feed(unit, workspace, actor), "make_feed")
        return await _page(v, workspace, address=f"{v.service.address}/api/auto-apply/calendar/{secret}.ics")
    if wanted != "remove":
        raise BadRequest(f"{wanted[:40]!r} cannot be done with the calendar; there are make and remove")
    await v.service.write_as(v.who, lambda unit: calendar.remove_feed(unit, workspace), "remove_feed")
    return await _page(v, workspace)
