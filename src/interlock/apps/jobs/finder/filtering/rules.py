"""Running the checks in their order."""

from __future__ import annotations

from datetime import datetime

from interlock.apps.jobs.finder.filtering.checks import CHECKS, WITHOUT_READING, Objections
from interlock.apps.jobs.finder.filtering.result import FilterResult, Skipped
from interlock.apps.jobs.finder.postings.read_posting import ReadPosting
from interlock.apps.jobs.finder.profiles.seeker import Seeker

ALREADY = "the posting was already rejected"
_ORDERED = tuple(CHECKS.items())


def filter_posting(posting: ReadPosting, seeker: Seeker, now: datetime) -> FilterResult:
    """Filter one posting at a moment, by which its age is counted."""
    objections = Objections(posting, seeker, now)
    performed: list[str] = []
    skipped: list[Skipped] = []
    for name, check in _ORDERED[:WITHOUT_READING]:
        _note(name, check(objections), performed, skipped)
    stopped = bool(objections.rejections)
    for name, check in _ORDERED[WITHOUT_READING:]:
        _note(name, ALREADY if stopped else check(objections), performed, skipped)
    return FilterResult(
        tuple(objections.rejections),
        tuple(objections.strikes),
        seeker.strikes.threshold,
        tuple(performed),
        tuple(skipped),
        posting.unread,
    )


def _note(name: str, reason: str | None, performed: list[str], skipped: list[Skipped]) -> None:
    if reason is None:
        performed.append(name)
    else:
        skipped.append(Skipped(name, reason))
