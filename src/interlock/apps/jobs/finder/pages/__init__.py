"""Pages of the finder: today, matches, postings, why not, companies, sources, and the profile."""

from __future__ import annotations

from collections.abc import Sequence

from fastapi import APIRouter

from interlock.apps.jobs.finder.pages import companies, matches, posting, profile, rules, sources, today, why_not
from interlock.dashboard.site import bring

bring("jobs", "interlock.apps.jobs.finder.pages")

routers: Sequence[APIRouter] = tuple(
    one.router for one in (today, matches, posting, why_not, rules, companies, sources, profile)
)

__all__ = ["routers"]
