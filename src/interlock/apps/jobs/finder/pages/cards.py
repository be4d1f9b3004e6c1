"""Postings as the lists show them: one card each, made from the stored results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import sqlalchemy as sa

from interlock.apps.jobs.claims.machine import APPLIED, job
from interlock.apps.jobs.finder.identity.dedupe import times_posted
from interlock.apps.jobs.finder.identity.keys import group_key
from interlock.apps.jobs.finder.pages import wording
from interlock.apps.jobs.finder.pages.results import filter_of, match_of, posting_of
from interlock.apps.jobs.finder.pages.wording import Badge, Pay, Reason
from interlock.apps.jobs.finder.postings.posting import Posting
from interlock.apps.jobs.finder.records.postings import PostingRow
from interlock.apps.jobs.tables import company as C
from interlock.apps.jobs.tables import posting as P
from interlock.engine.application import instances
from interlock.store import Micros, moment

MOST_APPLIED = 500
"""The newest applications that are looked at for the badge "applied before"."""


@dataclass(frozen=True, slots=True)
class Card:
    """One posting of a list."""

    row: PostingRow
    posting: Posting
    good: Sequence[Reason]
    bad: Sequence[Reason]
    age: str
    pay: Pay | None
    place: Reason | None
    badges: Sequence[Badge]
    tier: str | None
    match: Mapping[str, Any] | None
    filtered: Mapping[str, Any] | None

    @property
    def confidence(self) -> int | None:
        """Percent of the score's weight that had data."""
        return None if self.match is None else round(100 * self.match["confidence"])

    @property
    def title(self) -> str:
        return self.row.title or "Posting without a title"


def cards(conn: sa.Connection, workspace: str, ids: Sequence[UUID], now: Micros) -> list[Card]:
    """The postings with these ids, in this order."""
    if not ids:
        return []
    query = sa.select(P).where(P.c.workspace == workspace, P.c.id.in_(list(ids)))
    rows = {row.id: PostingRow(row) for row in conn.execute(query)}
    tiers = _tiers(conn, [row.company_id for row in rows.values()])
    often = _reposts(conn, workspace, [row.group_key for row in rows.values()])
    applied = _applied(conn, workspace)
    return [_card(rows[one], now, tiers, often, applied) for one in ids if one in rows]


def _card(
    row: PostingRow, now: Micros, tiers: Mapping[Any, str], reposts: Mapping[str, int], applied: Mapping[str, str]
) -> Card:
    posting, group = posting_of(row), row.group_key or ""
    match, filtered = match_of(row), filter_of(row)
    good, bad = wording.reasons(match, filtered)
    unread = bool((filtered or {}).get("unread")) or not posting.description_text
    return Card(
        row,
        posting,
        good,
        bad,
        wording.age(posting, row.first_seen, now),
        wording.pay(posting, match),
        wording.location(match),
        wording.badges(row, posting, now, unread=unread, reposts=reposts.get(group, 0), applied=applied.get(group, "")),
        tiers.get(row.company_id),
        match,
        filtered,
    )


def _tiers(conn: sa.Connection, ids: Sequence[UUID | None]) -> dict[Any, str]:
    known = {one for one in ids if one is not None}
    if not known:
        return {}
    found = conn.execute(sa.select(C.c.id, C.c.tier).where(C.c.id.in_(sorted(known)), C.c.tier.is_not(None)))
    return {row.id: row.tier for row in found}


def _reposts(conn: sa.Connection, workspace: str, groups: Sequence[str | None]) -> dict[str, int]:
    """Group → how often its role was posted."""
    known = {one for one in groups if one is not None}
    if not known:
        return {}
    query = sa.select(P.c.group_key, P.c.posting_key, P.c.posted_at, P.c.first_seen)
    seen: dict[str, list[Any]] = {}
    for row in conn.execute(query.where(P.c.workspace == workspace, P.c.group_key.in_(sorted(known)))):
        seen.setdefault(row.group_key, []).append(row)
    return {
        group: times_posted((row.posting_key, moment(row.posted_at or row.first_seen)) for row in rows)
        for group, rows in seen.items()
        if len(rows) > 1
    }


def _applied(conn: sa.Connection, workspace: str) -> dict[str, str]:
    """Group → the sentence that says when somebody applied for a job of that role."""
    found: dict[str, str] = {}
    made = instances(conn, job.name, workspace=workspace, states=[APPLIED], newest_first=True, limit=MOST_APPLIED)
    for one in made:
        group = group_key(str(one.shown_data.get("company") or ""), str(one.shown_data.get("title") or ""))
        if group is not None:
            found.setdefault(group, f"you applied for one like this on {moment(one.entered_at):%d %B %Y}")
    return found
