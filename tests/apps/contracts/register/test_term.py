"""When a contract ends, until when notice can be given, and what that was computed from."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest

from interlock.apps.contracts.register.term import deadlines, term_of

TODAY = date(2026, 11, 18)


def fields(**values: str) -> dict[str, dict[str, Any]]:
    return {name: {"normalised": value, "value": value} for name, value in values.items()}


def test_a_stated_end_is_taken_as_it_is() -> None:
    found = term_of(fields(expiration_date="2027-03-05", notice_period="P90D", renewal_term="P1Y"))
    assert (found.ends, found.notice, found.renewal, found.basis) == (date(2027, 3, 5), "P90D", "P1Y", "")
    assert found.words == "until 2027-03-05, renewed by 1 year"


def test_an_end_is_computed_from_start_and_term_and_says_so() -> None:
    found = term_of(fields(start_date="2024-03-01", term="P12M", notice_period="P6W"))
    assert found.ends == date(2025, 2, 28)
    assert found.basis == "from its start on 2024-03-01 and its term of 12 months"


@pytest.mark.parametrize(
    "values",
    [
        {"expiration_date": "2027-XX-XX"},
        {"expiration_date": "perpetual"},
        {"start_date": "9990-01-01", "term": "P9000Y"},
        {"start_date": "2024-01-01", "term": "P99999D"},
        {},
    ],
)
def test_what_is_not_known_is_no_end(values: dict[str, str]) -> None:
    assert term_of(fields(**values)).ends is None


def test_the_last_day_for_notice_is_before_the_end() -> None:
    found = deadlines(date(2027, 3, 5), "P90D", "", "", TODAY)
    assert [(one.kind, one.day) for one in found] == [("notice", date(2026, 12, 5)), ("end", date(2027, 3, 5))]
    assert found[0].basis == "90 days before its end on 2027-03-05"


def test_without_a_stated_notice_there_is_no_such_day() -> None:
    assert [one.kind for one in deadlines(date(2027, 3, 5), "", "", "", TODAY)] == ["end"]


def test_a_renewed_contract_has_the_deadlines_of_its_next_end() -> None:
    found = deadlines(date(2024, 1, 31), "P1M", "P1Y", "", TODAY)
    assert [(one.kind, one.day) for one in found] == [("notice", date(2026, 12, 31)), ("end", date(2027, 1, 31))]
    assert found[1].basis == "from its end on 2024-01-31, renewed by 1 year"


def test_what_ended_and_is_not_renewed_stays_in_the_past() -> None:
    assert deadlines(date(2024, 1, 31), "", "", "", TODAY)[0].day == date(2024, 1, 31)
