"""Steps of version 2: is the job still open, before work is spent on it; and waiting for the chosen time."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

import sqlalchemy as sa

from interlock.apps.jobs.autoapply.errors import InvalidJobUrl, JobClosed
from interlock.apps.jobs.autoapply.machine import PREPARING, READY_TO_SUBMIT, WITHDRAWN
from interlock.apps.jobs.autoapply.models import Application
from interlock.apps.jobs.autoapply.planned import SCHEDULED, VALIDATING
from interlock.apps.jobs.autoapply.steps.openness import require_open
from interlock.apps.jobs.autoapply.submission import adapter_for
from interlock.apps.jobs.autoapply.versions import work
from interlock.apps.jobs.finder.intake import settings_in
from interlock.apps.jobs.finder.records import postings
from interlock.apps.jobs.finder.records.postings import PostingRow
from interlock.machine import Again, Go, Outcome
from interlock.worker import Task


@work(VALIDATING, timeout=timedelta(minutes=5))
def validate(task: Task[Application]) -> Outcome:
    """Ask the site whether the job is still open; an application for a closed one is withdrawn."""
    row = task.read(_posting, task.workspace, task.data.posting_id)
    settings = settings_in(task.setting("jobs"))
    by_hand = adapter_for(row.posting, settings).capabilities.needs_person
    try:
        doubt = require_open(row, settings, task.now(), by_hand=by_hand)
    except JobClosed as error:
        return Go(WITHDRAWN, reason=str(error))
    return Go(PREPARING, reason=doubt or "the job is open")


@work(SCHEDULED, timeout=timedelta(minutes=5))
def wait_for_its_time(task: Task[Application]) -> Outcome:
    """Wait until the time that the user chose. Whoever changes the time wakes it."""
    at = task.data.scheduled_for
    if at is not None and at > task.now():
        return Again(at - task.now(), reason=f"it is sent at {at:%Y-%m-%d %H:%M %Z}")
    return Go(READY_TO_SUBMIT, data={"scheduled_for": None})


def _posting(conn: sa.Connection, workspace: str, posting_id: str | None) -> PostingRow:
    row = postings.find(conn, workspace, UUID(posting_id)) if posting_id else None
    if row is None:
        raise InvalidJobUrl(f"posting {posting_id} does not exist any more; add it again")
    return row
