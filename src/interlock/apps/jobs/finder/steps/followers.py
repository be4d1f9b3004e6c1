"""What follows by itself: a person's answer to a review, and a step that failed."""

from __future__ import annotations

import json
from uuid import UUID

from interlock.apps.jobs.finder.intake import settings_in
from interlock.apps.jobs.finder.machine import FAILED, company, listing, source
from interlock.apps.jobs.finder.models import Company, SourceStage
from interlock.apps.jobs.finder.records import companies, postings, sources
from interlock.apps.jobs.finder.steps.companies import discovery
from interlock.apps.jobs.finder.steps.crawls import write_failure
from interlock.engine import Instance, OpenReview
from interlock.engine.application import SYSTEM_ACTOR, Unit, change, spawn
from interlock.machine import Actor, Edge

TROUBLESHOOTING = (
    "Check that the address opens in a browser, and that its robots.txt allows it.",
    "A private address has to be named in [jobs] private_hosts.",
    "`interlock instance explain ID` shows every attempt; retry the dead letter when the cause is gone.",
)


@company.entering(FAILED)
@source.entering(FAILED)
@listing.entering(FAILED)
def failed(unit: Unit, instance: Instance, edge: Edge, actor: Actor) -> None:
    """Say what happens next: the number of the retry, or what to check when there is none."""
    most = settings_in(unit.setting("jobs")).max_retries
    if instance.due_event is not None:
        count = instance.failures_of(instance.failed_step or "")
        message = f"Processing failed. Will retry ({min(count, most)}/{most})"
    else:
        kind, error = _error(instance)
        message = " ".join([f"Processing failed: {error}"[:500].rstrip(".") + ".", *TROUBLESHOOTING])
        if instance.machine == listing.name:
            _unknown(unit, instance, error)
        elif instance.machine == company.name:
            _unread(unit, instance)
        elif instance.data.get("stage") == SourceStage.CRAWL:
            write_failure(unit, instance, kind, error)
    change(unit, instance, {"message": message}, SYSTEM_ACTOR)


def _error(instance: Instance) -> tuple[str, str]:
    """Type and message of the last error, which is stored as JSON."""
    found = json.loads(instance.last_error) if instance.last_error else {}
    return str(found.get("type", "")), str(found.get("message", ""))


def _unknown(unit: Unit, instance: Instance, error: str) -> None:
    """A posting whose scrape failed keeps what it has, for somebody to look at."""
    posting_id = instance.data.get("posting_id")
    if posting_id:
        flag = f"unknown: its page could not be read: {error}"[:500]
        postings.update(unit, UUID(posting_id), outcome=postings.FAILED, reason=flag, flag=flag)


def _unread(unit: Unit, instance: Instance) -> None:
    """A company that could not be read is tried again with those whose record is old."""
    company_id = instance.data.get("company_id")
    row = companies.find(unit.conn, instance.workspace, UUID(company_id)) if company_id else None
    row = row or companies.at_work(unit.conn, instance.workspace, instance.id)
    if row is not None and row.status == companies.ANALYZING:
        companies.update(unit, row.id, status=companies.INSUFFICIENT, analyzed_at=unit.now)


@company.decided("job_board")
def board_decided(unit: Unit, instance: Instance, review: OpenReview, actor: Actor) -> None:
    """An approved board is looked at as a source."""
    if review.decision != "discover":
        return
    data = Company.model_validate(instance.data)
    row = companies.find(unit.conn, instance.workspace, UUID(data.company_id)) if data.company_id else None
    url = str(review.evidence.get("job_board_url", ""))
    priority = row.priority if row else companies.UNKNOWN_PRIORITY
    wanted = discovery(url, instance.id, data, priority, settings_in(unit.setting("jobs")))
    spawn(unit, instance, wanted, actor)


@source.decided("validate")
def source_decided(unit: Unit, instance: Instance, review: OpenReview, actor: Actor) -> None:
    """A validated source is crawled from now on; a rejected one stays disabled."""
    source_id = UUID(instance.data["source_id"])
    if review.decision == "enable":
        sources.enable(unit, source_id, f"validated by {actor.name}")
    else:
        sources.disable(unit, source_id, f"rejected by {actor.name}")
