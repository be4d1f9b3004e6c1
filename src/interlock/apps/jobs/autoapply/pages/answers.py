"""The answer bank: what the person answered to questions of forms, and answers that contradict each other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any
from uuid import UUID

import sqlalchemy as sa
from fastapi import APIRouter, Query
from fastapi.responses import Response

from interlock.apps.jobs.autoapply.answers import contradictions
from interlock.apps.jobs.autoapply.pages import wording
from interlock.apps.jobs.autoapply.records import answers
from interlock.apps.jobs.finder.pages.frame import JobsFrame, acting, show
from interlock.dashboard.forms import Done, Posted
from interlock.dashboard.site import Reader
from interlock.engine import NotFound
from interlock.engine.application import Unit
from interlock.http.problems import BadRequest

router = APIRouter(include_in_schema=False)
Text = Annotated[str, Query(max_length=200)]
SHOWN = 200
SCOPES = {"everywhere": "everywhere", "company": "this company", "once": "one application"}


@router.get("/ui/jobs/answers")
async def bank(v: Reader, workspace: Text = "", q: Text = "") -> Response:
    words = q.lower().split()

    def read(conn: sa.Connection, jobs: JobsFrame) -> Mapping[str, Any]:
        every = answers.page(conn, jobs.workspace)
        found = [one for one in every if all(word in _text(one) for word in words)]
        return {
            "rows": found[::-1][:SHOWN],
            "many": len(found),
            "against": contradictions([one.answer for one in every]),
        }

    return await show(v, "answers.html", workspace, read, folder="apply", q=q, said_value=wording.said, scopes=SCOPES)


def _text(row: answers.AnswerRow) -> str:
    return f"{row.answer.label} {wording.said(row.answer.value)} {row.answer.company or ''}".lower()


@router.post("/ui/jobs/answers")
async def forget(form: Posted) -> Response:
    workspace = acting(form)
    try:
        id = UUID(form["answer"])
    except ValueError:
        raise BadRequest(f"{form['answer'][:60]!r} is not an id; load the page again") from None

    def job(unit: Unit) -> Done:
        if not answers.forget(unit, workspace, id):
            raise NotFound("there is no such answer any more")
        return Done(said="Forgotten. The question is asked again when a form has it.")

    return await form.do(job, "forget_answer")
