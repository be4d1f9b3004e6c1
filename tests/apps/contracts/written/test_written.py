"""How well contracts are read that no rule was fitted to, and whether the scores are as good as they say."""

from __future__ import annotations

import pytest

from interlock.apps.contracts.fields.calibration import shipped_table
from interlock.apps.contracts.fields.calibration_errors import calibration_error
from interlock.apps.contracts.fields.measures import Report
from tests.apps.contracts.written.commercial import commercial
from tests.apps.contracts.written.energy import energy
from tests.apps.contracts.written.energy_letters import letters
from tests.apps.contracts.written.measuring import apart, measured


@pytest.fixture(scope="module")
def put_together() -> Report:
    return measured("commercial", commercial(80, seed=11))


@pytest.fixture(scope="module")
def written_apart() -> Report:
    return measured("commercial", apart())


@pytest.fixture(scope="module")
def supplied() -> Report:
    return measured("energy", energy(90))


@pytest.fixture(scope="module")
def sent() -> Report:
    return measured("energy", letters(40))


@pytest.mark.parametrize(
    ("field", "accuracy", "coverage"),
    [
        ("governing_law", 0.98, 0.95),
        ("parties", 0.93, 0.95),
        ("agreement_date", 0.98, 0.75),
        ("effective_date", 0.95, 0.55),
        ("expiration_date", 0.98, 0.85),
    ],
)
def test_other_wordings_are_read_as_well(put_together: Report, field: str, accuracy: float, coverage: float) -> None:
    row = next(row for row in put_together.fields if row.field == field)
    assert row.answered >= 30
    assert row.accuracy >= accuracy
    assert row.coverage >= coverage
    assert row.grounded == 1


@pytest.mark.parametrize(
    ("field", "accuracy"),
    [
        ("governing_law", 0.95),
        ("parties", 0.85),
        ("agreement_date", 0.9),
        ("effective_date", 0.9),
        ("expiration_date", 0.9),
    ],
)
def test_untidy_contracts_get_few_wrong_values(written_apart: Report, field: str, accuracy: float) -> None:
    row = next(row for row in written_apart.fields if row.field == field)
    assert row.answered >= 8
    assert row.accuracy >= accuracy


@pytest.mark.parametrize("name", ["put_together", "written_apart", "supplied", "sent"])
def test_what_is_approved_is_right_at_least_as_often_as_the_score_says(
    name: str, request: pytest.FixtureRequest
) -> None:
    report: Report = request.getfixturevalue(name)
    (row,) = [row for row in report.thresholds if row.threshold == 80]
    assert row.approved >= 4
    assert row.precision >= row.stated


def test_a_contract_without_a_date_gets_none(written_apart: Report, put_together: Report) -> None:
    without = [
        judged
        for report in (written_apart, put_together)
        for document in report.documents
        for judged in document.fields
        if judged.field == "agreement_date" and not judged.known
    ]
    assert len(without) >= 3
    assert [judged.value for judged in without if judged.answered] == []


def test_the_required_fields_are_as_sure_as_they_are_right(written_apart: Report, put_together: Report) -> None:
    required = ("parties", "agreement_date", "governing_law")
    pairs = [
        (judged.confidence, judged.right)
        for report in (written_apart, put_together)
        for document in report.documents
        for judged in document.fields
        if judged.answered and judged.field in required
    ]
    assert calibration_error(pairs) <= 0.1, "they are tidier than real ones, which it learned from"


@pytest.mark.parametrize("field", ["provider", "start_date", "term"])
def test_letters_of_suppliers_are_read_without_a_wrong_value(sent: Report, field: str) -> None:
    row = next(row for row in sent.fields if row.field == field)
    assert row.accuracy == 1
    assert row.coverage >= 0.9


def test_a_change_of_prices_and_two_rates_are_not_approved(sent: Report) -> None:
    without = [
        document
        for document in sent.documents
        if any(judged.field == "working_price" and not judged.known for judged in document.fields)
    ]
    assert len(without) == 10
    assert all(document.needs_review for document in without)


def test_two_prices_under_the_same_words_are_not_approved(supplied: Report) -> None:
    two = [
        document
        for document in supplied.documents
        if any(judged.field == "working_price" and not judged.known for judged in document.fields)
    ]
    assert two
    assert all(document.needs_review for document in two)


@pytest.mark.parametrize("vertical", ["commercial", "energy"])
def test_a_shipped_table_says_what_was_measured_with_it_and_on_what(vertical: str) -> None:
    table = shipped_table(vertical)
    assert table.calibrated
    # One file is there twice, with other labels.
    assert vertical == "energy" or table.documents - len(table.known_documents) == 1
    for name, figures in table.measured.items():
        assert figures["documents"] > 0, name
        at_80 = next(row for row in figures["thresholds"] if row["threshold"] == 80)
        assert at_80["precision"] >= at_80["stated"], name
