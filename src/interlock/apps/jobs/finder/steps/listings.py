"""The stages of a listing: SCRAPE what is missing, FILTER it, ANALYZE how well it matches, SAVE the match.

Which stage comes next follows from what is known: without data it is scraped, without a filter's result filtered, and
so on, always the same item. The posting's record has the whole of it; the item carries the specification's fields.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from hashlib import sha256
from typing import Any
from uuid import UUID

import sqlalchemy as sa

from interlock.apps.jobs.claims import steps as claims
from interlock.apps.jobs.claims.machine import job
from interlock.apps.jobs.finder.filtering import filter_posting
from interlock.apps.jobs.finder.intake import job_data
from interlock.apps.jobs.finder.machine import FILTERED, PENDING, PROCESSING, SKIPPED, SUCCESS, company, listing
from interlock.apps.jobs.finder.models import Listing, ListingStage
from interlock.apps.jobs.finder.postings.enriching import as_given, enriched
from interlock.apps.jobs.finder.postings.posting import Posting
from interlock.apps.jobs.finder.postings.read_posting import ReadPosting
from interlock.apps.jobs.finder.records import companies, postings, profiles
from interlock.apps.jobs.finder.records.postings import PostingRow
from interlock.apps.jobs.finder.steps.duplicates import claim_name as claim_name
from interlock.apps.jobs.finder.steps.duplicates import duplicate_of, take_over
from interlock.apps.jobs.finder.steps.matching_by_model import match
from interlock.apps.jobs.finder.steps.scraping import Closed, Scraped, scrape
from interlock.apps.jobs.finder.steps.visit import NoRetryHelps, Visit, visiting
from interlock.engine import Claim, Instance
from interlock.engine.application import Unit, change, create, find, find_by_key, require_claim, spawn
from interlock.machine import WORKER, Actor, Again, Go, Outcome, Spawn
from interlock.store import Micros, span
from interlock.store.sql import lock_number
from interlock.worker import Task

NEXT = (SUCCESS, PENDING)
"""The chain to the next stage."""
PATIENCE = timedelta(minutes=10)
"""How long a listing waits for its company."""
LOOK_AGAIN = timedelta(seconds=20)


@listing.work(PROCESSING, stage=ListingStage.SCRAPE, timeout=timedelta(minutes=15))
@visiting
async def scrape_posting(visit: Visit) -> Outcome:
    """Fetch what is not known of the posting. What the stop list hides is not fetched."""
    task = visit.task
    row = await task.read(_row, task.workspace, task.data.posting_id)
    stopped = await task.read(_stopped, row, visit.now) if not task.data.override else None
    if stopped is not None:
        await task.write(_filtered, row.id, stopped[0], stopped[1])
        return Go(FILTERED, data={"filter_result": stopped[0]}, reason=stopped[0]["rejection_summary"])
    try:
        found = await scrape(visit, row)
    except Closed as closed:
        await task.write(_closed, row.id, str(closed))
        return Go(SKIPPED, data={"message": str(closed)}, reason=str(closed))
    await task.write(_scraped, row.id, found)
    known = {
        "job_data": job_data(found.posting),
        "scrape_method": found.method,
        "company_name": found.posting.company_name_raw or task.data.company_name,
        "message": found.flag or "",
    }
    return Go(NEXT, data={**known, "stage": ListingStage.FILTER})


@listing.work(PROCESSING, stage=ListingStage.FILTER)
def filter_listing(task: Task[Listing]) -> Outcome:
    """Apply the stop list, the hard rejections and the strikes. Without a profile it waits for one."""
    row = task.read(_row, task.workspace, task.data.posting_id)
    duplicate = task.read(duplicate_of, row)
    if duplicate is not None and not task.data.override:
        task.write(_skipped, row.id, duplicate[0], None, duplicate[1])
        return Go(SKIPPED, data={"message": duplicate[0]}, reason=duplicate[0])
    seeker = task.read(profiles.seeker, task.workspace)
    read = ReadPosting(as_given(row.posting))
    task.write(_learn, row, enriched(read))
    if seeker is None:
        task.write(_waiting, row.id)
        message = "waits for a profile; `interlock jobs init` writes one, or PUT /api/jobs/profile"
        return Go(NEXT, data={"message": message}, reason="there is no profile yet", unstarted=True)
    result = filter_posting(read, seeker[0], task.now()).json()
    if task.data.override:
        result = {**result, "passed": True, "override": task.data.override}
    if not result["passed"]:
        task.write(_filtered, row.id, result, seeker[1])
        return Go(FILTERED, data={"filter_result": result}, reason=str(result["rejection_summary"]))
    task.write(_passed, row.id, result, seeker[1])
    return Go(NEXT, data={"stage": ListingStage.ANALYZE, "filter_result": result, "message": ""})


@listing.work(PROCESSING, stage=ListingStage.ANALYZE, timeout=timedelta(minutes=15))
def analyze(task: Task[Listing]) -> Outcome:
    """Match the posting with the profile, once its company is known or has been waited for long enough."""
    data = task.data
    row = task.read(_row, task.workspace, data.posting_id)
    owner, wait = task.write(_company, row.id, data.waits_since)
    if wait is not None:
        return Again(LOOK_AGAIN, data={"waits_since": wait}, reason="its company is being looked at")
    seeker = task.read(profiles.seeker, task.workspace)
    if seeker is None:
        return Go(NEXT, data={"stage": ListingStage.FILTER}, reason="there is no profile any more", unstarted=True)
    if row.profile_digest != seeker[1]:
        return Go(NEXT, data={"stage": ListingStage.FILTER}, reason="the profile or the posting has changed")
    read = ReadPosting(row.posting, **owner.said) if owner else ReadPosting(row.posting)
    result = match(task, read, seeker[0])
    known = {"match_result": result, "company_id": str(owner.id) if owner else None, "waits_since": None}
    if not result["above_threshold"] and not data.override:
        reason = f"score {result['match_score']} is below {result['threshold']}"
        task.write(_skipped, row.id, reason, result, None)
        return Go(SKIPPED, data={**known, "message": reason}, reason=reason)
    return Go(NEXT, data={**known, "stage": ListingStage.SAVE})


@listing.work(PROCESSING, stage=ListingStage.SAVE)
def save(task: Task[Listing]) -> Outcome:
    """Save the match, and make it a job that agents can claim."""
    row = task.read(_row, task.workspace, task.data.posting_id)
    duplicate, match_id = task.write(_save, row.id, task.data.match_result)
    if duplicate is not None:
        return Go(SKIPPED, data={"message": duplicate}, reason=duplicate)
    return Go(SUCCESS, data={"match_id": match_id, "message": ""})


# -- reading


def _row(conn: sa.Connection, workspace: str, posting_id: str | None) -> PostingRow:
    found = postings.find(conn, workspace, UUID(posting_id)) if posting_id else None
    if found is None:
        raise NoRetryHelps(f"posting {posting_id} does not exist any more")
    return found


def _stopped(conn: sa.Connection, row: PostingRow, now: Any) -> tuple[dict[str, Any], str] | None:
    """The filter's result and the profile, if what is known already rejects the posting."""
    seeker = profiles.seeker(conn, row.workspace)
    if seeker is None or not row.title:
        return None
    result = filter_posting(ReadPosting(row.posting), seeker[0], now)
    return (result.json(), seeker[1]) if result.hard_rejections else None


