"""The page of the day: what waits for a person, what is new, what is stuck, and how the crawls went."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Annotated, Any, NamedTuple

import sqlalchemy as sa
from fastapi import APIRouter, Query
from fastapi.responses import Response

from interlock.apps.jobs.finder.pages.cards import cards
from interlock.apps.jobs.finder.pages.frame import JobsFrame, show
from interlock.apps.jobs.finder.pages.matches import Undo, undone
from interlock.apps.jobs.finder.records import companies, health, lists, sources
from interlock.apps.jobs.finder.sources import KINDS
from interlock.dashboard.site import Reader
from interlock.dashboard.views import view_for
from interlock.engine import Instance
from interlock.engine.application import instances
from interlock.store import span

router = APIRouter(include_in_schema=False)
DAY = timedelta(days=1)
SHOWN = 6
Workspace = Annotated[str, Query(max_length=200)]


class Section(NamedTuple):
    """What another subject shows on this page."""

    read: Callable[[sa.Connection, JobsFrame], Mapping[str, Any]]
    main: str
    """The template above the matches."""
    side: str
    """The template beside them."""
    style: str
    """Its style sheet."""


SECTIONS: list[Section] = []
"""Filled by the pages of other subjects, which know the finder; it does not know them."""


@router.get("/ui/jobs")
async def today(v: Reader, workspace: Workspace = "", undo: Undo = "") -> Response:
    registry = v.service.engine.registry

    def named(item: Instance) -> str:
        return view_for(registry, item).title(item)

    def read(conn: sa.Connection, jobs: JobsFrame) -> Mapping[str, Any]:
        day = lists.today(conn, jobs.workspace, v.now, limit=SHOWN)
        asked: dict[Any, Instance] = {}
        for machine in {one.machine for one in day.reviews}:
            ids = [one.instance_id for one in day.reviews if one.machine == machine]
            asked |= {one.id: one for one in instances(conn, machine, workspace=jobs.workspace, ids=ids)}
        waiting = [
            (one, named(item), view_for(registry, item).summary(one, item))
            for one in day.reviews
            if (item := asked.get(one.instance_id)) is not None
        ]
        more = {name: value for section in SECTIONS for name, value in section.read(conn, jobs).items()}
        return {
            **more,
            "day": day,
            "matches": cards(conn, jobs.workspace, [row.id for row in day.matches], v.now),
            "waiting": waiting,
            "stuck": [(one, named(one)) for one in day.stuck],
            "crawls": health.activity(conn, jobs.workspace, v.now - span(DAY)),
            "has_companies": bool(companies.page(conn, jobs.workspace, limit=1)),
            "has_sources": bool(sources.page(conn, jobs.workspace, limit=1)),
        }

    return await show(
        v,
        "today.html",
        workspace,
        read,
        undo=undo,
        undone=undone(undo),
        kinds=list(KINDS),
        sections=SECTIONS,
    )
