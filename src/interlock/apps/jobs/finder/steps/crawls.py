"""The stage CRAWL of a source: read its list, store what it shows, and start a listing for all that is new or changed.

What the list shows is stored in parts, each in one transaction with the listings that it starts. A crawl that is
interrupted begins again, and finds what it has stored unchanged: nothing is lost, nothing is started twice.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import timedelta
from typing import Any, get_args
from uuid import UUID

from interlock.apps.jobs.finder.fetching import FetchError
from interlock.apps.jobs.finder.identity.dedupe import posting_key
from interlock.apps.jobs.finder.intake import listing_data
from interlock.apps.jobs.finder.machine import PROCESSING, SKIPPED, SUCCESS, listing, source
from interlock.apps.jobs.finder.models import ListingStage, SourceStage
from interlock.apps.jobs.finder.postings.posting import Posting
from interlock.apps.jobs.finder.records import companies, postings, sources
from interlock.apps.jobs.finder.sources.answer import GONE, Parsed, Verdict, failed
from interlock.apps.jobs.finder.sources.crawl import Crawl
from interlock.apps.jobs.finder.steps.visit import NoRetryHelps, Visit, visiting
from interlock.engine import Claim, Instance
from interlock.engine.application import Unit, find_by_key, require_claim, spawn
from interlock.machine import WORKER, Actor, Go, Outcome, Spawn, WorkError
from interlock.store import Micros, micros, span

PART = 50
"""Postings that are stored in one transaction."""
APART = timedelta(hours=24)
"""How long a posting has to be unseen before the second complete crawl closes it."""


class CrawlFailed(WorkError):
    """The list could not be read. A later crawl may."""


class BoardGone(NoRetryHelps):
    """The board is not there."""


@source.work(PROCESSING, stage=SourceStage.CRAWL, timeout=timedelta(hours=2))
@visiting
async def crawl(visit: Visit) -> Outcome:
    """Crawl the source once."""
    task = visit.task
    row = await task.read(sources.find, task.workspace, UUID(task.data.source_id or ""))
    if row is None:
        raise NoRetryHelps(f"source {task.data.source_id} does not exist any more")
    if row.status == sources.DISABLED:
        reason = f"{row.name} is disabled: {row.status_reason}"
        return Go(SKIPPED, data={"message": reason}, reason=reason)
    result, gone = await _read(visit, row)
    if result.verdict is Verdict.FAILED:
        reason = f"{row.name}: {'; '.join(result.reasons)}"
        raise BoardGone(reason) if gone else CrawlFailed(reason)
    counts = await _store(visit, row, result)
    await task.write(_written, row.id, micros(visit.now), result, counts)
    message = f"{result.verdict.value}: {counts['parsed']} postings, {counts['new']} new, {counts['changed']} changed"
    return Go(SUCCESS, data={"verdict": result.verdict, "found": counts["parsed"], "message": message}, reason=message)


async def _read(visit: Visit, row: sources.SourceRow) -> tuple[Parsed, bool]:
    """The whole list with its verdict, and whether the board is not there."""
    task = visit.task
    reading = Crawl(row.adapter, row.address)
    gone, pages = True, 0
    while (request := reading.next()) is not None:
        try:
            answer = await visit.fetch(request, render=reading.adapter.rendered)
        except FetchError as error:
            if not pages:
                raise
            reading.miss(str(error))
            gone = False
            continue
        gone = gone and answer.status in GONE
        reading.take(request, answer, visit.now)
        pages += 1
        await task.heartbeat()
        await task.progress(0.0 if pages < 2 else min(0.5, pages / (pages + 20)), f"page {pages}")
    result = reading.result()
    return result, gone and result.verdict is Verdict.FAILED


async def _store(visit: Visit, row: sources.SourceRow, result: Parsed) -> Counter[str]:
    task = visit.task
    keys = frozenset(key for one in result.postings if (key := posting_key(one)) is not None)
    counts: Counter[str] = Counter(dict.fromkeys((*get_args(postings.Change), "refused"), 0))
    counts.update(listed=result.counts.listed, parsed=len(result.postings), unreadable=result.counts.unreadable)
    for at in range(0, len(result.postings), PART):
        task.check()
        part = result.postings[at : at + PART]
        counts.update(await task.write(_take, row.id, part, keys))
        await task.progress(0.5 + 0.5 * (at + len(part)) / len(result.postings), f"{at + len(part)} postings")
    may_close = result.verdict is Verdict.COMPLETE and row.adapter.whole
    counts.update(await task.write(_unseen, row.id, keys, may_close))
    return counts


def _take(unit: Unit, claim: Claim, source_id: UUID, shown: Sequence[Posting], keys: frozenset[str]) -> dict[str, int]:
    """Store a part of the list, and start a listing for what is new or has changed."""
    item = require_claim(unit, claim)
    row = sources.find(unit.conn, item.workspace, source_id)
    if row is None:
        return {}
    owner = companies.find(unit.conn, item.workspace, row.company_id) if row.company_id else None
    named = [
        one.model_copy(
            update={"source_id": str(row.id), "company_name_raw": one.company_name_raw or row.company_name or None}
        )
        for one in shown
    ]
    seen = postings.take(
        unit, item.workspace, named, source_id=row.id, company_id=owner.id if owner else None, seen_keys=keys
    )
    counts: Counter[str] = Counter()
    actor = Actor(WORKER, f"source {item.id}")
    for one in seen:
        counts[one.change] += 1
        if one.change in ("unchanged", "renamed"):
            continue
        stage = ListingStage.FILTER if one.posting.description_text else ListingStage.SCRAPE
        wanted = Spawn(listing.name, listing_data(one.posting, one.id, stage), key=one.key, priority=item.priority)
        child = spawn(unit, item, wanted, actor)
        if child is not None:
            postings.update(unit, one.id, item_id=child, outcome=postings.NEW, reason="")
        else:
            counts["refused"] += 1
            _refused(unit, item, one)
    return dict(counts)


def _refused(unit: Unit, item: Instance, one: postings.SeenPosting) -> None:
    """Say of a posting why nothing works on it. An item under way that has passed the filter filters it again."""
    known = find_by_key(unit, item.workspace, listing.name, one.key, lock=False)
    if known is not None and known.finished_at is None:
        postings.update(unit, one.id, profile_digest=postings.CHANGED)
    else:
        reason = f"no listing was started for it; the history of source {item.id} says why"
        postings.update(unit, one.id, outcome=postings.SKIPPED, reason=reason)


def _unseen(unit: Unit, claim: Claim, source_id: UUID, keys: frozenset[str], may_close: bool) -> dict[str, int]:
    require_claim(unit, claim)
    return postings.unseen(unit, source_id, keys, apart=span(APART), may_close=may_close)


def _written(
    unit: Unit, claim: Claim, source_id: UUID, started: Micros, result: Parsed, counts: dict[str, Any]
) -> None:
    item = require_claim(unit, claim)
    row = sources.find(unit.conn, item.workspace, source_id)
    if row is not None:
        sources.crawled(unit, row, item.id, started, result, counts, gone=False)


def write_failure(unit: Unit, item: Instance, kind: str, reason: str) -> None:
    """Write down a crawl that failed for good, whatever the error was. It counts for the health of its source."""
    source_id = item.data.get("source_id")
    row = sources.find(unit.conn, item.workspace, UUID(source_id)) if source_id else None
    if row is not None:
        result, gone = failed(reason[:1000]), kind == BoardGone.__name__
        sources.crawled(unit, row, item.id, item.entered_at, result, {}, gone=gone)