# -- writing


def _scraped(unit: Unit, claim: Claim, posting_id: UUID, found: Scraped) -> None:
    item = require_claim(unit, claim)
    assert item.key is not None
    row = postings.find(unit.conn, item.workspace, posting_id)
    if row is not None:
        postings.replace(unit, posting_id, row.posting_key, found.posting)
        postings.update(unit, posting_id, flag=found.flag)


def _closed(unit: Unit, claim: Claim, posting_id: UUID, reason: str) -> None:
    require_claim(unit, claim)
    postings.update(
        unit,
        posting_id,
        state=postings.CLOSED,
        closed_reason=reason,
        outcome=postings.SKIPPED,
        reason=reason,
        missed=0,
        missed_at=unit.now,
    )


def _learn(unit: Unit, claim: Claim, row: PostingRow, posting: Posting) -> None:
    require_claim(unit, claim)
    postings.learn(unit, row, posting)


def _waiting(unit: Unit, claim: Claim, posting_id: UUID) -> None:
    require_claim(unit, claim)
    postings.update(unit, posting_id, outcome=postings.WAITING, reason="waits for a profile")


def _filtered(unit: Unit, claim: Claim, posting_id: UUID, result: dict[str, Any], profile: str) -> None:
    require_claim(unit, claim)
    postings.update(
        unit,
        posting_id,
        outcome=postings.FILTERED,
        reason=str(result["rejection_summary"]),
        filter_result=result,
        match_result=None,
        score=None,
        priority=None,
        profile_digest=profile,
        scored_at=unit.now,
    )


def _passed(unit: Unit, claim: Claim, posting_id: UUID, result: dict[str, Any], profile: str) -> None:
    require_claim(unit, claim)
    postings.update(unit, posting_id, outcome=postings.NEW, reason="", filter_result=result, profile_digest=profile)


def _skipped(
    unit: Unit, claim: Claim, posting_id: UUID, reason: str, result: dict[str, Any] | None, master: UUID | None
) -> None:
    require_claim(unit, claim)
    if master == posting_id:
        return  # it was saved before and stays what it is
    values: dict[str, Any] = {"outcome": postings.SKIPPED, "reason": reason, "scored_at": unit.now}
    if result is not None:
        values |= _scored(result)
    if master is not None:
        values["opening_id"] = master
    postings.update(unit, posting_id, **values)


