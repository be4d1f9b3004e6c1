"""Reads the kept answers of a source again, as a better parser would have read them, and says what is different.

Nothing is fetched. A posting keeps what the new reading leaves unknown, because it may have come from an answer that is
not kept any more. What changed is filtered and matched again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

import sqlalchemy as sa

from interlock.apps.jobs.finder import intake
from interlock.apps.jobs.finder.fetching import raw
from interlock.apps.jobs.finder.identity.dedupe import posting_key
from interlock.apps.jobs.finder.postings.posting import Posting
from interlock.apps.jobs.finder.records import postings
from interlock.apps.jobs.finder.records.postings import PostingRow
from interlock.apps.jobs.finder.records.sources import SourceRow
from interlock.apps.jobs.finder.sources.adapter import merged
from interlock.apps.jobs.finder.sources.answer import Answer, Request
from interlock.apps.jobs.finder.sources.crawl import Crawl
from interlock.apps.jobs.finder.steps.scraping import NotScraped, from_page, page_request
from interlock.apps.jobs.tables import posting as P
from interlock.engine import Unreadable
from interlock.engine.application import Unit
from interlock.machine import Actor
from interlock.store import moment

BOOKKEEPING = frozenset(
    {
        *(
            "id",
            "source_id",
            "company_id",
            "first_seen",
            "last_seen",
            "seen_count",
            "raw_ref",
            "extraction",
            "evidence",
        ),
        *("state", "closed_reason"),
    }
)
"""Fields that say nothing about the posting itself."""
BATCH = 200
NOT_KEPT = "an answer is not kept any more"


@dataclass(frozen=True, slots=True)
class Reread:
    """One posting that is read differently."""

    id: UUID | None
    """None for one that was not found before."""
    key: str
    posting: Posting
    fields: tuple[str, ...]
    """The fields that changed."""


@dataclass(slots=True)
class Reading:
    """What the kept answers of one source say now."""

    source: SourceRow
    verdict: str
    reasons: Sequence[str]
    postings: int = 0
    unchanged: int = 0
    changed: list[Reread] = field(default_factory=list)
    new: list[Reread] = field(default_factory=list)

    @property
    def fields(self) -> Counter[str]:
        """How often each field changed."""
        return Counter(name for one in self.changed for name in one.fields)


def read_again(conn: sa.Connection, row: SourceRow) -> Reading:
    """Read the kept answers of a source, and compare them with the stored postings."""
    adapter, board = row.adapter, row.address
    crawl = Crawl(adapter, board)
    while (request := crawl.next()) is not None:
        kept = _kept(conn, row.workspace, request)
        if kept is None:
            crawl.miss(NOT_KEPT)
        else:
            crawl.take(request, kept[0], kept[1])
    result = crawl.result()
    found = Reading(row, result.verdict.value, result.reasons, len(result.postings))
    keyed = {key: one for one in result.postings if (key := posting_key(one)) is not None}
    keys = list(keyed)
    for at in range(0, len(keys), BATCH):
        part = keys[at : at + BATCH]
        query = sa.select(P).where(P.c.workspace == row.workspace, P.c.posting_key.in_(part))
        stored = {one.posting_key: PostingRow(one) for one in conn.execute(query)}
        for key in part:
            _compare(found, conn, row, key, keyed[key], stored.get(key))
    return found


def _kept(conn: sa.Connection, workspace: str, request: Request) -> tuple[Answer, datetime] | None:
    known, answer = raw.known(conn, workspace, request), raw.stored_answer(conn, workspace, request)
    return None if known is None or answer is None else (answer, moment(known.fetched_at))


def _compare(
    found: Reading, conn: sa.Connection, row: SourceRow, key: str, read: Posting, stored: PostingRow | None
) -> None:
    whole = _with_detail(conn, row, read)
    named = {"source_id": str(row.id), "company_name_raw": whole.company_name_raw or row.company_name or None}
    whole = whole.model_copy(update=named)
    if stored is None:
        found.new.append(Reread(None, key, whole, ()))
        return
    try:
        before = stored.posting
    except Unreadable:
        found.changed.append(Reread(stored.id, key, whole, ("all",)))
        return
    after = merged(whole, before, both_places=False)
    if not after.locations:
        after = after.model_copy(update={"locations": before.locations})
    fields = tuple(
        name
        for name in Posting.model_fields
        if name not in BOOKKEEPING and getattr(before, name) != getattr(after, name)
    )
    if fields:
        found.changed.append(Reread(stored.id, key, after, fields))
    else:
        found.unchanged += 1


def _with_detail(conn: sa.Connection, row: SourceRow, read: Posting) -> Posting:
    """The posting with what its own answer or page says, where that is kept."""
    request = row.adapter.detail(row.address, read)
    kept = _kept(conn, row.workspace, request) if request is not None else None
    parsed = row.adapter.parse_detail(kept[0], row.address, read, kept[1]) if kept is not None else None
    found = parsed.postings[0] if parsed and parsed.postings else read
    page = _kept(conn, row.workspace, page_request(found.url)) if found.url and not found.description_text else None
    if page is None:
        return found
    try:
        return from_page(page[0], found, page[1])
    except NotScraped:
        return found


def store(unit: Unit, reading: Reading, actor: Actor) -> None:
    """Store what is read differently. Changed postings are scored again, and new ones start a listing."""
    row = reading.source
    for one in reading.changed:
        assert one.id is not None
        postings.replace(unit, one.id, one.key, one.posting)
        # A digest that is no profile's makes the posting be scored again; one that was never scored has none.
        stale = sa.update(P).where(P.c.id == one.id, P.c.profile_digest.is_not(None))
        unit.conn.execute(stale.values(profile_digest="parsed again"))
    fresh = [one.posting for one in reading.new]
    if fresh:
        for seen in postings.take(unit, row.workspace, fresh, source_id=row.id, company_id=row.company_id):
            intake.start_listing(unit, row.workspace, seen, actor)
