"""The health of sources: their last crawls, and what all crawls of a time found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from uuid import UUID

import sqlalchemy as sa

from interlock.apps.jobs.finder.records import sources
from interlock.apps.jobs.finder.records.sources import CrawlRow, SourceRow
from interlock.apps.jobs.finder.records.stored import mapping
from interlock.apps.jobs.tables import crawl as W
from interlock.apps.jobs.tables import source as S
from interlock.store import Micros

MOST_CRAWLS = 2_000


@dataclass(slots=True)
class Activity:
    """What the crawls of a time found."""

    crawls: int = 0
    verdicts: dict[str, int] = field(default_factory=dict)
    """Verdict → crawls that ended so."""
    counts: dict[str, int] = field(default_factory=dict)
    """parsed, new, changed, unseen, closed, … → postings."""


def activity(conn: sa.Connection, workspace: str, since: Micros) -> Activity:
    """What crawls found since a moment; of very many the newest."""
    query = (
        sa.select(W.c.verdict, W.c.counts)
        .where(W.c.workspace == workspace, W.c.finished_at >= since)
        .order_by(W.c.finished_at.desc())
        .limit(MOST_CRAWLS)
    )
    found = Activity()
    for row in conn.execute(query):
        found.crawls += 1
        found.verdicts[row.verdict] = found.verdicts.get(row.verdict, 0) + 1
        for name, many in mapping(row.counts).items():
            if isinstance(many, int):
                found.counts[name] = found.counts.get(name, 0) + many
    return found


def last_crawls(conn: sa.Connection, ids: Sequence[UUID], each: int) -> dict[UUID, list[CrawlRow]]:
    """Source → its last crawls, the newest first. Each is read through the index by source and time."""
    return {one: sources.crawls(conn, one, each) for one in ids}


def of_companies(conn: sa.Connection, workspace: str, ids: Sequence[UUID]) -> dict[UUID, list[SourceRow]]:
    """Company → its sources."""
    found: dict[UUID, list[SourceRow]] = {}
    if not ids:
        return found
    query = sa.select(S).where(S.c.workspace == workspace, S.c.company_id.in_(list(ids))).order_by(S.c.id)
    for row in conn.execute(query):
        found.setdefault(row.company_id, []).append(sources.row_of(row))
    return found
