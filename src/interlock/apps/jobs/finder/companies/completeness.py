"""Whether enough is known of a company: the thresholds of the data quality standards."""

from __future__ import annotations

from datetime import datetime, timedelta
from enum import StrEnum

from interlock.apps.jobs.finder.companies.values import Extracted

MINIMAL_ABOUT = 50
MINIMAL_CULTURE = 25
GOOD_ABOUT = 100
GOOD_CULTURE = 50
FRESH = timedelta(days=30)
"""A good record that is younger is not analysed again."""


class Completeness(StrEnum):
    """How much is known. Each threshold is a number of characters that must be exceeded."""

    INSUFFICIENT = "insufficient"
    MINIMAL = "minimal"
    GOOD = "good"


def completeness(name: str | None, website: str | None, about: str | None, culture: str | None) -> Completeness:
    """The completeness of a record."""
    if not (name or "").strip() or not (website or "").strip():
        return Completeness.INSUFFICIENT
    about_size, culture_size = len((about or "").strip()), len((culture or "").strip())
    if about_size > GOOD_ABOUT and culture_size > GOOD_CULTURE:
        return Completeness.GOOD
    if about_size > MINIMAL_ABOUT or culture_size > MINIMAL_CULTURE:
        return Completeness.MINIMAL
    return Completeness.INSUFFICIENT


def completeness_of(extracted: Extracted) -> Completeness:
    """The completeness of what was extracted."""
    return completeness(extracted.name, extracted.website, extracted.said("about"), extracted.said("culture"))


def insufficient(extracted: Extracted) -> str | None:
    """Why a company is SKIPPED; None where there is enough."""
    if completeness_of(extracted) is not Completeness.INSUFFICIENT:
        return None
    if not extracted.name.strip() or not extracted.website.strip():
        return "insufficient data: the name or the website is unknown"
    about, culture = (len(extracted.said(field) or "") for field in ("about", "culture"))
    return (
        f"insufficient data: {about} characters about the company and {culture} about its culture; "
        f"more than {MINIMAL_ABOUT} or {MINIMAL_CULTURE} are needed"
    )


def skip_analysis(
    name: str | None,
    website: str | None,
    about: str | None,
    culture: str | None,
    updated_at: datetime | None,
    now: datetime,
) -> str | None:
    """Why a stored company is not analysed again; None where it is."""
    if updated_at is None or now - updated_at >= FRESH:
        return None
    if completeness(name, website, about, culture) is not Completeness.GOOD:
        return None
    return f"analysed on {updated_at:%Y-%m-%d}; a complete record is kept for {FRESH.days} days"
