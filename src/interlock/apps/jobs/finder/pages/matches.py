"""The list of matches, and what a person decides about postings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any
from uuid import UUID

import sqlalchemy as sa
from fastapi import APIRouter, Query
from fastapi.responses import Response

from interlock.apps.jobs.finder.intake import decide, posting_in
from interlock.apps.jobs.finder.pages.cards import cards
from interlock.apps.jobs.finder.pages.frame import JobsFrame, acting, show
from interlock.apps.jobs.finder.records import lists, postings
from interlock.apps.jobs.finder.records.lists import DISMISSED, SAVED, UNDECIDED, WORKPLACES
from interlock.dashboard.forms import Done, Posted
from interlock.dashboard.site import Reader
from interlock.engine.application import Unit
from interlock.http.problems import BadRequest

router = APIRouter(include_in_schema=False)
SHOWN = 25
MOST = 100
"""Postings that one form decides about."""
SHOWS: dict[str, tuple[str, tuple[str, ...]]] = {
    "new": ("To decide", (postings.MATCHED, UNDECIDED, postings.OPEN, postings.UNCERTAIN)),
    "saved": ("Saved", (SAVED,)),
    "dismissed": ("Dismissed", (DISMISSED,)),
    "all": ("All matches", (postings.MATCHED,)),
}
DECISIONS = {"save": SAVED, "dismiss": DISMISSED, "undo": None}
OFFERING = ("/ui/jobs", "/ui/jobs/matches")
"""Pages that offer to undo what was decided on them."""
LETTERS = {"": None, "s": SAVED, "d": DISMISSED}
"""The decision before, in the address of a page that offers to undo."""
Text = Annotated[str, Query(max_length=200)]
Score = Annotated[str, Query(max_length=3, pattern=r"^\d*$")]
Cursor = Annotated[str, Query(max_length=100)]
Undo = Annotated[str, Query(max_length=40 * MOST)]


@router.get("/ui/jobs/matches")
async def matches(
    v: Reader,
    workspace: Text = "",
    q: Text = "",
    shown: Annotated[str, Query(alias="show", max_length=20)] = "new",
    min_score: Score = "",
    workplace: Text = "",
    company: Text = "",
    source: Text = "",
    after: Cursor = "",
    undo: Undo = "",
) -> Response:
    if shown not in SHOWS:
        raise BadRequest(f"{shown!r} is not a list of matches; there are {', '.join(SHOWS)}")
    filters = {
        "q": q,
        "show": shown if shown != "new" else "",
        "min_score": min_score,
        "workplace": workplace,
        "company": company,
        "source": source,
    }

    def read(conn: sa.Connection, jobs: JobsFrame) -> Mapping[str, Any]:
        wanted = lists.Filter(
            q=q,
            states=SHOWS[shown][1],
            min_score=int(min_score) if min_score else None,
            company=company or None,
            workplace=workplace or None,
            source=source or None,
        )
        page = lists.page(conn, jobs.workspace, wanted, v.now, after=after or None, limit=SHOWN)
        return {
            "cards": cards(conn, jobs.workspace, [row.id for row in page.rows], v.now),
            "next": jobs.url("/matches", **filters, after=page.next) if page.next else "",
            "undone": undone(undo),
        }

    return await show(
        v,
        "matches.html",
        workspace,
        read,
        filters=filters,
        shows=SHOWS,
        shown=shown,
        undo=undo,
        workplaces=WORKPLACES,
    )


@router.post("/ui/jobs/decide")
async def decide_about(form: Posted) -> Response:
    """Save, dismiss, or take that back, for one posting or several."""
    workspace, wanted = acting(form), form["decision"]
    if wanted not in DECISIONS:
        raise BadRequest(f"{wanted[:40]!r} is not a decision; there are {', '.join(DECISIONS)}")
    if wanted == "undo":
        chosen = undone(form["undo"])
    else:
        chosen = [(_id(one), DECISIONS[wanted]) for one in form.many.get("posting", ())]
    if not chosen:
        raise BadRequest("no posting is selected; select at least one")
    if len(chosen) > MOST:
        raise BadRequest(f"{len(chosen)} postings are selected; decide about at most {MOST} at once")
    actor = form.v.who.actor_in(workspace)

    def job(unit: Unit) -> Done:
        before, titles = [], []
        for one, decision in chosen:
            row = posting_in(unit, workspace, one)
            before.append(f"{one}.{(row.decision or '')[:1]}")
            titles.append(row.title or "the posting")
            decide(unit, workspace, one, decision, actor)
        named = titles[0] if len(titles) == 1 else f"{len(titles)} postings"
        if wanted == "undo":
            return Done(said=f"Undone: {named}", to=_without_undo(form.back))
        back = _without_undo(form.back)
        if back.partition("?")[0] in OFFERING:
            back += f"{'&' if '?' in back else '?'}undo={','.join(before)}"
        return Done(said=f"{'Saved' if wanted == 'save' else 'Dismissed'}: {named}", to=back)

    return await form.do(job, "decide")


def undone(text: str) -> list[tuple[UUID, str | None]]:
    """Postings and their decisions before, from the address of a page."""
    found = []
    for one in text.split(",")[:MOST] if text else ():
        id_, _, letter = one.partition(".")
        if letter not in LETTERS:
            raise BadRequest(f"{one[:60]!r} cannot be undone; open the posting")
        found.append((_id(id_), LETTERS[letter]))
    return found


def _without_undo(address: str) -> str:
    path, _, query = address.partition("?")
    kept = [one for one in query.split("&") if one and not one.startswith(("undo=", "said="))]
    return f"{path}?{'&'.join(kept)}" if kept else path


def _id(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError:
        raise BadRequest(f"{text[:60]!r} is not a posting; load the page again") from None
