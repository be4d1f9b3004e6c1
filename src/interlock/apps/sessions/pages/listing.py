"""The list of sessions, by status, with search and filters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any
from uuid import UUID

import sqlalchemy as sa
from fastapi import APIRouter, Query
from fastapi.responses import Response

from interlock.apps.sessions.api.access import MACHINE, readable
from interlock.apps.sessions.conversation import index
from interlock.apps.sessions.conversation.prompt_totals import PromptTotals, prompt_totals
from interlock.apps.sessions.machine import (
    ARCHIVED,
    IN_PROGRESS,
    NEEDS_REVIEW,
    NEEDS_REVIEW_IP_RETURNED,
    PENDING,
    STUCK,
    loan,
)
from interlock.apps.sessions.models import Session
from interlock.apps.sessions.pages.frame import CREATE, ROOT, show
from interlock.apps.sessions.settings import settings_in
from interlock.dashboard.site import Reader, Visitor
from interlock.engine import Instance, reviews
from interlock.engine.application import instances
from interlock.http.caller import need
from interlock.http.problems import BadRequest
from interlock.people import in_workspace

router = APIRouter(include_in_schema=False)
SHOWN = 40
SEARCHED = 2000
"""Sessions that a search for words looks at, the newest first."""
SHOWS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "open": ("Open", (PENDING, IN_PROGRESS, NEEDS_REVIEW, NEEDS_REVIEW_IP_RETURNED)),
    "working": ("Working", (PENDING, IN_PROGRESS)),
    "review": ("To review", (NEEDS_REVIEW, NEEDS_REVIEW_IP_RETURNED)),
    "archived": ("Archived", (ARCHIVED,)),
    "all": ("All", ()),
}
Text = Annotated[str, Query(max_length=200)]
Cursor = Annotated[UUID | None, Query()]


@dataclass(frozen=True, slots=True)
class Row:
    """A session in the list."""

    instance: Instance
    entry: index.IndexEntry
    sums: PromptTotals
    asks: int
    """Tool calls that wait for a person."""
    stuck: bool
    """Whether its sandbox could not be returned."""

    @property
    def data(self) -> Session:
        return Session.model_validate(self.instance.data)

    @property
    def url(self) -> str:
        return f"{ROOT}/{self.instance.id}"

    @property
    def stopped(self) -> bool:
        """Whether its step failed and is not tried again by itself."""
        return self.instance.state == PENDING and self.instance.error is not None and self.instance.wake is None


@router.get(ROOT)
async def list_sessions(
    v: Reader,
    q: Text = "",
    shown: Annotated[str, Query(alias="show", max_length=20)] = "open",
    repo: Text = "",
    user: Text = "",
    workspace: Text = "",
    after: Cursor = None,
) -> Response:
    if shown not in SHOWS:
        raise BadRequest(f"{shown[:40]!r} is not a list of sessions; there are {', '.join(SHOWS)}")
    if workspace:
        in_workspace(v.who, workspace)
        need(v.who, "read", workspace, MACHINE)
    wanted = index.SessionFilter(
        [workspace] if workspace else readable(v.who), SHOWS[shown][1], repo or None, user or None
    )

    def read(conn: sa.Connection) -> dict[str, Any]:
        found = _matching(conn, wanted, q, after)
        return {"rows": _rows(conn, v, found[:SHOWN]), "more": found[SHOWN - 1].id if len(found) > SHOWN else None}

    filters = {"show": shown, "q": q, "repo": repo, "user": user, "workspace": workspace}
    context = {
        "filters": filters,
        "shows": SHOWS,
        "repos": sorted(settings_in(v.service.engine.setting("sessions")).repos),
        "may_start": any(v.may(CREATE, one, MACHINE) for one in v.workspaces),
        "narrowed": bool(q or repo or user or workspace),
        **await v.service.read(read),
    }
    return await show(v, "list.html", context)


def _matching(conn: sa.Connection, wanted: index.SessionFilter, q: str, after: UUID | None) -> list[Instance]:
    """One page of sessions, and one more if there are any."""
    words = q.lower().split()
    if not words:
        return index.page(conn, wanted, before=after, limit=SHOWN + 1)
    found: list[Instance] = []
    for one in _all(conn, wanted, after):
        text = " ".join(str(one.data.get(name) or "") for name in ("title", "repo", "branch", "user_id")).lower()
        if all(word in text for word in words):
            found.append(one)
            if len(found) > SHOWN:
                break
    return found


def _all(conn: sa.Connection, wanted: index.SessionFilter, after: UUID | None) -> Iterator[Instance]:
    for _ in range(SEARCHED // 200):
        some = index.page(conn, wanted, before=after, limit=200)
        yield from some
        if len(some) < 200:
            return
        after = some[-1].id


def _rows(conn: sa.Connection, v: Visitor, found: Sequence[Instance]) -> list[Row]:
    ids = [one.id for one in found]
    entries, counted = index.entries(conn, ids), prompt_totals(conn, ids)
    asks: dict[UUID, int] = {}
    waiting = reviews.ReviewFilter(machine=MACHINE, workspaces=v.workspaces)
    for review in reviews.waiting(conn, waiting, limit=500):
        asks[review.instance_id] = asks.get(review.instance_id, 0) + 1
    stuck = {one.data.get("session_id") for one in instances(conn, loan.name, states=[STUCK], limit=500)}
    return [
        Row(one, entries[one.id], counted.get(one.id, PromptTotals()), asks.get(one.id, 0), str(one.id) in stuck)
        for one in found
        if one.id in entries
    ]
