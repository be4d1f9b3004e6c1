"""The knock-out scan."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from interlock.apps.jobs.autoapply.answers import Applicant, FormContext, knockouts, resolve_form
from interlock.apps.jobs.finder.postings.read_posting import posting_of
from tests.apps.jobs.autoapply.answers.applicants import FORM, WHO, applicant, ask
from tests.apps.jobs.finder.seekers import row

GERMANY = replace(FORM, country="DE")


def scan(*asked: Any, who: Applicant = WHO, context: FormContext = FORM, **changes: Any) -> list[tuple[str, bool]]:
    found = knockouts(resolve_form(asked, who, context), posting_of(row(**changes)), who.profile, context)
    assert all(one.reason for one in found)
    return [(one.kind, one.answered) for one in found]


AUTHORISED = ask("Are you authorized to work in Germany?", "bool")
SPONSORED = ask("Will you require sponsorship in Germany?", "single", ("Yes", "No"))
YEARS = ask("Do you have at least 10 years of experience?", "bool")
DEGREE = ask("Do you have a master's degree?", "bool")
WHERE = ask("Are you based in Canada?", "bool")
WARNED = [
    (AUTHORISED, ("authorisation", True)),
    (SPONSORED, ("sponsorship", True)),
    (YEARS, ("experience", True)),
    (DEGREE, ("degree", True)),
    (WHERE, ("location", True)),
    (ask("Are you authorized to work in France?", "bool"), ("authorisation", False)),
    (ask("Are you willing to relocate?", "bool"), ("location", False)),
]


@pytest.mark.parametrize(("asked", "warning"), WARNED, ids=str)
def test_an_answer_that_may_reject_is_shown_with_its_question(asked: Any, warning: tuple[str, bool]) -> None:
    assert scan(asked) == [warning]


def test_good_answers_warn_of_nothing() -> None:
    assert (
        scan(
            ask("Are you authorized to work in the US?", "bool"),
            ask("Will you require sponsorship?", "bool"),
            ask("Do you have 5+ years of experience with Python?", "bool"),
            ask("Do you have a bachelor's degree?", "bool"),
            ask("First name"),
        )
        == []
    )


def test_what_the_posting_itself_says_is_shown_too() -> None:
    assert scan(asks="- 12+ years of experience with Python") == [("experience", True)]
    assert scan(salary_range="USD 100000-120000 per year") == [("salary", True)]
    assert scan(context=GERMANY) == [("authorisation", True)]
    assert scan(context=GERMANY, asks="- Python\nWe do not sponsor visas.") == [("sponsorship", True)]


def test_a_degree_and_a_place_that_the_posting_asks_for() -> None:
    who = applicant(education=[{"school": "Hafen University", "degree": "BSc"}], home="Portland, OR, US")
    assert scan(who=who, asks="- A PhD in physics is required") == [("degree", True)]
    for soft in (
        "- A PhD or equivalent experience",
        "- PhD preferred",
        "- Bachelor's or Master's degree",
        "- Master data",
    ):
        assert scan(who=who, asks=soft) == [], soft
    assert scan(who=applicant(education=[]), asks="- A PhD in physics is required") == [], "nothing is known"
    there = {"location": "Berlin, Germany", "asks": "- Python\nThis role is on-site in our office."}
    assert ("location", True) in scan(who=who, **there)
    assert ("location", True) not in scan(who=who, **{**there, "location": "Portland, OR"})


def test_a_salary_above_what_it_pays() -> None:
    asked = ask("Desired salary", "number")
    assert scan(asked, who=applicant(answers={"salary_expectation": 190000})) == [("salary", True)]
    assert scan(asked, who=applicant(answers={"salary_expectation": 170000})) == []
