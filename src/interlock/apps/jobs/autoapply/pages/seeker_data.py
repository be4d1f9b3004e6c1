"""The person's data as a whole: export, import of past applications, and deletion."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Annotated, Any, Literal

import sqlalchemy as sa
from fastapi import Query
from fastapi.responses import Response

from interlock.apps.jobs.autoapply.exchange import importing
from interlock.apps.jobs.autoapply.exchange.api import CONFIRMED
from interlock.apps.jobs.autoapply.exchange.api import export as exported
from interlock.apps.jobs.autoapply.exchange.deleting import delete_all
from interlock.apps.jobs.autoapply.exchange.importing import Plan
from interlock.apps.jobs.autoapply.exchange.reading_csv import MOST_BYTES, read_past
from interlock.apps.jobs.autoapply.exchange.seeker_tables import EXPORTED
from interlock.apps.jobs.autoapply.pages import wording
from interlock.apps.jobs.autoapply.records import applications
from interlock.apps.jobs.finder.pages.frame import ROOT, JobsFrame, acting, seen_workspace, show
from interlock.dashboard.forms import Done, Form, Posted, PostedWithFiles
from interlock.dashboard.site import Reader, redirect
from interlock.engine.application import Unit
from interlock.http.caller import require
from interlock.http.direct import Router
from interlock.http.problems import BadRequest
from interlock.store import moment

router = Router(include_in_schema=False)
router.takes("/ui/jobs/apply-data", MOST_BYTES + 100_000)
Text = Annotated[str, Query(max_length=200)]
SHOWN = 50
"""Rows of each kind that an import shows."""
DAYS = {"": None, "day": True, "month": False}
"""What comes first in 03/04/2026; without an answer such a date is a bad row."""


@router.get("/ui/jobs/apply-data")
async def page(v: Reader, workspace: Text = "") -> Response:
    return await _page(v, seen_workspace(v, workspace))


async def _page(v: Any, workspace: str, plan: Plan | None = None, *, name: str = "") -> Response:
    def read(conn: sa.Connection, jobs: JobsFrame) -> Mapping[str, Any]:
        return {
            "many": sum(applications.counts(conn, jobs.workspace).values()),
            "may_delete": v.may("force", jobs.workspace),
        }

    return await show(
        v,
        "seeker_data.html",
        workspace,
        read,
        folder="apply",
        lists=list(EXPORTED),
        plan=plan,
        name=name,
        shown=SHOWN,
        confirmed=CONFIRMED,
    )


@router.get("/ui/jobs/apply-data/export")
async def export(
    v: Reader,
    workspace: Text = "",
    format: Literal["zip", "json", "csv"] = "zip",
    what: Text = "applications",
) -> Response:
    return await exported(v.service, v.who, format, what, seen_workspace(v, workspace))


@router.post("/ui/jobs/apply-data")
async def import_past(form: PostedWithFiles) -> Response:
    """Show what a file with past applications says, or import it."""
    workspace, wanted = acting(form), form["do"]
    if wanted not in ("preview", "import"):
        raise BadRequest(f"{wanted[:40]!r} cannot be done with a file; there are preview and import")
    v = form.v
    file = form.files[0] if form.files else None
    if file is None or not file.content:
        raise BadRequest("no file is chosen; choose a CSV file with a header")
    if form.get("first") not in DAYS:
        raise BadRequest(f"{form.get('first')[:40]!r} is not an order of dates; there are day and month")
    understood = await asyncio.to_thread(read_past, file.content, moment(v.now), day_first=DAYS[form.get("first")])
    if wanted == "preview":
        plan = await v.service.read(lambda conn: importing.plan(conn, workspace, understood))
        return await _page(v, workspace, plan, name=file.name)
    actor = str(v.who.actor_in(workspace))

    def job(unit: Unit) -> Done:
        plan, made = importing.carry_out(unit, workspace, understood, actor)
        left = f"; {wording.many(len(plan.bad), 'row')} could not be read" if plan.bad else ""
        return Done(said=f"Imported: {wording.many(len(made), 'application')}{left}.", to=f"{ROOT}/apply-data")

    return await form.do(job, "import_applications")


@router.post("/ui/jobs/apply-data/delete")
async def delete(form: Posted) -> Response:
    """Delete everything, if it is confirmed in words. Sending the form again continues where it stopped."""
    workspace = acting(form)
    v = form.v
    require(v.who, "force", workspace, f"workspace {workspace!r}")
    if form.get("confirm").strip().lower() != CONFIRMED:
        raise BadRequest(f"nothing was deleted: write {CONFIRMED!r} to confirm it")
    made = await asyncio.to_thread(
        delete_all,
        v.service.engine,
        workspace,
        v.who.actor_in(workspace),
        _reason(form),
        forget_openings=form.get("forget") == "yes",
    )
    left = f" {wording.many(len(made.left), 'application')} could not be erased yet." if made.left else ""
    return redirect(
        form.back, f"Deleted: {wording.many(made.erased, 'application')} and {wording.many(made.rows, 'row')}.{left}"
    )


def _reason(form: Form) -> str:
    return " ".join(form.get("reason").split())[:500] or "the seeker's wish"
