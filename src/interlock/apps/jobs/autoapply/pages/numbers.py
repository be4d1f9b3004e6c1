"""The numbers: how the machinery does, and how often employers reply."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import sqlalchemy as sa
from fastapi import APIRouter, Query
from fastapi.responses import Response

from interlock.apps.jobs.autoapply.board import cards, rates
from interlock.apps.jobs.autoapply.pages import wording
from interlock.apps.jobs.autoapply.records.numbers import SAMPLES, numbers
from interlock.apps.jobs.finder.pages.frame import JobsFrame, show
from interlock.dashboard.site import Reader
from interlock.http.problems import BadRequest

router = APIRouter(include_in_schema=False)
Text = Annotated[str, Query(max_length=200)]
GROUPS: dict[rates.By, str] = {"source": "Source", "tier": "Tier", "score": "Score", "variant": "Resume"}
"""What reply rates are grouped by, and its heading."""


@router.get("/ui/jobs/numbers")
async def page(v: Reader, workspace: Text = "", by: Text = "source") -> Response:
    if by not in GROUPS:
        raise BadRequest(f"{by[:40]!r} is nothing to group by; there are {', '.join(GROUPS)}")

    def read(conn: sa.Connection, jobs: JobsFrame) -> Mapping[str, Any]:
        *groups, together = rates.reply_rates(conn, jobs.workspace, by, v.now)
        return {
            "numbers": numbers(conn, v.now, jobs.workspace),
            "groups": groups,
            "together": together,
            "stages": cards.counts(conn, jobs.workspace),
        }

    return await show(
        v,
        "numbers.html",
        workspace,
        read,
        folder="apply",
        by=by,
        by_words=GROUPS,
        samples=SAMPLES,
        small=rates.SMALL,
        time_to_reply=rates.TIME_TO_REPLY,
        kind_of_status=wording.kind_of,
    )
