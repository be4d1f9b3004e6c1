"""A profile and postings of our own for filter and match."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from interlock.apps.jobs.finder.filtering import FilterResult, filter_posting
from interlock.apps.jobs.finder.matching import MatchResult, match_posting
from interlock.apps.jobs.finder.postings.read_posting import posting_of
from interlock.apps.jobs.finder.profiles.profile_file import check_profile
from interlock.apps.jobs.finder.profiles.seeker import Seeker

NOW = datetime(2026, 5, 20, 12, tzinfo=UTC)
PROFILE: dict[str, Any] = {
    "identity": {"name": "Mika Sand"},
    "time_zone": "America/Los_Angeles",
    "home": {"city": "Portland", "region": "OR", "country": "US"},
    "workplace": ["remote", "hybrid"],
    "titles": ["Backend Engineer"],
    "role_types": ["backend"],
    "seniority": ["senior"],
    "management": False,
    "employment_types": ["full_time"],
    "years": 8,
    "skills": [
        {"name": "Python", "years": 8, "rank": 30},
        {"name": "postgres", "years": 6},
        {"name": "TypeScript", "years": 2},
        {"name": "AWS", "years": 4},
    ],
    "unwanted_skills": [{"name": "PHP", "strikes": 3}],
    "salary": {"min": 140000, "currency": "USD"},
    "company_size": ["large"],
    "stop_list": {
        "companies": ["Grim Corp"],
        "domains": ["bad.example"],
        "keywords": ["unpaid", "C++", "blockchain"],
    },
    "employment": [
        {
            "company": "Kelp Works",
            "title": "Senior Backend Engineer",
            "highlights": [
                "Wrote reports for the harbour.",
                "Cut the bill for PostgreSQL by 30 %.",
                "Is a rockstar with Python.",
                "Built 4 services in Python.",
            ],
        }
    ],
    "projects": [
        {"name": "Gull", "description": "A game."},
        {"name": "Heron", "description": "Maps in Python.", "skills": ["Python"]},
    ],
    "never_say": ["rockstar"],
}
FILLER = "We build tools for people who look after boats, harbours and the sea between them. " * 5
ROW: dict[str, Any] = {
    "id": "7",
    "title": "Senior Backend Engineer",
    "company_name": "Kind Boats",
    "location": "Remote - US",
    "description": f"{FILLER}\nRequirements\n- 5+ years of experience with Python\n- PostgreSQL\n",
    "salary_range": "USD 150000-180000 per year",
    "url": "https://jobs.kind.example/senior-backend-engineer",
    "posted_date": "2026-05-18",
}


def seeker(**changes: Any) -> Seeker:
    return Seeker(check_profile({**PROFILE, **changes}))


SEEKER = seeker()


def row(*, asks: str | None = None, **changes: Any) -> dict[str, Any]:
    """The posting with changes. `asks` are the lines of its requirements."""
    changed = {**ROW, **changes}
    if asks is not None:
        changed["description"] = f"{FILLER}\nRequirements\n{asks}\n"
    return changed


def filtered(who: Seeker = SEEKER, **changes: Any) -> FilterResult:
    return filter_posting(posting_of(row(**changes)), who, NOW)


def matched(who: Seeker = SEEKER, **changes: Any) -> MatchResult:
    return match_posting(posting_of(row(**changes)), who)
