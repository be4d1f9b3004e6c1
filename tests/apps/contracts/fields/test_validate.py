"""Rules of type, of range and between fields, with problems in words."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest

from interlock.apps.contracts.fields.errors import BadVertical
from interlock.apps.contracts.fields.providers import parse_providers, shipped_providers
from interlock.apps.contracts.fields.validate import validate
from tests.apps.contracts.fields.texts import COMMERCIAL, ENERGY

TODAY = date(2026, 1, 15)
GOOD: dict[str, Any] = {"parties": ["alder", "birch"], "agreement_date": "2003-05-06", "governing_law": "New York"}
SUPPLY: dict[str, Any] = {"provider": "yello", "working_price": "0.32 EUR", "start_date": "2026-02-01"}


def codes(values: dict[str, Any], energy: bool = False) -> list[tuple[str, str]]:
    vertical = ENERGY if energy else COMMERCIAL
    providers = shipped_providers("energy") if energy else None
    return [(problem.field, problem.code) for problem in validate(vertical, values, today=TODAY, providers=providers)]


def test_good_values_have_no_problem() -> None:
    assert codes(GOOD) == []
    assert codes(SUPPLY, energy=True) == []


@pytest.mark.parametrize("name", GOOD)
def test_a_missing_required_field_is_reported(name: str) -> None:
    assert codes({**GOOD, name: None}) == [(name, "missing")]


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        ({"agreement_date": "soon"}, ("agreement_date", "type")),
        ({"agreement_date": "2003-XX-XX"}, ("agreement_date", "partial")),
        ({"agreement_date": "1820-01-01"}, ("agreement_date", "range")),
        ({"agreement_date": "2030-01-01"}, ("agreement_date", "range")),
        ({"parties": ["alder"]}, ("parties", "rule")),
        ({"parties": "alder"}, ("parties", "type")),
        ({"expiration_date": "2001-01-01"}, ("expiration_date", "rule")),
        ({"renewal_term": "long"}, ("renewal_term", "type")),
    ],
)
def test_a_broken_rule_is_reported(values: dict[str, Any], problem: tuple[str, str]) -> None:
    assert problem in codes({**GOOD, **values})


@pytest.mark.parametrize("end", ["perpetual", "2015-XX-XX", "2010-05-06"])
def test_an_end_may_be_open_or_have_blanks(end: str) -> None:
    assert codes({**GOOD, "expiration_date": end}) == []


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        ({"working_price": "5 EUR"}, ("working_price", "range")),
        ({"working_price": "0.9 EUR"}, ("working_price", "range")),  # the provider's own range
        ({"term": "P12M", "notice_period": "P12M"}, ("notice_period", "rule")),
        ({"term": "P12M", "end_date": "2029-01-31"}, ("end_date", "rule")),
        ({"end_date": "2025-01-31"}, ("end_date", "rule")),
        ({"base_price_month": "10 EUR", "base_price_year": "200 EUR"}, ("base_price_year", "rule")),
    ],
)
def test_a_broken_rule_of_an_energy_contract_is_reported(values: dict[str, Any], problem: tuple[str, str]) -> None:
    assert problem in codes({**SUPPLY, **values}, energy=True)


def test_values_that_fit_together_are_not_reported() -> None:
    fits = {"term": "P24M", "end_date": "2028-01-31", "base_price_month": "10 EUR", "base_price_year": "120 EUR"}
    assert codes({**SUPPLY, **fits, "notice_period": "P4W"}, energy=True) == []


def test_a_problem_names_the_field_the_value_and_the_rule() -> None:
    [problem] = validate(COMMERCIAL, {**GOOD, "expiration_date": "2001-01-01"}, today=TODAY)
    assert problem.message == "Expiration date 2001-01-01 is before Agreement date 2003-05-06"


def test_a_provider_is_known_by_each_of_its_names() -> None:
    providers = shipped_providers("energy")
    one, other = providers.by_alias("e.on"), providers.by_alias("E.ON Energie Deutschland GmbH")
    assert one is not None
    assert one == other
    assert providers.by_alias("Nobody") is None
    found = list(providers.find("Ihr Vertrag mit der Yello Strom GmbH und mit EnBW"))
    assert [name for name, _, _ in found] == ["Yello Strom GmbH", "EnBW Energie Baden-Württemberg AG"]


@pytest.mark.parametrize("text", ["x: 1", "providers: [{aliases: [a]}]", "providers: {", "providers: 3"])
def test_a_bad_list_of_providers_is_refused_by_name(text: str) -> None:
    with pytest.raises(BadVertical, match=r"p\.yaml"):
        parse_providers(text, "p.yaml")