def _scored(result: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "match_result": result,
        "score": result["match_score"],
        "priority": result["application_priority"],
    }


def _company(
    unit: Unit, claim: Claim, posting_id: UUID, since: Micros | None
) -> tuple[companies.CompanyRow | None, Micros | None]:
    """The posting's company, and since when it is waited for if it is looked at now.

    A company that nobody knows is created. If its website is known, a child looks at it.
    """
    item = require_claim(unit, claim)
    row = postings.find(unit.conn, item.workspace, posting_id)
    if row is None:
        return None, None
    owner = companies.find(unit.conn, item.workspace, row.company_id) if row.company_id else None
    website = row.posting.company_website
    owner = owner or companies.get_or_create(
        unit,
        item.workspace,
        row.company_name or "",
        website,
        status=companies.NAMED,
        tracking_id=item.trace_id,
        depth=item.depth,
    )
    if owner is None:
        return None, None
    postings.update(unit, posting_id, company_id=owner.id)
    started = since is not None
    if owner.status == companies.NAMED and (owner.website or website) and not started:
        return owner, unit.now if _look_at(unit, item, owner, owner.website or website) else None
    if owner.status in (companies.NAMED, companies.ANALYZING) and _is_looked_at(unit, owner):
        since = since or unit.now
        if unit.now - since < span(PATIENCE):
            return owner, since
    return owner, None


def _look_at(unit: Unit, item: Instance, owner: companies.CompanyRow, website: str | None) -> bool:
    """Start a child that looks at the company. If it is refused, the reason is in the item's history."""
    assert website is not None
    data = {"url": website, "website": website, "company_name": owner.name, "company_id": str(owner.id)}
    wanted = Spawn(company.name, data, key=companies.site_key(website), priority=item.priority)
    child = spawn(unit, item, wanted, Actor(WORKER, f"listing {item.id}"))
    if child is None:
        return False
    companies.update(unit, owner.id, item_id=child, website=website, status=companies.ANALYZING)
    return True


def _is_looked_at(unit: Unit, owner: companies.CompanyRow) -> bool:
    found = find(unit.conn, owner.item_id, machine=company.name) if owner.item_id else None
    return found is not None and found.finished_at is None and found.state != "FAILED"


def _save(unit: Unit, claim: Claim, posting_id: UUID, result: dict[str, Any]) -> tuple[str | None, str]:
    item = require_claim(unit, claim)
    row = postings.find(unit.conn, item.workspace, posting_id)
    if row is None:
        raise NoRetryHelps(f"posting {posting_id} does not exist any more")
    # Two sightings of one opening that are saved at the same moment: the second one sees the first.
    lock_number(unit.conn, _number(f"{item.workspace}|{row.company_key or row.id}"))
    duplicate = None if item.data.get("override") else duplicate_of(unit.conn, row)
    if duplicate is not None and duplicate[1] != row.id:
        postings.update(
            unit, posting_id, outcome=postings.SKIPPED, reason=duplicate[0], opening_id=duplicate[1], **_scored(result)
        )
        return duplicate[0], ""
    postings.update(
        unit,
        posting_id,
        outcome=postings.MATCHED,
        reason="",
        matched_at=row.matched_at or unit.now,
        scored_at=unit.now,
        **_scored(result),
    )
    if not item.data.get("override"):
        take_over(unit, row)
    if row.decision != "dismissed":
        _offer(unit, item, row, result)
    return None, str(posting_id)


def _offer(unit: Unit, item: Instance, row: PostingRow, result: Mapping[str, Any]) -> None:
    """Make the match a job in `discovered`; one that is there learns its score."""
    board, job_id = claim_name(row.posting)
    actor = Actor(WORKER, f"listing {item.id}")
    said = {"match_id": str(row.id), "match_score": result["match_score"]}
    known = find_by_key(unit, item.workspace, job.name, claims.job_key(board, job_id))
    if known is not None:
        change(unit, known, said, actor)
        return
    posting = row.posting
    data = {
        **said,
        "board": board,
        "job_id": job_id,
        "url": posting.url or "",
        "title": posting.title or "",
        "company": posting.company_name_raw or "",
        "location": row.location,
        "posted_date": posting.posted_at.date() if posting.posted_at else None,
        "tags": [f"priority:{str(result['application_priority']).lower()}"],
    }
    create(
        unit,
        job,
        data,
        actor,
        key=claims.job_key(board, job_id),
        workspace=item.workspace,
        labels={"board": board},
        by_application=True,
    )


def _number(text: str) -> int:
    return int.from_bytes(sha256(text.encode()).digest()[:7], "big")
