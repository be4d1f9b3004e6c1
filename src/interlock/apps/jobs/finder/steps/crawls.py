"""The stage CRAWL of a source: read its list, store what it shows, and start a listing for all that is new or changed.

What the list shows is stored in parts, each in one transaction with the listings that it starts. A crawl that is
interrupted goes on where it was: pages that it has fetched are read again from the store, and what it has stored is
left alone, so nothing is lost and nothing is started twice. A new page or part clears the count of lost workers:
however often a crawl is interrupted, it is poison only if it gets no further. Then the source is soon crawled again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import timedelta
from typing import Any, get_args
from uuid import UUID

import sqlalchemy as sa

from interlock.apps.jobs.finder.fetching import FetchError
from interlock.apps.jobs.finder.identity.dedupe import posting_key
from interlock.apps.jobs.finder.intake import listing_data
from interlock.apps.jobs.finder.machine import PROCESSING, SKIPPED, SUCCESS, listing, source
from interlock.apps.jobs.finder.models import ListingStage, SourceStage
from interlock.apps.jobs.finder.postings.posting import Posting
from interlock.apps.jobs.finder.records import companies, postings, sources
from interlock.apps.jobs.finder.sources.answer import GONE, Parsed, Verdict, failed
from interlock.apps.jobs.finder.sources.crawl import MOST_PAGES, Crawl
from interlock.apps.jobs.finder.steps.visit import NoRetryHelps, Visit, visiting
from interlock.engine import Claim, Instance
from interlock.engine.application import Unit, change, clear_crashes, find, find_by_key, require_claim, spawn
from interlock.machine import WORKER, Actor, Go, Outcome, Spawn, WorkerLost, WorkError
from interlock.store import Micros, micros, span

PART = 50
"""Postings that are stored in one transaction."""
APART = timedelta(hours=24)
"""How long a posting has to be unseen before the second complete crawl closes it."""
RESUMED = timedelta(hours=1)
"""How old a page may be that an interrupted crawl reads again without asking for it."""
SOON = timedelta(seconds=15)
"""How soon a source is crawled again whose crawl lost its workers; twice as long after each further failure."""


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
    began = await task.read(_began, task.id, micros(visit.now))
    result, gone = await _read(visit, row, began)
    if result.verdict is Verdict.FAILED:
        reason = f"{row.name}: {'; '.join(result.reasons)}"
        raise BoardGone(reason) if gone else CrawlFailed(reason)
    counts = await _store(visit, row, result, began)
    await task.write(_written, row.id, micros(visit.now), result, counts)
    message = f"{result.verdict.value}: {counts['parsed']} postings, {counts['new']} new, {counts['changed']} changed"
    return Go(SUCCESS, data={"verdict": result.verdict, "found": counts["parsed"], "message": message}, reason=message)


async def _read(visit: Visit, row: sources.SourceRow, began: Micros) -> tuple[Parsed, bool]:
    """The whole list with its verdict, and whether the board is not there."""
    task = visit.task
    reading = Crawl(row.adapter, row.address)
    gone, pages = True, 0
    while (request := reading.next()) is not None:
        try:
            stored = await visit.fetched_after(request, began)
            answer = stored or await visit.fetch(request, render=reading.adapter.rendered)
        except FetchError as error:
            if not pages:
                raise
            reading.miss(str(error))
            gone = False
            continue
        pages += 1
        if stored is None:
            await task.write(_advanced, pages, f"page {pages}")
        gone = gone and answer.status in GONE
        reading.take(request, answer, visit.now)
        if stored is None:
            await task.heartbeat()
            await task.progress(0.0 if pages < 2 else min(0.5, pages / (pages + 20)), f"page {pages}")
    result = reading.result()
    return result, gone and result.verdict is Verdict.FAILED


def _began(conn: sa.Connection, item_id: UUID, now: Micros) -> Micros:
    """When this attempt began; pages that were fetched after it are its own."""
    item = find(conn, item_id, machine=source.name)
    return max(item.entered_at if item else now, now - span(RESUMED))


def _advanced(unit: Unit, claim: Claim, reached: int, what: str) -> None:
    """Forget the workers that this crawl has lost, if it got further than before."""
    item = require_claim(unit, claim)
    if reached > item.data.get("reached", 0) and clear_crashes(unit, claim, what):
        change(unit, item, {"reached": reached}, Actor(WORKER, str(claim.worker)), kind="saved")


async def _store(visit: Visit, row: sources.SourceRow, result: Parsed, began: Micros) -> Counter[str]:
    task = visit.task
    keys = frozenset(key for one in result.postings if (key := posting_key(one)) is not None)
    counts: Counter[str] = Counter(dict.fromkeys((*get_args(postings.Change), "refused"), 0))
    counts.update(listed=result.counts.listed, parsed=len(result.postings), unreadable=result.counts.unreadable)
    stored = await task.read(postings.stored_after, row.id, began)
    counts.update(what for key, what in stored.items() if key in keys)
    left = [one for one in result.postings if posting_key(one) not in stored]
    for at in range(0, len(left), PART):
        task.check()
        part = left[at : at + PART]
        done = len(result.postings) - len(left) + at + len(part)
        counts.update(await task.write(_take, row.id, part, keys, MOST_PAGES + done))
        await task.progress(0.5 + 0.5 * done / len(result.postings), f"{done} postings")
    counts["changed"] += counts["updated"]
    may_close = result.verdict is Verdict.COMPLETE and row.adapter.whole
    counts.update(await task.write(_unseen, row.id, keys, may_close))
    return counts


def _take(
    unit: Unit, claim: Claim, source_id: UUID, shown: Sequence[Posting], keys: frozenset[str], reached: int
) -> dict[str, int]:
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
        if one.change in ("unchanged", "updated", "renamed"):
            continue
        stage = ListingStage.FILTER if one.posting.description_text else ListingStage.SCRAPE
        wanted = Spawn(listing.name, listing_data(one.posting, one.id, stage), key=one.key, priority=item.priority)
        child = spawn(unit, item, wanted, actor)
        if child is not None:
            postings.update(unit, one.id, item_id=child, outcome=postings.NEW, reason="")
        else:
            counts["refused"] += 1
            _refused(unit, item, one)
    if counts.total() > counts["unchanged"]:
        _advanced(unit, claim, reached, f"{reached - MOST_PAGES} postings")
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
        if kind == WorkerLost.__name__:  # which is rarely the fault of the source
            sources.crawl_soon(unit, row.id, SOON * 2**row.consecutive_failures)
