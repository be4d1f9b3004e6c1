"""Profiles and postings of our own for documents."""

from __future__ import annotations

from typing import Any

from interlock.apps.jobs.finder.matching import MatchResult, match_posting
from interlock.apps.jobs.finder.postings.read_posting import ReadPosting, posting_of
from interlock.apps.jobs.finder.profiles.profile_file import check_profile
from interlock.apps.jobs.finder.profiles.seeker import Seeker

PROFILE: dict[str, Any] = {
    "identity": {
        "name": "Jördis Weiß",
        "email": "jordis@example.org",
        "phone": "+49 30 5550142",
        "links": ["https://example.org/jordis"],
    },
    "home": {"city": "Hamburg", "country": "DE"},
    "titles": ["Platform Engineer"],
    "years": 9,
    "skills": [{"name": "Go", "years": 2}, {"name": "Python", "years": 9}, {"name": "postgres", "years": 6}, "Kafka"],
    "employment": [
        {
            "company": "Kelp Works",
            "title": "Senior Backend Engineer",
            "start": "2020-04",
            "location": "Hamburg",
            "highlights": [
                "Wrote reports for the harbour office and its guests.",
                "Is a rockstar of Python.",
                "Cut the cost of PostgreSQL by 30 % for 1,200 boats.",
                "Moved the orders to Kafka with answers in ≤ 40 ms.",
            ],
        },
        {
            "company": "Möwe & Söhne",
            "title": "Software Engineer",
            "start": "2015-09",
            "end": "2020-03",
            "highlights": ["Built the ferry planner in Python.", "Taught two apprentices."],
        },
    ],
    "education": [{"school": "Hafen University", "degree": "BSc", "field": "Informatics", "start": 2011, "end": 2015}],
    "projects": [
        {"name": "Gull", "description": "A game about gulls."},
        {"name": "Heron", "description": "Maps of herons in Python.", "url": "https://example.org/heron"},
    ],
    "never_say": ["rockstar"],
}
ROW: dict[str, Any] = {
    "id": "7",
    "title": "Staff Platform Engineer",
    "company_name": "Kind Boats GmbH",
    "location": "Berlin",
    "description": "We build tools for people who look after boats.\nRequirements\n- PostgreSQL\n- Kafka\n- Python\n",
}


def seeker(**changes: Any) -> Seeker:
    return Seeker(check_profile({**PROFILE, **changes}))


def posting(**changes: Any) -> ReadPosting:
    return posting_of({**ROW, **changes})


SEEKER = seeker()
POSTING = posting()


def match(one: ReadPosting = POSTING, who: Seeker = SEEKER) -> MatchResult:
    return match_posting(one, who)
