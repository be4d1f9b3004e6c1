"""Why a posting is not among the matches: a search over all postings with the rule and its evidence."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Annotated, Any

import sqlalchemy as sa
from fastapi import APIRouter, Query
from fastapi.responses import Response

from interlock.apps.jobs.finder.intake import add_listing, settings_in
from interlock.apps.jobs.finder.pages.cards import cards
from interlock.apps.jobs.finder.pages.frame import JobsFrame, acting, show
from interlock.apps.jobs.finder.records import lists, postings
from interlock.apps.jobs.finder.records.nearly import nearly_passed
from interlock.apps.jobs.finder.records.why import sentence, why
from interlock.dashboard.forms import Done, Posted
from interlock.dashboard.site import Reader
from interlock.engine.application import Unit
from interlock.store import span

router = APIRouter(include_in_schema=False)
SHOWN = 25
WEEK = timedelta(days=7)
NEARLY = "nearly"
OUTCOMES = {
    "": "every outcome",
    NEARLY: "nearly passed this week",
    postings.FILTERED: "filtered",
    postings.SKIPPED: "below the threshold, or a duplicate",
    postings.MATCHED: "matched",
    postings.WAITING: "waiting",
    postings.NEW: "new",
    postings.FAILED: "failed",
}
"""Outcome → words."""
KINDS = {
    postings.FILTERED: "failed",
    postings.SKIPPED: "ended",
    postings.MATCHED: "done",
    postings.WAITING: "wait",
    postings.NEW: "work",
    postings.FAILED: "failed",
}
Text = Annotated[str, Query(max_length=2000)]


@router.get("/ui/jobs/why-not")
async def why_not(
    v: Reader, workspace: Text = "", q: Text = "", outcome: Annotated[str, Query(max_length=20)] = "", after: Text = ""
) -> Response:
    filters = {"q": q, "outcome": outcome}

    private_hosts = settings_in(v.service.engine.setting("jobs")).private_hosts

    def read(conn: sa.Connection, jobs: JobsFrame) -> Mapping[str, Any]:
        if outcome == NEARLY:
            edge = nearly_passed(conn, jobs.workspace, v.now - span(WEEK), limit=SHOWN)
            return {
                "cards": cards(conn, jobs.workspace, edge.ids, v.now),
                "next": "",
                "found": None,
                "rules": edge.rules,
            }
        found = why(conn, jobs.workspace, q, v.now, private_hosts=private_hosts) if q else None
        if found is not None and found.url is not None:
            ids = [one.row.id for one in found.answers]
            return {"cards": cards(conn, jobs.workspace, ids, v.now), "next": "", "found": found, "rules": {}}
        states = [outcome] if outcome else [] if q else [postings.FILTERED, postings.SKIPPED]
        wanted = lists.Filter(q=q, states=states, every_sighting=True)
        page = lists.page(conn, jobs.workspace, wanted, v.now, after=after or None, limit=SHOWN)
        return {
            "cards": cards(conn, jobs.workspace, [row.id for row in page.rows], v.now),
            "next": jobs.url("/why-not", **filters, after=page.next) if page.next else "",
            "found": found,
            "rules": {},
        }

    return await show(
        v,
        "why_not.html",
        workspace,
        read,
        filters=filters,
        outcomes=OUTCOMES,
        words=words,
        kinds=KINDS,
        sentence=sentence,
    )


def words(row: Any) -> str:
    """What became of a posting, in a word or two."""
    if row.outcome == postings.SKIPPED:
        return "duplicate" if row.opening_id else "below the threshold"
    return OUTCOMES.get(row.outcome, str(row.outcome))


@router.post("/ui/jobs/listings")
async def add(form: Posted) -> Response:
    """Filter and match one posting by its address."""
    workspace = acting(form)
    actor = form.v.who.actor_in(workspace)
    url = form["url"].strip()[:2000]

    def job(unit: Unit) -> Done:
        added = add_listing(unit, workspace, url, actor)
        return Done(said="Added: it is fetched, filtered and matched now." if added.new else "It is under way already.")

    return await form.do(job, "listing")
