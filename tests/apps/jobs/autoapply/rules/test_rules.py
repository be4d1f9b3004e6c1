"""Rules of auto-apply: criteria, decisions with every check, previews."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from interlock.apps.jobs.autoapply.rules import Candidate, RuleError, Usage, check_rule, judge, preview
from interlock.apps.jobs.autoapply.rules.judge import CRITERIA
from interlock.apps.jobs.finder.postings.posting import PostingState
from interlock.apps.jobs.finder.postings.read_posting import ReadPosting, posting_of
from tests.apps.jobs.finder.seekers import NOW, row

WEDNESDAY = NOW
"""2026-05-20."""


def candidate(
    *, score: int | None = 86, rule_score: int | None = None, applied: bool = False, **changes: Any
) -> Candidate:
    return Candidate(posting_of(row(**changes)), score, 80, rule_score, applied)


def rule(**criteria: Any) -> Any:
    return check_rule({"name": "boats", **criteria})


def levels(decision: Any) -> dict[str, str]:
    return {one.name: one.level for one in decision.checks}


TAKEN: list[dict[str, Any]] = [
    {},
    {"min_score": 86},
    {"titles": ["backend engineer", "Cook"]},
    {"titles": ["Engineer, Backend"]},
    {"skills": ["python", "Rust"]},
    {"skills": ["Python", "postgres"], "min_skills": 2},
    {"companies": ["KIND BOATS GmbH"]},
    {"excluded_companies": ["Grim Corp"]},
    {"keywords": ["harbours"]},
    {"excluded_keywords": ["harbo"]},
    {"locations": ["remote"]},
    {"locations": ["United States"]},
    {"locations": "US"},
    {"salary": {"min": 180000, "currency": "usd"}},
    {"salary": {"min": 80, "currency": "USD", "period": "hour"}},
    {"sources": ["unknown"]},
    {"active_days": ["Wed", "monday"]},
]
BLOCKED: list[tuple[str, dict[str, Any]]] = [
    ("score", {"min_score": 87}),
    ("titles", {"titles": ["Frontend Engineer"]}),
    ("skills", {"skills": ["Rust"]}),
    ("skills", {"skills": ["Python", "Rust"], "min_skills": 2}),
    ("companies", {"companies": ["Kind"]}),
    ("excluded_companies", {"excluded_companies": ["Kind Boats, Inc."]}),
    ("keywords", {"keywords": ["submarine"]}),
    ("excluded_keywords", {"excluded_keywords": ["HARBOURS"]}),
    ("locations", {"locations": ["Germany", "EU"]}),
    ("locations", {"locations": ["on-site"]}),
    ("salary", {"salary": {"min": 180001, "currency": "USD"}}),
    ("sources", {"sources": ["greenhouse"]}),
    ("active_days", {"active_days": ["thu"]}),
    ("paused", {"paused": True}),
]


@pytest.mark.parametrize("criteria", TAKEN, ids=str)
def test_a_posting_that_fits_is_taken(criteria: dict[str, Any]) -> None:
    decision = judge(rule(**criteria), candidate(), WEDNESDAY)
    assert decision.taken, decision.summary
    assert not decision.warnings


@pytest.mark.parametrize(("name", "criteria"), BLOCKED, ids=str)
def test_one_check_keeps_it_out_and_all_are_logged(name: str, criteria: dict[str, Any]) -> None:
    decision = judge(rule(**criteria), candidate(), WEDNESDAY)
    assert [one.name for one in decision.blocked_by] == [name]
    assert decision.blocked_by[0].reason in decision.summary
    assert len(decision.checks) == len(CRITERIA) + 2
    assert all(one.reason for one in decision.checks)


def test_what_is_not_known_is_a_doubt_or_keeps_it_out() -> None:
    asks = {"salary": {"min": 1, "currency": "USD"}}
    silent = candidate(salary_range="")
    assert levels(judge(rule(**asks), silent, NOW))["salary"] == "warn"
    assert levels(judge(rule(**asks, take_unknown=False), silent, NOW))["salary"] == "block"
    other = candidate(salary_range="EUR 150000-180000 per year")
    assert levels(judge(rule(**asks), other, NOW))["salary"] == "warn"
    nowhere = candidate(company_name="")
    assert levels(judge(rule(companies=["Kind"]), nowhere, NOW))["companies"] == "block"
    assert levels(judge(rule(), candidate(score=None), NOW))["score"] == "block"


def test_the_matchs_own_threshold_holds_unless_the_rule_has_one() -> None:
    assert not judge(rule(), candidate(score=79), NOW).taken
    assert judge(rule(min_score=70), candidate(score=79), NOW).taken


def test_closed_and_applied_for_postings_are_never_taken() -> None:
    one = candidate().posting.posting

    def in_state(state: PostingState) -> Candidate:
        return Candidate(ReadPosting(one.model_copy(update={"state": state})), 90, 80)

    assert levels(judge(rule(min_score=0), in_state(PostingState.CLOSED), NOW))["open"] == "block"
    assert levels(judge(rule(min_score=0), in_state(PostingState.UNCERTAIN), NOW))["open"] == "warn"
    assert not judge(rule(), candidate(applied=True), NOW).taken


def test_scores_far_apart_need_a_person_even_where_the_rule_needs_none() -> None:
    free = rule(require_user_approval=False)
    assert rule().require_user_approval
    assert not judge(free, candidate(score=90, rule_score=70), NOW).needs_approval
    far = judge(free, candidate(score=91, rule_score=70), NOW)
    assert far.taken
    assert far.needs_approval
    assert levels(far)["score"] == "warn"


def test_the_day_is_the_seekers() -> None:
    late = datetime(2026, 5, 20, 23, tzinfo=UTC)
    asks = rule(active_days=["wed"])
    assert judge(asks, candidate(), late).taken
    assert not judge(asks, candidate(), late, zone="Europe/Berlin").taken


def test_limits_are_checked_where_counts_are_given() -> None:
    decision = judge(rule(), candidate(), NOW, usage=Usage(seeker_day=10, company_at=NOW - timedelta(days=6)))
    assert [one.name for one in decision.blocked_by] == ["seeker_day", "company_cooldown"]


def test_a_preview_counts_what_is_taken_and_why_others_are_not() -> None:
    stored = [
        candidate(id="1", url="https://a.example/1", score=95),
        candidate(id="2", url="https://a.example/2", score=90),
        candidate(id="3", url="https://a.example/3", score=50),
        candidate(id="4", url="https://a.example/4", score=50, title="Cook"),
    ]
    asks = rule(titles=["Engineer"], paused=True)
    shown = preview(asks, stored)
    assert [len(shown.taken), len(shown.not_taken)] == [2, 2]
    assert shown.blocked_by == {"score": 2, "titles": 1}
    assert shown.only_by == {"score": 1}
    random.Random(7).shuffle(stored)
    assert preview(asks, stored) == shown
    assert shown.json()["taken"][0]["summary"] == "taken"


def test_order_and_case_of_criteria_do_not_count() -> None:
    one = rule(titles=["Cook", "Backend Engineer"], skills=["Rust", "python"], locations=["EU", "US"])
    other = rule(titles=["backend engineer", "cook"], skills=["Python", "rust"], locations=["US", "EU"])
    first, second = (judge(asks, candidate(), NOW) for asks in (one, other))
    assert levels(first) == levels(second)


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"name": ""}, "name: "),
    ({"min_score": 101}, "min_score: "),
    ({"titels": ["Cook"]}, "titels: no such key; did you mean titles?"),
    ({"active_days": ["someday"]}, "active_days.0: "),
    ({"max_applications_per_week": 0}, "max_applications_per_week: "),
    ({"skills": ["Python"], "min_skills": 2}, "name more or ask less"),
    ({"companies": ["Acme Inc"], "excluded_companies": ["ACME"]}, "both have acme"),
    ({"companies": ["!"]}, "is not a company's name"),
    ({"salary": {"min": 0, "currency": "USD"}}, "salary.min: "),
]


@pytest.mark.parametrize(("criteria", "message"), WRONG, ids=str)
def test_a_wrong_rule_says_what_is_wrong(criteria: dict[str, Any], message: str) -> None:
    with pytest.raises(RuleError) as caught:
        rule(**criteria)
    assert message in str(caught.value)


def test_every_problem_is_named_at_once() -> None:
    with pytest.raises(RuleError) as caught:
        check_rule({"min_score": -1, "paused": "perhaps"})
    assert len(str(caught.value).splitlines()) == 3
