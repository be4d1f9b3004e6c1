"""The stored results of a posting, checked for what the pages rely on: another version may have written them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from interlock.apps.jobs.finder.postings.posting import Extraction, Method, Posting
from interlock.apps.jobs.finder.records.postings import PostingRow
from interlock.engine import Unreadable

_HIT = {"rule": str, "reason": str}
FILTER = {
    "passed": bool,
    "total_strikes": int,
    "threshold": int,
    "hard_rejections": [_HIT],
    "strikes": [{**_HIT, "points": int}],
    "checks_performed": [str],
    "checks_skipped": [{"check": str, "reason": str}],
}
MATCH = {
    "match_score": int,
    "threshold": int,
    "confidence": (int, float),
    "office_bonus": bool,
    "matched_skills": [str],
    "skill_gaps": [str],
    "parts": [{"name": str, "points": int, "most": int, "known": bool, "explanation": str, "sentences": [str]}],
    "adjustments": [{"name": str, "points": int, "explanation": str}],
    "would_be": [{"if": str, "score": int}],
}
POINTS = {"name": str, "points": int}


def posting_of(row: PostingRow) -> Posting:
    """What the source shows; where that cannot be read, what the columns beside it say."""
    try:
        return row.posting
    except Unreadable:
        unread = Extraction(method=Method.TEXT, adapter_version="0")
        return Posting(ats="html", url=row.url, title=row.title, extraction=unread)


def match_of(row: PostingRow) -> Mapping[str, Any] | None:
    """The stored match; None where there is none that can be shown."""
    return row.match_result if fits(row.match_result, MATCH) else None


def filter_of(row: PostingRow) -> Mapping[str, Any] | None:
    """The stored result of the filter; None where there is none that can be shown."""
    return row.filter_result if fits(row.filter_result, FILTER) else None


def fits(value: Any, like: Any) -> bool:
    """Whether a value has the parts of `like`: a type, a dict with the keys that there must be, or a list of such."""
    if isinstance(like, dict):
        return isinstance(value, dict) and all(name in value and fits(value[name], one) for name, one in like.items())
    if isinstance(like, list):
        return isinstance(value, list) and all(fits(one, like[0]) for one in value)
    return isinstance(value, like)
