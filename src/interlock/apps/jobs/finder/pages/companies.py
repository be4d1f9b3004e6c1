"""Companies: the list with tier and its sum, one company, and the form that adds one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any
from uuid import UUID

import sqlalchemy as sa
from fastapi import APIRouter, Query
from fastapi.responses import Response

from interlock.apps.jobs.finder.intake import add_company
from interlock.apps.jobs.finder.pages import wording
from interlock.apps.jobs.finder.pages.cards import cards
from interlock.apps.jobs.finder.pages.frame import JobsFrame, acting, show
from interlock.apps.jobs.finder.records import companies, health, lists, sources
from interlock.apps.jobs.finder.records.lists import MACHINES
from interlock.dashboard.forms import Done, Posted
from interlock.dashboard.site import Reader
from interlock.engine import NotFound
from interlock.engine.application import Unit, refused_spawns

router = APIRouter(include_in_schema=False)
SHOWN = 50
TIERS = ("S", "A", "B", "C", "D")
STATUSES = {
    companies.COMPLETE: ("done", "analyzed"),
    companies.ANALYZING: ("work", "being analyzed"),
    companies.INSUFFICIENT: ("wait", "its pages say too little"),
    companies.NAMED: ("ended", "known by name"),
}
"""Status → the kind that colours it, and words."""
FACTS = ("about", "mission", "culture", "industry", "founded", "headquarters_location", "size")
"""Facts that are shown first, in this order."""
HIDDEN = frozenset(
    {"name", "website", "points", "boards", "evidence", "tier", "priorityScore", "analysis_status", "note", "profile"}
)
Text = Annotated[str, Query(max_length=200)]


@router.get("/ui/jobs/companies")
async def listed(
    v: Reader, workspace: Text = "", q: Text = "", tier: Text = "", state: Text = "", after: UUID | None = None
) -> Response:
    filters = {"q": q, "tier": tier, "state": state}

    def read(conn: sa.Connection, jobs: JobsFrame) -> Mapping[str, Any]:
        rows = companies.page(
            conn,
            jobs.workspace,
            q=q or None,
            tier=tier or None,
            state=state or None,
            after=after,
            limit=SHOWN + 1,
        )
        more, rows = len(rows) > SHOWN, rows[:SHOWN]
        return {
            "rows": rows,
            "sources": health.of_companies(conn, jobs.workspace, [row.id for row in rows]),
            "next": jobs.url("/companies", **filters, after=str(rows[-1].id)) if more else "",
        }

    return await show(v, "companies.html", workspace, read, filters=filters, tiers=TIERS, statuses=STATUSES)


@router.get("/ui/jobs/companies/{id}")
async def company(v: Reader, id: UUID, workspace: Text = "") -> Response:
    def read(conn: sa.Connection, jobs: JobsFrame) -> Mapping[str, Any]:
        row = companies.find(conn, jobs.workspace, id)
        if row is None:
            raise NotFound(f"there is no company {id}")
        wanted = lists.Filter(company=str(id))
        found = lists.page(conn, jobs.workspace, wanted, v.now, limit=10)
        return {
            "row": row,
            "facts": facts(row.facts),
            "website": wording.web_address(row.website),
            "board": wording.web_address(row.job_board_url),
            "sources": sources.page(conn, jobs.workspace, company=id),
            "cards": cards(conn, jobs.workspace, [one.id for one in found.rows], v.now),
        }

    return await show(v, "company.html", workspace, read, statuses=STATUSES)


def facts(known: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """What is known of a company: name, value, and the sentence that says so."""
    evidence = known.get("evidence") or {}
    order = [*FACTS, *(name for name in known if name not in FACTS)]
    found = []
    for name in order:
        value = known.get(name)
        if name in HIDDEN or value in (None, "", [], {}):
            continue
        text = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
        fact = evidence.get(name)
        quote = str(fact.get("quote") or "") if isinstance(fact, Mapping) else ""
        found.append((_words(name), text[:1000], "" if quote == text else quote[:400]))
    return found


def _words(name: str) -> str:
    spaced = "".join(f" {one.lower()}" if one.isupper() else one for one in name).replace("_", " ")
    return spaced.removeprefix("company ").strip()


@router.get("/ui/jobs/refused")
async def refused(v: Reader, workspace: Text = "", before: Annotated[int | None, Query(ge=1)] = None) -> Response:
    """Items that were not started, because they would have made a loop."""

    def read(conn: sa.Connection, jobs: JobsFrame) -> Mapping[str, Any]:
        rows, more = refused_spawns(conn, jobs.workspace, MACHINES, before=before, limit=SHOWN)
        return {"rows": rows, "next": jobs.url("/refused", before=more) if more else ""}

    return await show(v, "refused.html", workspace, read)


@router.post("/ui/jobs/companies")
async def add(form: Posted) -> Response:
    workspace = acting(form)
    actor = form.v.who.actor_in(workspace)
    name, website = form.get("name").strip()[:300], form.get("website").strip()[:2000]

    def job(unit: Unit) -> Done:
        added = add_company(unit, workspace, name, website or None, actor)
        called = name or website
        said = f"Added {called}: its pages are fetched now." if added.new else f"{called} is already under way."
        return Done(said=said)

    return await form.do(job, "company")
