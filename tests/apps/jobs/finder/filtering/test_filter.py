"""The filter: rejections on explicit evidence, strikes with their numbers, and what is unknown passes."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interlock.apps.jobs.finder.filtering import CHECKS, FilterResult, filter_posting
from interlock.apps.jobs.finder.postings.read_posting import posting_of
from interlock.apps.jobs.finder.profiles.profile_file import check_profile
from interlock.apps.jobs.finder.profiles.seeker import Seeker
from tests.apps.jobs.finder.seekers import FILLER, NOW, PROFILE, ROW, SEEKER, filtered, seeker


def rejections(result: FilterResult) -> list[str]:
    return [one.rule for one in result.hard_rejections]


def strikes(result: FilterResult) -> dict[str, int]:
    return {one.reason: one.points for one in result.strikes}


def test_a_fitting_posting_passes_every_check() -> None:
    result = filtered()
    assert result.json() == {
        "passed": True,
        "total_strikes": 0,
        "hard_rejections": [],
        "strikes": [],
        "rejection_summary": None,
        "threshold": 5,
        "checks_performed": [name for name in CHECKS if name not in ("deadline", "sponsorship", "employment_type")],
        "checks_skipped": [
            {"check": "deadline", "reason": "the posting names no last day"},
            {"check": "sponsorship", "reason": "the profile needs no sponsorship"},
            {"check": "employment_type", "reason": "the posting does not say"},
        ],
        "unread": False,
    }


REJECTED: dict[str, tuple[dict[str, Any], str, str]] = {
    "stop domain": ({"url": "https://www.jobs.bad.example/1"}, "stop_domain", "https://www.jobs.bad.example/1"),
    "stop company": ({"company_name": "GRIM corp Ltd"}, "stop_company", "GRIM corp Ltd"),
    "keyword in the title": ({"title": "Backend Engineer (UNPAID)"}, "title_words", "Backend Engineer (UNPAID)"),
    "keyword with signs": ({"title": "Backend Engineer, C++"}, "title_words", "Backend Engineer, C++"),
    "keyword in the address": (
        {"url": "https://kind.example/block/blockchain_engineer"},
        "title_words",
        "https://kind.example/block/blockchain_engineer",
    ),
    "management": ({"title": "Engineering Manager, Backend Engineer Team"}, "management", "Engineering Manager"),
    "role type": ({"title": "Senior iOS Engineer"}, "role_type", "Senior iOS Engineer"),
    "no software": ({"title": "Cook", "description": FILLER}, "role_type", "Cook"),
    "on site elsewhere": ({"location": "Boise, ID (on-site)"}, "workplace", "Boise, ID (on-site)"),
    "on site at home": ({"location": "Portland, OR (on-site)"}, "workplace", "Portland, OR (on-site)"),
    "employment type": ({"title": "Backend Engineer (contract)"}, "employment_type", "(contract)"),
}


REFUSALS = {
    "We are unable to sponsor visas for this role.": True,
    "Visa sponsorship is not available.": True,
    "Candidates must be able to work in the US without the need for visa sponsorship, now or later.": True,
    "We can't offer H-1B sponsorship": True,
    "This position does not provide immigration sponsorship.": True,
    "Wir können leider keine Unterstützung beim Visum anbieten.": True,
    "We sponsor visas.": False,
    "If you are not a citizen, we sponsor your visa.": False,
    "Will you need sponsorship, or not need sponsorship?": False,
    "We do not let an executive sponsor overrule a team.": False,
    "Not only do we sponsor visas, we pay for the move.": False,
    "You must be authorised to work in the US.": False,
}


@pytest.mark.parametrize("said", REFUSALS)
def test_refused_sponsorship_rejects_who_needs_it(said: str) -> None:
    needing = seeker(work_authorisation=[{"country": "US", "sponsorship": True}])
    posting = {"description": f"{ROW['description']}\n{said}"}
    result = filtered(who=needing, **posting)
    assert ("sponsorship" in rejections(result)) is REFUSALS[said]
    if REFUSALS[said]:
        (one,) = (one for one in result.hard_rejections if one.rule == "sponsorship")
        assert one.evidence.quote == said
    assert "sponsorship" not in rejections(filtered(**posting)), "nobody needs it"


def test_sponsorship_is_needed_country_by_country() -> None:
    mixed = seeker(work_authorisation=[{"country": "US", "sponsorship": True}, {"country": "DE"}])
    refused = f"{ROW['description']}\nWe do not sponsor visas."
    assert "sponsorship" in rejections(filtered(who=mixed, description=refused, location="Remote - US"))
    assert "sponsorship" not in rejections(filtered(who=mixed, description=refused, location="Remote - Germany"))
    unknown = filtered(who=mixed, description=refused, location="Remote")
    assert ("sponsorship", "the posting names no country") in [(s.check, s.reason) for s in unknown.checks_skipped]


@pytest.mark.parametrize("case", REJECTED)
def test_rejections_quote_their_evidence(case: str) -> None:
    changes, rule, quote = REJECTED[case]
    result = filtered(**changes)
    assert not result.passed
    assert rule in rejections(result)
    one = next(one for one in result.hard_rejections if one.rule == rule)
    assert quote in (one.evidence.quote or "")
    assert one.reason in (result.rejection_summary or "")


NOT_REJECTED: dict[str, dict[str, Any]] = {
    "part of a word": {"title": "Senior Backend Engineer for Unpaidable bills"},
    "another domain": {"url": "https://notbad.example/1"},
    "part of a company": {"company_name": "Grim Corporation"},
    "a title that no rule knows": {"title": "Sr. Wizardess"},
    "a product manager of nobody": {"title": "Senior Backend Engineer, Product Manager tools"},
    "nothing but a title": {
        "location": "",
        "description": "",
        "company_name": "",
        "url": None,
        "salary_range": None,
        "posted_date": None,
    },
}


@pytest.mark.parametrize("case", NOT_REJECTED)
def test_what_only_looks_like_it_passes(case: str) -> None:
    assert filtered(**NOT_REJECTED[case]).passed


STRIKES: dict[str, tuple[dict[str, Any], dict[str, int]]] = {
    "hybrid elsewhere": ({"location": "Boise, ID (hybrid)"}, {"Hybrid, and not in Portland": 3}),
    "hybrid in another Portland": ({"location": "Portland, ME (hybrid)"}, {"Hybrid, and not in Portland": 3}),
    "hybrid at home": ({"location": "Portland, Oregon (hybrid)"}, {}),
    "remote in another region": ({"location": "Remote - Germany"}, {"Remote, but limited to another region": 2}),
    "remote in this region": ({"location": "Remote, North America"}, {}),
    "remote everywhere": ({"location": "Remote, anywhere in the world"}, {}),
    "limited by the text": (
        {"location": "Remote", "description": f"{FILLER}\nThis is fully remote. You must be located in Canada."},
        {"Remote, but limited to another region": 2},
    ),
    "an office elsewhere": ({"location": "Boise, ID"}, {"Location not remote or Portland": 2}),
    "one step below": ({"title": "Mid-level Backend Engineer"}, {"Seniority mismatch (too junior)": 2}),
    "two steps below": ({"title": "Junior Backend Engineer"}, {"Seniority mismatch (too junior)": 3}),
    "one step above": ({"title": "Staff Backend Engineer"}, {"Seniority mismatch (too senior)": 2}),
    "two steps above": ({"title": "Principal Backend Engineer"}, {"Seniority mismatch (too senior)": 3}),
    "up to three years short": (
        {"asks": "- 11 years of experience with Python"},
        {"Experience short by 3 years": 2},
    ),
    "more years short": ({"asks": "- 12 years of experience with Python"}, {"Experience short by 4 years": 3}),
    "years that are preferred": ({"asks": "- Python\nNice to have\n- 12 years of experience"}, {}),
    "too little pay": (
        {"salary_range": "USD 100000-120000 per year"},
        {"Pays up to 120,000 USD, and 140,000 is wanted": 3},
    ),
    "pay in another currency": ({"salary_range": "EUR 60000-70000 per year"}, {}),
    "old": ({"posted_date": "2026-05-12"}, {"Posted 8 days ago": 1}),
    "a week old": ({"posted_date": "2026-05-13"}, {}),
    "short text": ({"description": "Python needed."}, {"Short text: 14 characters": 1}),
    "a skill in the title": ({"title": "Senior Backend Engineer, Rust"}, {"Missing primary skill: Rust": 3}),
    "a skill of the first requirement": ({"asks": "- Kafka\n- Python"}, {"Missing primary skill: Kafka": 3}),
    "a required skill": ({"asks": "- Python\n- Kafka"}, {"Missing required skill: Kafka": 2}),
    "a preferred skill": (
        {"asks": "- Python\nNice to have\n- Kafka"},
        {"Missing preferred skill: Kafka": 1},
    ),
    "a skill that is only mentioned": ({"description": f"{FILLER}\nOur team runs Kafka somewhere."}, {}),
    "a negated skill": ({"asks": "- Python\n- No Kafka needed"}, {}),
    "alternatives": ({"asks": "- Python, Kafka or Terraform"}, {}),
    "alternatives that are all missing": (
        {"asks": "- Python\n- Kafka or RabbitMQ"},
        {"Missing required skill: Kafka or RabbitMQ": 2},
    ),
    "examples": ({"asks": "- A language such as Rust, Elixir and Python"}, {}),
    "a slash": ({"asks": "- Python, AWS, Go/Kafka"}, {"Missing primary skill: Go or Kafka": 3}),
    "an alternative beside a demand": (
        {"asks": "- Python\n- Kafka and Python or Java"},
        {"Missing required skill: Kafka": 2},
    ),
    "a skill that follows": ({"asks": "- Python\n- SQL and JavaScript"}, {}),
    "a skill beside one's own": ({"asks": "- Python\n- MySQL and Azure"}, {}),
    "a method": ({"asks": "- Python\n- Scrum and agile ways"}, {}),
    "an unwanted skill": ({"asks": "- Python\n- PHP"}, {"Unwanted technology: PHP": 3}),
}


@pytest.mark.parametrize("case", STRIKES)
def test_strikes_have_the_numbers_of_the_specification(case: str) -> None:
    changes, expected = STRIKES[case]
    result = filtered(**changes)
    assert strikes(result) == expected
    assert all(one.evidence.quote for one in result.strikes)
    assert not result.hard_rejections


def test_strikes_add_up_to_the_threshold() -> None:
    changes = {"title": "Junior Backend Engineer", "asks": "- Python\n- Kafka"}
    result = filtered(**changes)
    assert (result.total_strikes, result.passed) == (5, False)
    assert result.rejection_summary == "5 strikes (threshold: 5)"
    assert result.json()["strikes"][0] == {
        "reason": "Seniority mismatch (too junior)",
        "strikes": 3,
        "rule": "seniority",
        "category": "seniority",
        "points": 3,
        "evidence": {"source": "title", "field": "title", "quote": "Junior Backend Engineer"},
    }
    assert filtered(seeker(filter={"threshold": 6}), **changes).passed
    assert filtered(seeker(filter={"seniority_off_by_two": 0}), **changes).total_strikes == 2


def test_nice_to_haves_alone_reject_nothing() -> None:
    wanted = "- Python\nNice to have\n- Kafka\n- Rust\n- Elixir\n- Ansible\n- Redis\n- Terraform"
    result = filtered(asks=wanted)
    assert (result.total_strikes, result.passed) == (4, True)
    assert filtered(seeker(filter={"missing_preferred_skill": 0}), asks=wanted).total_strikes == 0


def test_a_stopped_posting_is_not_read() -> None:
    posting = posting_of({**ROW, "company_name": "Grim Corp"})
    result = filter_posting(posting, SEEKER, NOW)
    assert "reading" not in vars(posting)
    assert result.checks_performed == ("stop_domain", "stop_company", "title_words")
    first, *others = result.checks_skipped
    assert first == ("deadline", "the posting names no last day")
    assert {one.reason for one in others} == {"the posting was already rejected"}


def test_a_posting_whose_last_day_is_over_is_rejected() -> None:
    def closing(at: datetime) -> FilterResult:
        found = posting_of(ROW)
        found.posting = found.posting.model_copy(update={"closes_at": at})
        return filter_posting(found, SEEKER, NOW)

    over = closing(NOW - timedelta(days=1))
    assert over.rejection_summary == "Closed on 2026-05-19"
    assert over.hard_rejections[0].evidence.quote == "2026-05-19T12:00:00+00:00"
    for at in (NOW - timedelta(hours=1), NOW + timedelta(days=1), datetime.max.replace(tzinfo=UTC)):
        assert closing(at).passed, at
    assert "deadline" in closing(NOW).checks_performed


def test_a_posting_without_text_is_unread() -> None:
    result = filtered(description="")
    assert result.unread
    assert result.passed
    assert {"skills", "text_length", "experience"} <= {one.check for one in result.checks_skipped}


def test_an_empty_profile_rejects_nothing() -> None:
    result = filter_posting(posting_of(ROW), Seeker(check_profile({})), NOW)
    assert result.passed
    assert result.checks_performed == ("age", "text_length")


FIELDS = {
    "title": ["Senior Backend Engineer", "Junior Cook", "", "Head of Rust"],
    "location": ["Remote", "Boise, ID (hybrid)", "", "Berlin, Germany", "Remote - EMEA"],
    "company_name": ["Kind Boats", "Grim Corp", ""],
    "description": [ROW["description"], "", "Rust is a must. " * 30, "\ud800 <b>PHP"],
    "salary_range": ["$50 an hour", "", "EUR 50000 per year"],
    "posted_date": ["2026-05-01", "never", None],
    "url": ["https://bad.example", "not an address", "http://[", None],
}
PREFERENCES = ["home", "workplace", "titles", "role_types", "seniority", "years", "skills", "salary", "stop_list"]


@given(
    st.fixed_dictionaries({name: st.sampled_from(values) for name, values in FIELDS.items()}),
    st.sets(st.sampled_from(PREFERENCES)),
)
@settings(max_examples=20, deadline=None)
def test_each_check_is_performed_or_skipped(changes: dict[str, Any], without: set[str]) -> None:
    who = Seeker(check_profile({key: value for key, value in PROFILE.items() if key not in without}))
    result = filter_posting(posting_of({**ROW, **changes}), who, NOW)
    names = [*result.checks_performed, *(one.check for one in result.checks_skipped)]
    assert sorted(names) == sorted(CHECKS)
    hit = {one.rule for one in (*result.hard_rejections, *result.strikes)}
    assert hit <= set(result.checks_performed)
    assert result == filter_posting(posting_of({**ROW, **changes}), who, NOW)
