"""What holds for every score."""

from __future__ import annotations

import random
import time
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interlock.apps.jobs.finder.filtering import filter_posting
from interlock.apps.jobs.finder.filtering.checks import CHECKS
from interlock.apps.jobs.finder.matching import match_posting
from interlock.apps.jobs.finder.postings.read_posting import posting_of
from interlock.apps.jobs.finder.profiles.profile_file import check_profile
from interlock.apps.jobs.finder.profiles.seeker import Seeker
from interlock.apps.jobs.finder.reading.vocabulary import terms
from interlock.apps.jobs.finder.scoring import score_row
from tests.apps.jobs.finder.seekers import FILLER, NOW, PROFILE, SEEKER, row, seeker

HAS = ["Python", "PostgreSQL", "TypeScript", "AWS", "SQL", "JavaScript"]
LACKS = ["Kafka", "Ansible", "Terraform", "Java", "MySQL", "Redis or Memcached", "Kubernetes"]
"""None of them is a word of everyday language, such as Rust, whose case matters."""
skills = st.lists(st.sampled_from(HAS + LACKS), max_size=6, unique=True)


def text(required: list[str], preferred: list[str], mentioned: list[str]) -> str:
    lines = [FILLER]
    lines += [f"Our team also has {one} somewhere." for one in mentioned]
    lines += ["Requirements", *(f"- {one}" for one in required)] if required else []
    lines += ["Nice to have", *(f"- {one}" for one in preferred)] if preferred else []
    return "\n".join(lines)


def score(description: str, who: Seeker = SEEKER, **changes: Any) -> int:
    return match_posting(posting_of(row(description=description, **changes)), who).match_score


@given(skills, skills, skills, st.sampled_from(HAS))
@settings(max_examples=30, deadline=None)
def test_a_matched_required_skill_never_lowers_the_score(
    required: list[str], preferred: list[str], mentioned: list[str], more: str
) -> None:
    before = text(required, preferred, mentioned)
    after = text([*required, more], preferred, mentioned)
    assert score(after) >= score(before)


@given(skills, skills, st.sampled_from(LACKS[:5]), st.integers(0, 20))
@settings(max_examples=20, deadline=None)
def test_a_skill_that_is_learnt_never_lowers_the_score(
    required: list[str], preferred: list[str], learnt: str, years: int
) -> None:
    more = seeker(skills=[*PROFILE["skills"], {"name": learnt, "years": years}])
    described = text(required, preferred, [])
    assert score(described, more) >= score(described)


@given(skills, skills, st.randoms(use_true_random=False), st.sampled_from([str.upper, str.lower, str.swapcase]))
@settings(max_examples=20, deadline=None)
def test_order_and_case_change_no_score(
    required: list[str], preferred: list[str], chance: random.Random, change: Any
) -> None:
    def mixed(some: list[Any]) -> list[Any]:
        return chance.sample(some, len(some))

    before = score(text(required, preferred, []))
    assert score(text(mixed(required), mixed(preferred), [])) == before
    who = Seeker(
        check_profile(
            {
                **PROFILE,
                "skills": mixed([{**one, "name": change(one["name"])} for one in PROFILE["skills"]]),
                "titles": [change(one) for one in PROFILE["titles"]],
            }
        )
    )
    assert score(text(required, preferred, []), who) == before
    assert score(change(text(required, preferred, []))) == before


@given(
    skills,
    skills,
    st.sampled_from(["Senior Backend Engineer", "Cook", "", "Intern", "Data Engineer II"]),
    st.sampled_from(["Remote", "", "Boise, ID (hybrid)", "Berlin, Germany", "Portland, OR"]),
    st.sampled_from(["", "USD 90000-150000 per year", "$70 per hour"]),
    st.sampled_from([None, "small", "large"]),
)
@settings(max_examples=30, deadline=None)
def test_every_point_is_explained(
    required: list[str], preferred: list[str], title: str, location: str, pay: str, size: str | None
) -> None:
    posting = row(
        title=title,
        location=location,
        salary_range=pay,
        company_size=size,
        description=text(required, preferred, []),
    )
    result = match_posting(posting_of(posting), SEEKER)
    explained = [*result.parts, *result.adjustments]
    assert sum(one.points for one in explained) == result.match_score
    assert all(one.explanation for one in explained)
    assert all(0 <= one.points <= one.most for one in result.parts)
    assert 0 <= result.match_score <= 100
    assert 0 <= result.confidence <= 1
    assert score_row(posting, SEEKER, NOW) == score_row(posting, SEEKER, NOW)


NAMES = sorted(
    one.name for one in terms().values() if not one.case and one.category not in {"concept", "method", "standard"}
)
WORDINGS = ("- {}", "- Strong experience with {}", "- {} or Zig", "- 3+ years of {}, and the sea", "- Tools such as {}")


@given(
    st.lists(st.sampled_from(NAMES), min_size=1, max_size=8, unique=True),
    st.lists(st.tuples(st.sampled_from(WORDINGS), st.sampled_from(NAMES)), max_size=6),
    st.data(),
)
@settings(max_examples=40, deadline=None)
def test_the_laws_hold_for_the_whole_vocabulary(has: list[str], lines: list[tuple[str, str]], data: Any) -> None:
    who = seeker(skills=[{"name": one, "years": data.draw(st.integers(0, 12))} for one in has])
    asked = [wording.format(name) for wording, name in lines]
    before = score("\n".join([FILLER, "Requirements", *asked]), who)
    at = data.draw(st.integers(0, len(asked)))
    more = [*asked[:at], f"- {data.draw(st.sampled_from(has))}", *asked[at:]]
    after = score("\n".join([FILLER, "Requirements", *more]), who)
    assert after >= before
    mixed = data.draw(st.permutations(more))
    assert score("\n".join([FILLER, "Requirements", *mixed]), who) == after
    found = filter_posting(posting_of(row(description="\n".join([FILLER, "Requirements", *more]))), who, NOW)
    assert all(one.evidence.quote and one.points > 0 for one in found.strikes)
    assert not {one.check for one in found.checks_skipped} & set(found.checks_performed)


@pytest.mark.parametrize("field", ["location", "description", "salary_range", "posted_date", "title"])
def test_what_is_missing_is_no_strike(field: str) -> None:
    whole = row(location="Berlin", salary_range="USD 1000-2000 per year", posted_date="2020-01-01", title="Junior Cook")
    against = {one.rule for one in filter_posting(posting_of(whole), SEEKER, NOW).strikes}
    result = filter_posting(posting_of({**whole, field: None}), SEEKER, NOW)
    assert {one.rule for one in result.strikes} <= against
    assert len(result.checks_performed) + len(result.checks_skipped) == len(CHECKS)


HOSTILE = ["requirements\n- Python or Java/Go, ", "remote in the ", "a/", "must be located in "]


@pytest.mark.parametrize("piece", HOSTILE)
def test_a_megabyte_of_anything_takes_no_longer_than_it_should(piece: str) -> None:
    text = piece * (1_000_000 // len(piece))
    posting = posting_of({"title": text, "company_name": text, "location": text, "description": text, "url": text})
    posting.reading  # noqa: B018  (its own tests measure it)
    begun = time.process_time()
    filter_posting(posting, SEEKER, datetime(2026, 1, 1, tzinfo=UTC))
    match_posting(posting, SEEKER)
    assert time.process_time() - begun < 5
