"""Sources: health, status and preview; crawl now, enable, disable, and the form that adds one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any
from uuid import UUID

import sqlalchemy as sa
from fastapi import APIRouter, Query
from fastapi.responses import Response

from interlock.apps.jobs.finder.intake import add_source, crawl, disable_source, enable_source, source_in
from interlock.apps.jobs.finder.pages import wording
from interlock.apps.jobs.finder.pages.frame import JobsFrame, acting, show
from interlock.apps.jobs.finder.records import health, sources
from interlock.apps.jobs.finder.records.sources import CrawlRow
from interlock.apps.jobs.finder.sources import KINDS
from interlock.dashboard.forms import Done, Posted
from interlock.dashboard.plots import COLUMN, TALL, Bar
from interlock.dashboard.site import Reader
from interlock.engine import NotFound
from interlock.engine.application import Unit
from interlock.http.problems import BadRequest

router = APIRouter(include_in_schema=False)
SHOWN = 50
CRAWLS = 20
"""Crawls in the plot of a source."""
LEAST_COLUMNS = 12
"""So that the bar of a first crawl is a bar."""
STATUSES = {
    sources.ACTIVE: ("done", "active"),
    sources.PENDING_VALIDATION: ("person", "waits for validation"),
    sources.DISABLED: ("ended", "disabled"),
}
"""Status → the kind that colours it, and words."""
VERDICTS = {"complete": "done", "partial": "wait", "capped": "wait", "failed": "failed"}
COUNTS = ("listed", "parsed", "new", "changed", "closed")
ACTIONS = ("crawl", "enable", "disable")
Text = Annotated[str, Query(max_length=200)]


@router.get("/ui/jobs/sources")
async def listed(
    v: Reader, workspace: Text = "", q: Text = "", state: Text = "", kind: Text = "", after: UUID | None = None
) -> Response:
    filters = {"q": q, "state": state, "kind": kind}

    def read(conn: sa.Connection, jobs: JobsFrame) -> Mapping[str, Any]:
        rows = sources.page(
            conn, jobs.workspace, q=q or None, state=state or None, kind=kind or None, after=after, limit=SHOWN + 1
        )
        more, rows = len(rows) > SHOWN, rows[:SHOWN]
        made = health.last_crawls(conn, [row.id for row in rows], CRAWLS)
        return {
            "rows": rows,
            "crawls": {id_: trend(some) for id_, some in made.items()},
            "next": jobs.url("/sources", **filters, after=str(rows[-1].id)) if more else "",
        }

    return await show(
        v, "sources.html", workspace, read, filters=filters, statuses=STATUSES, verdicts=VERDICTS, kinds=list(KINDS)
    )


@router.get("/ui/jobs/sources/{id}")
async def source(v: Reader, id: UUID, workspace: Text = "") -> Response:
    def read(conn: sa.Connection, jobs: JobsFrame) -> Mapping[str, Any]:
        row = sources.find(conn, jobs.workspace, id)
        if row is None:
            raise NotFound(f"there is no source {id}")
        crawls = sources.crawls(conn, id, CRAWLS)
        return {
            "row": row,
            "url": wording.web_address(row.url),
            "crawls": [(one, [_count(one, name) for name in COUNTS]) for one in crawls],
            "trend": trend(crawls),
            "missing": missing(row.preview),
            "shown": [(one, wording.web_address(str(one.get("url") or ""))) for one in row.preview],
        }

    return await show(v, "source.html", workspace, read, statuses=STATUSES, verdicts=VERDICTS)


class Trend:
    """The last crawls as bars, the oldest first: how many postings each read, coloured by its verdict."""

    def __init__(self, bars: Sequence[tuple[Bar, str]], sentence: str) -> None:
        self.bars, self.sentence = bars, sentence

    @property
    def width(self) -> int:
        return COLUMN * max(LEAST_COLUMNS, len(self.bars))


def trend(crawls: Sequence[CrawlRow]) -> Trend:
    """The plot of crawls that are given with the newest first."""
    ordered = list(reversed(crawls))
    many = [_count(one, "parsed") for one in ordered]
    top = max(many, default=0) or 1
    bars = []
    for at, (one, n) in enumerate(zip(ordered, many, strict=True)):
        # A crawl that failed has no postings, and must still be seen.
        height = round(max(TALL * n / top, 30 if one.verdict == "failed" else 4), 2)
        bars.append((Bar(at * COLUMN, round(TALL - height, 2), height, f"{one.verdict}: {n} postings"), one.verdict))
    failed = sum(one.verdict == "failed" for one in ordered)
    last = f"the last one was {ordered[-1].verdict} with {many[-1]} postings" if ordered else "none was made yet"
    return Trend(bars, f"{len(ordered)} crawls, {failed} failed; {last}")


def _count(crawl: CrawlRow, name: str) -> int:
    found = crawl.counts.get(name)
    return found if isinstance(found, int) else 0


def missing(preview: Sequence[Mapping[str, Any]]) -> list[tuple[str, int]]:
    """Fields that the source does not give, with the number of previewed rows without them."""
    found: dict[str, int] = {}
    for row in preview:
        lacks = row.get("missing")
        for name in lacks if isinstance(lacks, list) else ():
            found[str(name)] = found.get(str(name), 0) + 1
    return sorted(found.items(), key=lambda one: (-one[1], one[0]))


@router.post("/ui/jobs/sources")
async def add(form: Posted) -> Response:
    workspace = acting(form)
    actor = form.v.who.actor_in(workspace)
    url, company = form.get("url").strip()[:2000], form.get("company_name").strip()[:300]
    hint = form.get("type_hint", "auto") or "auto"

    def job(unit: Unit) -> Done:
        added = add_source(unit, workspace, url, actor, type_hint=hint, company_name=company)
        said = (
            "Added: the address is looked at now, and its first rows appear here."
            if added.new
            else ("That address is already under way.")
        )
        return Done(said=said)

    return await form.do(job, "source")


@router.post("/ui/jobs/sources/{id}")
async def change(form: Posted, id: UUID) -> Response:
    """Crawl a source now, enable it, or disable it."""
    workspace, action = acting(form), form["action"]
    if action not in ACTIONS:
        raise BadRequest(f"{action[:40]!r} cannot be done with a source; there are {', '.join(ACTIONS)}")
    actor = form.v.who.actor_in(workspace)
    reason = " ".join(form.get("reason").split())[:300]

    def job(unit: Unit) -> Done:
        row = source_in(unit, workspace, id)
        if action == "crawl":
            started = crawl(unit, workspace, id, actor)
            return Done(said=f"{row.name}: {'a crawl starts now' if started.new else 'a crawl is already under way'}.")
        if action == "enable":
            enable_source(unit, workspace, id, actor, reason)
            return Done(said=f"{row.name} is active and will be crawled at once.")
        disable_source(unit, workspace, id, actor, reason)
        return Done(said=f"{row.name} is disabled.")

    return await form.do(job, "source")
