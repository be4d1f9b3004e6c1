"""Whether the posting of an application still takes applications, as its steps ask."""

from __future__ import annotations

import asyncio
from datetime import datetime

from interlock.apps.jobs.autoapply.errors import JobClosed, SiteUnreachable
from interlock.apps.jobs.autoapply.submission import Openness, still_open
from interlock.apps.jobs.finder.records import postings
from interlock.apps.jobs.finder.records.postings import PostingRow
from interlock.apps.jobs.settings import JobsSettings


def require_listed(row: PostingRow) -> None:
    """Raise JobClosed for a posting that the finder has closed."""
    if row.state == postings.CLOSED:
        raise JobClosed(f"{row.title or 'the posting'} is closed: {row.closed_reason or 'not listed'}")


def require_open(row: PostingRow, settings: JobsSettings, now: datetime, *, by_hand: bool) -> str:
    """Ask the site; the doubt, if there is one. Raises JobClosed, and SiteUnreachable when nobody answers.

    A site that does not answer us may still open for the person who sends it by hand.
    """
    require_listed(row)
    found = asyncio.run(still_open(row.posting, settings, now))
    if found.openness is Openness.CLOSED:
        raise JobClosed(found.reason)
    if found.openness is Openness.UNCERTAIN:
        if found.reason.startswith("the site cannot be asked now") and not by_hand:
            raise SiteUnreachable(found.reason)
        return f"it is not certain that the posting is still open: {found.reason}"
    return ""
