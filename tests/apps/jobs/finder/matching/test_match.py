"""The match: parts, adjustments and what is said about them."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from interlock.apps.jobs.finder.matching import MatchResult, fresh, match_posting
from interlock.apps.jobs.finder.matching.score import whole_points
from interlock.apps.jobs.finder.postings.read_posting import posting_of
from interlock.apps.jobs.finder.profiles.profile import Scoring
from tests.apps.jobs.finder.seekers import FILLER, NOW, ROW, SEEKER, matched, row, seeker


def points(result: MatchResult, name: str) -> int:
    return next(one.points for one in (*result.parts, *result.adjustments) if one.name == name)


def part(result: MatchResult, name: str) -> tuple[int, bool]:
    one = next(one for one in result.parts if one.name == name)
    return one.points, one.known


def test_a_perfect_posting_has_a_hundred() -> None:
    result = matched()
    assert (result.match_score, result.confidence, result.application_priority) == (100, 1.0, "High")
    assert result.matched_skills == ("Python", "PostgreSQL")
    assert result.skill_gaps == ()
    assert "PostgreSQL" in result.sentences
    assert result.would_be == ()


def test_the_parts_are_declared_with_their_explanations() -> None:
    result = matched(asks="- Python\n- Kafka\n- SQL\n- MySQL")
    assert [(one.name, one.most) for one in result.parts] == [
        ("skills", 56),
        ("title", 17),
        ("seniority", 12),
        ("location", 12),
        ("salary", 6),
    ]
    plan = result.parts[0].explanation
    assert plan == (
        "matched: Python (required), SQL (required, follows from PostgreSQL); missing: Kafka (required); neutral: MySQL"
    )
    assert result.skill_gaps == ("Kafka",)
    # 1.8 for Python with 8 years, 1.6 for SQL by 6 years of PostgreSQL, of 4.4 with Kafka.
    assert result.parts[0].points == 43


def test_unknown_parts_are_neutral_and_lower_the_confidence() -> None:
    bare = {"location": "", "description": "", "salary_range": None, "title": "Expert"}
    result = matched(seeker(titles=[], role_types=[], seniority=["senior"]), **bare)
    assert [one.known for one in result.parts] == [False, False, True, False, False]
    assert result.confidence == 0.11
    assert result.match_score == 56, "half of everything, and the whole of the seniority"


@pytest.mark.parametrize(
    ("changes", "name", "expected"),
    [
        ({"title": "Backend Engineer"}, "title", (17, True)),
        ({"title": "Backend Developer"}, "title", (12, True)),
        ({"title": "Captain of a boat"}, "title", (0, True)),
        ({"title": "Principal Backend Engineer"}, "seniority", (2, True)),
        ({"title": "Backend Engineer", "asks": "- Python"}, "seniority", (6, False)),
        ({"location": "Boise, ID (hybrid)"}, "location", (2, True)),
        ({"location": "Boise, ID (on-site)"}, "location", (0, True)),
        ({"location": "Portland, OR (hybrid)"}, "location", (11, True)),
        ({"location": "Portland, OR"}, "location", (11, True)),
        ({"location": "Remote - Japan"}, "location", (2, True)),
        ({"location": "", "description": FILLER}, "location", (6, False)),
        ({"salary_range": "USD 120000-160000 per year"}, "salary", (4, True)),
        ({"salary_range": "USD 40000-50000 per year"}, "salary", (0, True)),
        ({"salary_range": "EUR 40000-50000 per year"}, "salary", (3, False)),
        ({"salary_range": None}, "salary", (3, False)),
    ],
)
def test_shares_of_parts(changes: dict[str, Any], name: str, expected: tuple[int, bool]) -> None:
    got, known = part(matched(**changes), name)
    assert known is expected[1]
    assert abs(got - expected[0]) <= 1, "a point of rounding"


@pytest.mark.parametrize(
    ("zone", "expected"),
    [("PST", 5), ("MST", 5), ("CST", 0), ("EST", -5), ("UTC-4", -5), ("GMT", -10), ("CET", -15), ("JST", -10)],
)
def test_the_time_zone_counts_by_hours(zone: str, expected: int) -> None:
    text = f"{FILLER}\nFully remote. You must be available during working hours in the {zone} time zone."
    result = matched(location="Remote", description=text)
    assert points(result, "time_zone") == expected, result.adjustments


@pytest.mark.parametrize(
    ("size", "wanted", "expected"),
    [
        ("large", ["large"], 10),
        ("large", [], 0),
        ("medium", ["large"], 0),
        ("small", ["large"], -5),
        ("small", [], -5),
        ("small", ["small"], 0),
        (None, ["large"], 0),
    ],
)
def test_the_size_of_the_company_counts(size: str | None, wanted: list[str], expected: int) -> None:
    result = matched(seeker(company_size=wanted), company_size=size)
    assert points(result, "company_size") == expected


def test_the_score_stays_within_its_limits() -> None:
    result = matched(company_size="large")
    assert result.match_score == 100
    assert points(result, "limit") == -10
    low = matched(
        seeker(match={"time_zone": [], "time_zone_farther": -200}), title="Cook", location="Berlin, Germany (hybrid)"
    )
    assert low.match_score == 0
    assert sum(one.points for one in (*low.parts, *low.adjustments)) == 0


def test_thresholds_and_priorities() -> None:
    assert (matched().threshold, matched().office_bonus) == (80, False)
    home = matched(location="Portland, OR (hybrid)")
    assert (home.threshold, home.office_bonus) == (65, True)
    assert matched(location="Portland, ME (hybrid)").threshold == 80
    assert matched(headquarters_location="Portland, Oregon").threshold == 65, "a remote role of an employer at home"
    assert matched(headquarters_location="Portland, Maine").threshold == 80
    assert matched(headquarters_location="Denver, CO").threshold == 80
    assert matched(seeker(match={"high_priority": 96}), company_size="small").application_priority == "Medium"
    assert matched(title="Junior Cook", asks="- Kafka").application_priority == "Low"


def test_what_would_change_it_is_said() -> None:
    changes: dict[str, Any] = {"asks": "- Python\n- Kafka\n- Rust", "salary_range": None}
    result = matched(**changes)
    better = {one.condition: one.score for one in result.would_be}
    assert set(better) == {"you had Kafka", "you had Rust", "the salary were known and as wanted"}
    assert all(score > result.match_score for score in better.values())
    with_kafka = seeker(skills=[*({"name": one.name, "years": one.years} for one in SEEKER.profile.skills), "Kafka"])
    assert (
        matched(with_kafka, asks="- Python\n- Kafka\n- Rust", salary_range=None).match_score == better["you had Kafka"]
    )


def test_freshness_orders_lists_and_changes_no_score() -> None:
    numbers = Scoring()
    assert fresh(80, NOW, NOW, numbers) == 85
    assert fresh(80, NOW - timedelta(days=15), NOW, numbers) == 82.5
    assert fresh(80, NOW - timedelta(days=90), NOW, numbers) == 80
    assert fresh(80, NOW + timedelta(days=1), NOW, numbers) == 85
    assert fresh(80, None, NOW, numbers) == 82.5
    assert matched(posted_date="2001-01-01").match_score == matched().match_score


def test_the_resume_shows_facts_of_the_profile_in_the_right_order() -> None:
    data = matched().json()["resumeIntakeData"]
    assert list(data) == [
        "professionalSummary",
        "prioritizedSkills",
        "experienceHighlights",
        "projectsToInclude",
        "achievementAngles",
        "atsKeywords",
    ]
    assert data["professionalSummary"] == (
        "Senior Backend Engineer with 8 years of experience; works with Python and PostgreSQL."
    )
    assert data["prioritizedSkills"] == ["Python", "PostgreSQL", "AWS", "TypeScript"]
    assert data["experienceHighlights"] == [
        "Built 4 services in Python.",
        "Cut the bill for PostgreSQL by 30 %.",
        "Wrote reports for the harbour.",
    ]
    assert data["projectsToInclude"] == ["Heron", "Gull"]
    assert data["achievementAngles"] == ["Built 4 services in Python.", "Cut the bill for PostgreSQL by 30 %."]
    assert data["atsKeywords"] == ["Python", "PostgreSQL"]
    assert "rockstar" not in str(data)


def test_skills_that_are_only_mentioned_decide_little() -> None:
    said = matched(description=f"{FILLER}\nOur team runs Kafka somewhere.")
    assert part(said, "skills") == (14, True), "a quarter"
    assert part(matched(description=f"{FILLER}\nOur team runs Python somewhere."), "skills")[0] > 40


def test_whole_points_sum_up_to_the_rounded_sum() -> None:
    assert whole_points([55.56, 16.67, 11.11, 11.11, 5.55]) == [56, 17, 11, 11, 5]
    assert whole_points([0.5, 0.0]) == [1, 0]
    assert whole_points([]) == []


def test_the_canonical_form_scores_alike() -> None:
    posting = posting_of(ROW)
    canonical = {**posting.posting.model_dump(mode="json"), "salary": {"source": "none"}}
    again = match_posting(posting_of(canonical), SEEKER)
    without = match_posting(posting_of(row(salary_range=None)), SEEKER)
    assert again.json() == without.json()
