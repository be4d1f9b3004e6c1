"""A tailored resume and a letter choose and order what the profile says, and add nothing."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interlock.apps.jobs.autoapply.documents import Line, tailor, write_letter
from interlock.apps.jobs.autoapply.documents.letter import company_of, role_of
from interlock.apps.jobs.autoapply.documents.tailoring import NoName
from interlock.apps.jobs.autoapply.documents.values import shown, value_at
from interlock.apps.jobs.autoapply.documents.wording import our_words
from interlock.apps.jobs.finder.postings.read_posting import ReadPosting
from interlock.apps.jobs.finder.profiles.seeker import Seeker
from tests.apps.jobs.autoapply.documents.made import POSTING, SEEKER, match, posting, seeker


def texts(lines: Any) -> list[str]:
    return [one.text for one in lines]


def test_bullets_about_what_is_asked_for_come_first() -> None:
    resume = tailor(POSTING, SEEKER, match())
    assert texts(resume.employment[0].bullets) == [
        "Cut the cost of PostgreSQL by 30 % for 1,200 boats.",
        "Moved the orders to Kafka with answers in ≤ 40 ms.",
        "Wrote reports for the harbour office and its guests.",
    ]
    assert texts(resume.skills)[-1] == "Go"
    assert [one.heading.text for one in resume.projects] == ["Heron (https://example.org/heron)", "Gull"]


def test_posts_and_schools_keep_the_order_of_the_profile() -> None:
    resume = tailor(POSTING, SEEKER, match())
    assert [(one.heading.text, one.dates.text) for one in (*resume.employment, *resume.education)] == [
        ("Senior Backend Engineer, Kelp Works, Hamburg", "04/2020 \u2013 present"),
        ("Software Engineer, Möwe & Söhne", "09/2015 \u2013 03/2020"),
        ("BSc, Informatics, Hafen University", "2011 \u2013 2015"),
    ]


def test_the_headline_is_a_title_of_the_profile_like_the_postings() -> None:
    assert tailor(POSTING, SEEKER, match()).headline.text == "Platform Engineer"
    other = posting(title="Chief Astronaut")
    assert tailor(other, SEEKER, match(other)).headline.text == "Senior Backend Engineer"


def test_years_are_not_claimed_for_each_skill() -> None:
    summary = tailor(POSTING, SEEKER, match()).summary.text
    assert summary.startswith("Senior Backend Engineer with 9 years of experience. Works with ")


def test_differences_say_what_was_moved_and_left_out() -> None:
    found = {(one.kind, one.source, one.reason) for one in tailor(POSTING, SEEKER, match()).differences}
    assert ("left_out", "employment[0].highlights[1]", "never_say") in found
    assert ("moved", "employment[0].highlights[2]", "more_related") in found
    assert ("headline", "titles[0]", "title") in found


def test_what_does_not_fit_is_left_out_the_least_related_first() -> None:
    posts = [
        {"company": f"Firm {n}", "title": "Engineer", "highlights": ["Swept floors. " * 20, "Ran PostgreSQL. " * 20]}
        for n in range(12)
    ]
    who = seeker(employment=posts)
    one, two = (tailor(POSTING, who, match(POSTING, who), pages=pages) for pages in (1, 2))
    assert len(one.text) < len(two.text)
    assert all("Swept" not in bullet.text for entry in one.employment for bullet in entry.bullets)
    assert {d.reason for d in one.differences if d.kind == "left_out" and "Swept" in d.text} == {"length"}


def test_a_letter_names_company_role_and_three_matching_facts() -> None:
    letter = write_letter(POSTING, SEEKER)
    assert letter.salutation.text == "Dear hiring team at Kind Boats GmbH,"
    assert "role of Staff Platform Engineer at Kind Boats GmbH." in letter.paragraphs[0].text
    assert texts(letter.facts) == [
        "At Kelp Works: Cut the cost of PostgreSQL by 30 % for 1,200 boats.",
        "At Kelp Works: Moved the orders to Kafka with answers in ≤ 40 ms.",
        "At Möwe & Söhne: Built the ferry planner in Python.",
    ]
    assert len(letter.text.split()) < 250


def test_a_letter_without_company_title_or_highlights_is_whole() -> None:
    bare = seeker(employment=[], projects=[], education=[], titles=[])
    letter = write_letter(posting(company_name="", title=""), bare)
    assert letter.text.startswith("Dear hiring team,\nI am applying for your open position. I have 9 years")
    assert "6 years of work with postgres." in texts(letter.facts)


def test_a_german_profile_has_a_german_letter() -> None:
    said = "Ich habe die Planung für die Fähren und das Lager mit Python auf PostgreSQL gebaut und der Betrieb ist gut."
    who = seeker(employment=[{"company": "Möwe", "title": "Entwicklerin", "highlights": [said]}], projects=[])
    letter = write_letter(POSTING, who)
    assert letter.language == "de"
    assert letter.salutation.text == "Guten Tag, liebes Team von Kind Boats GmbH,"
    assert said in letter.facts[0].text


def test_a_profile_without_a_name_has_no_documents() -> None:
    who = seeker(identity=None)
    with pytest.raises(NoName, match=r"identity\.name"):
        tailor(POSTING, who, match(POSTING, who))
    with pytest.raises(NoName):
        write_letter(POSTING, who)


def traced(line: Line, who: Seeker, one: ReadPosting) -> bool:
    """Every piece is a value of the profile or the posting, or one of our words."""
    said = {"posting.company": company_of(one), "posting.title": role_of(one)}
    return all(
        piece.text in our_words()
        if piece.source is None
        else piece.text == (said[piece.source] if piece.source in said else shown(value_at(who.profile, piece.source)))
        for piece in line.pieces
    )


WORDS = st.sampled_from(
    [
        "Python",
        "Kafka",
        "30 %",
        "#read",
        "*bold*",
        "Zürich",
        "led",
        "rockstar",
        "a\nb",
        "2019",
        "≥ 5",
        "😀",
        "\\",
        "مرحبا",
    ]
)
SAID = st.lists(WORDS, min_size=1, max_size=8).map(" ".join)
POST = st.fixed_dictionaries(
    {"company": SAID, "title": SAID, "highlights": st.lists(SAID, max_size=9)},
    optional={"start": st.sampled_from(["2019", "2020-02"]), "location": SAID},
)
PROFILES = st.fixed_dictionaries(
    {
        "employment": st.lists(POST, max_size=4),
        "projects": st.lists(st.fixed_dictionaries({"name": SAID}, optional={"description": SAID}), max_size=6),
        "education": st.lists(st.fixed_dictionaries({"school": SAID}, optional={"degree": SAID}), max_size=3),
        "skills": st.lists(WORDS, max_size=6),
        "titles": st.lists(SAID, max_size=3),
    }
)


@settings(max_examples=40)
@given(PROFILES, SAID, SAID, SAID)
def test_no_line_has_anything_that_is_not_in_the_profile(
    changes: dict[str, Any], title: str, company: str, asks: str
) -> None:
    who = seeker(**changes)
    one = posting(title=title, company_name=company, description=f"Requirements\n- {asks}\n")
    resume, letter = tailor(one, who, match(one, who)), write_letter(one, who)
    assert all(traced(line, who, one) for line in (*resume.lines(), *letter.lines()))
    assert all(source.startswith("posting.") is False for line in resume.lines() for source in line.sources)
    assert "rockstar" not in resume.text
    ours = [line.text for line in letter.lines() if not any(source.startswith("posting.") for source in line.sources)]
    assert not any("rockstar" in text for text in ours)
    assert tailor(one, who, match(one, who)) == resume
