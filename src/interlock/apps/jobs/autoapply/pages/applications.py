"""The list of applications: first what waits for the person, then all of them by status."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any
from uuid import UUID

import sqlalchemy as sa
from fastapi import APIRouter, Query
from fastapi.responses import Response

from interlock.apps.jobs.autoapply.api.reading import STATUSES
from interlock.apps.jobs.autoapply.machine import REQUIRES_REVIEW
from interlock.apps.jobs.autoapply.pages import wording
from interlock.apps.jobs.autoapply.pages.today import waiting
from interlock.apps.jobs.autoapply.queueing import enqueueing
from interlock.apps.jobs.autoapply.records import applications as records
from interlock.apps.jobs.autoapply.records import seekers
from interlock.apps.jobs.autoapply.review import deciding
from interlock.apps.jobs.finder.pages.frame import ROOT, JobsFrame, acting, show
from interlock.dashboard.forms import Done, Posted
from interlock.dashboard.site import Reader
from interlock.engine.application import Unit
from interlock.http.problems import BadRequest

router = APIRouter(include_in_schema=False)
SHOWN = 50
Text = Annotated[str, Query(max_length=200)]


@router.get("/ui/jobs/applications")
async def applications(v: Reader, workspace: Text = "", status: Text = "", q: Text = "", after: Text = "") -> Response:
    if status and status not in STATUSES:
        raise BadRequest(f"{status[:50]!r} is not a status; there are {', '.join(sorted(STATUSES))}")
    place = _id(after) if after else None

    def read(conn: sa.Connection, jobs: JobsFrame) -> Mapping[str, Any]:
        rows = records.page(
            conn, jobs.workspace, statuses=[status] if status else None, q=q, after=place, limit=SHOWN + 1
        )
        counts = records.counts(conn, jobs.workspace)
        more = jobs.url("/applications", status=status, q=q, after=rows[SHOWN - 1].id) if len(rows) > SHOWN else ""
        return {
            "rows": rows[:SHOWN],
            "next": more,
            "counts": {one: counts[one] for one in sorted(counts)},
            "waiting": waiting(conn, jobs.workspace)[:SHOWN] if not after else [],
            "waiting_count": counts.get(REQUIRES_REVIEW, 0),
            "stopped": seekers.stopped(conn, jobs.workspace),
        }

    return await show(
        v, "applications.html", workspace, read, folder="apply", status_=status, q=q, kind_of_status=wording.kind_of
    )


@router.post("/ui/jobs/applications")
async def change_all(form: Posted) -> Response:
    """Pause or resume everything, or queue one posting that the person chose."""
    workspace, wanted = acting(form), form["do"]
    actor = form.v.who.actor_in(workspace)
    if wanted == "apply":
        posting = _id(form["posting"])
        again = " ".join(form.get("again").split())[:300]

        def queue(unit: Unit) -> Done:
            made = enqueueing.enqueue_by_person(unit, workspace, posting, actor, again=again, require_approval=True)
            assert made.application is not None
            to = f"{ROOT}/applications/{made.application.id}"
            return Done(said="Queued: it is prepared, then you approve it.", to=to)

        return await form.do(queue, "enqueue")
    if wanted not in ("pause", "resume"):
        raise BadRequest(f"{wanted[:40]!r} cannot be done; there are pause, resume and apply")

    def job(unit: Unit) -> Done:
        many = deciding.pause_all if wanted == "pause" else deciding.resume_all
        done = many(unit, workspace, actor)
        words = "Paused" if wanted == "pause" else "Resumed"
        left = f"; {done.skipped} could not be moved now" if done.skipped else ""
        return Done(said=f"{words}: everything, with {done.applications} applications under way{left}.")

    return await form.do(job, "fire")


def _id(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError:
        raise BadRequest(f"{text[:60]!r} is not an id; load the page again") from None
