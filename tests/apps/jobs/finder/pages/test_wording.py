"""Reasons, badges and pay, without a database."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from interlock.apps.jobs.finder.pages.wording import SHOWN_REASONS, pay, reasons, web_address
from interlock.apps.jobs.finder.postings.posting import Extraction, Method, Posting, Salary
from tests.apps.jobs.finder.seekers import filtered, matched


def posting(**values: Any) -> Posting:
    return Posting(ats="lever", extraction=Extraction(method=Method.API, adapter_version="1"), **values)


def test_a_rejection_is_the_first_reason_against() -> None:
    _, against = reasons(matched().json(), filtered(title="Unpaid Backend Engineer").json())
    assert against[0].text == "Excluded keyword in the title: unpaid"
    assert against[0].quote == "Unpaid Backend Engineer"


def test_missing_skills_are_one_reason_and_never_more_than_three_are_shown() -> None:
    asks = "- Rust\n- Haskell\n- Erlang\n- Elixir\n- Scala\n- Clojure"
    good, against = reasons(matched(asks=asks).json(), filtered(asks=asks, location="Berlin").json())
    assert sum("Missing" in one.text for one in against) == 1
    assert max(len(good), len(against)) <= SHOWN_REASONS


def test_without_results_there_are_no_reasons() -> None:
    assert reasons(None, None) == ([], [])


def test_pay_says_where_it_stands_and_guesses_no_period() -> None:
    stated = Salary(min=100000, max=120000, currency="EUR", period="year", source="board")
    assert pay(posting(salary=stated)) == ("100,000 to 120,000 EUR a year", "from the board's own field", "")
    open_end = Salary(min=50, currency="USD", source="text", quote="from $50")
    found = pay(posting(salary=open_end))
    assert found == ("from 50 USD, for an unknown period", "read out of the text", "from $50")
    assert pay(posting()) is None


@given(st.text(max_size=40))
def test_only_web_addresses_become_links(text: str) -> None:
    found = web_address(text)
    assert found is None or text.lower().startswith(("http://", "https://"))
    assert web_address(f"javascript:{text}") is None
