"""The page of one posting: requirements against the profile, the score's sum, the filter's checks, and the text."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any, NamedTuple
from uuid import UUID

import sqlalchemy as sa
from fastapi import APIRouter, Query
from fastapi.responses import Response
from markupsafe import Markup

from interlock.apps.jobs.finder.filtering import filter_posting
from interlock.apps.jobs.finder.intake import unfilter
from interlock.apps.jobs.finder.matching import match_posting
from interlock.apps.jobs.finder.pages import wording
from interlock.apps.jobs.finder.pages.cards import Card, cards
from interlock.apps.jobs.finder.pages.frame import JobsFrame, acting, show
from interlock.apps.jobs.finder.pages.requirements import lines
from interlock.apps.jobs.finder.postings.posting import Posting
from interlock.apps.jobs.finder.postings.read_posting import ReadPosting
from interlock.apps.jobs.finder.records import companies, lists, postings, profiles, sources
from interlock.apps.jobs.finder.sources.cleaning import sanitised
from interlock.dashboard.forms import Done, Posted
from interlock.dashboard.site import Reader
from interlock.engine import NotFound
from interlock.engine.application import Unit
from interlock.store import moment

router = APIRouter(include_in_schema=False)
Workspace = Annotated[str, Query(max_length=200)]
MOST_LINES = 60
MOST_ALIKE = 10
CHECKS = {"stop_domain": "domain on the stop list", "stop_company": "company on the stop list"}
"""Checks whose names say too little."""


class Section(NamedTuple):
    """What another subject shows on this page."""

    read: Callable[[sa.Connection, JobsFrame, Card], Mapping[str, Any]]
    side: str
    """The template beside the text."""
    style: str
    """Its style sheet."""


SECTIONS: list[Section] = []
"""Filled by the pages of other subjects, which know the finder; it does not know them."""


@router.get("/ui/jobs/postings/{id}")
async def posting(v: Reader, id: UUID, workspace: Workspace = "") -> Response:
    def read(conn: sa.Connection, jobs: JobsFrame) -> Mapping[str, Any]:
        row = postings.find(conn, jobs.workspace, id)
        if row is None:
            raise NotFound(f"there is no posting {id}")
        card = cards(conn, jobs.workspace, [id], v.now)[0]
        company = companies.find(conn, jobs.workspace, row.company_id) if row.company_id else None
        seen = {one.id: one for one in lists.sightings(conn, row)}
        alike = postings.alike(conn, jobs.workspace, row.group_key)
        more = {name: value for section in SECTIONS for name, value in section.read(conn, jobs, card).items()}
        return {
            **more,
            "card": card,
            "row": row,
            "posting": card.posting,
            "url": wording.web_address(card.posting.url),
            "apply_url": wording.web_address(card.posting.apply_url),
            "company": company,
            "source": sources.find(conn, jobs.workspace, row.source_id) if row.source_id else None,
            "sightings": list(seen.values()),
            "alike": [one for one in alike if one.id != id and one.id not in seen][:MOST_ALIKE],
            "text": _text(card.posting),
            **_results(conn, jobs, card, company),
        }

    return await show(v, "posting.html", workspace, read, parts=wording.PARTS, checks=CHECKS, sections=SECTIONS)


def _results(conn: sa.Connection, jobs: JobsFrame, card: Card, company: companies.CompanyRow | None) -> dict[str, Any]:
    """The stored results; where there are none, those of the present profile."""
    found = profiles.seeker(conn, jobs.workspace) if jobs.stored is not None else None
    match, filtered = card.match, card.filtered
    if found is None:
        return {"match": match, "filtered": filtered, "lines": [], "more_lines": 0, "stale": False}
    seeker, digest = found
    read = ReadPosting(card.posting, **company.said) if company else ReadPosting(card.posting)
    every = lines(read, seeker)
    return {
        "match": match or match_posting(read, seeker).json(),
        "filtered": filtered or filter_posting(read, seeker, moment(jobs.v.now)).json(),
        "lines": every[:MOST_LINES],
        "more_lines": max(0, len(every) - MOST_LINES),
        "stale": card.row.profile_digest is not None and card.row.profile_digest != digest,
    }


def _text(posting: Posting) -> Markup | None:
    """The text of the posting. It was sanitised when it was parsed, and is again: the row may be of another version."""
    html = sanitised(posting.description_html)
    return Markup(html) if html else None  # noqa: S704


@router.post("/ui/jobs/postings/{id}/unfilter")
async def take_after_all(form: Posted, id: UUID) -> Response:
    """Take a posting although it was filtered or skipped."""
    workspace = acting(form)
    actor = form.v.who.actor_in(workspace)
    reason = " ".join(form.get("reason").split())[:500]

    def job(unit: Unit) -> Done:
        unfilter(unit, workspace, id, actor, reason)
        return Done(said="Taken after all: it is matched again with your override.")

    return await form.do(job, "unfilter")
