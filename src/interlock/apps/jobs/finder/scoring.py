"""Filter and match of one posting, as data."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from interlock.apps.jobs.finder.filtering import filter_posting
from interlock.apps.jobs.finder.matching import fresh, match_posting
from interlock.apps.jobs.finder.postings.read_posting import posting_of
from interlock.apps.jobs.finder.profiles.seeker import Seeker


def score_row(row: Mapping[str, Any], seeker: Seeker, now: datetime) -> dict[str, Any]:
    """The results for a posting of a JSON object. A filtered one is matched too, so that one sees what was lost."""
    posting = posting_of(row)
    filtered = filter_posting(posting, seeker, now)
    matched = match_posting(posting, seeker)
    state = "FILTERED" if not filtered.passed else "SUCCESS" if matched.above_threshold else "SKIPPED"
    return {
        "id": row.get("id") or posting.posting.external_id,
        "url": posting.posting.url,
        "title": posting.posting.title,
        "company": posting.posting.company_name_raw,
        "state": state,
        "score": matched.match_score,
        "confidence": matched.confidence,
        "list_score": fresh(matched.match_score, posting.posting.posted_at, now, seeker.scoring),
        "filter_result": filtered.json(),
        "match_result": matched.json(),
    }
