"""Energy offers by their yearly cost, and when one can switch."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.apps.contracts.comparison import (
    BadTemplate,
    NotComparable,
    compare_offers,
    current_from_fields,
    load,
    load_offers,
    shipped_offers,
)
from interlock.apps.contracts.comparison.offers import CurrentContract, Offer, OfferFile
from interlock.apps.contracts.comparison.result import Amount
from interlock.apps.contracts.comparison.switching import Period, Running, switch_date

TODAY = date(2026, 6, 1)
NOW = Offer(name="now", base_price=Decimal(10), kwh_price=Decimal("0.30"), price_guarantee_months=12, term_months=12)
MONTH = Period(count=1, unit="month")


def exactly(text: str) -> Amount:
    return Amount(low=Decimal(text), high=Decimal(text))


def offer(**values: object) -> Offer:
    plain = {"name": "new", "base_price": "8", "kwh_price": "0.25", "price_guarantee_months": 24, "term_months": 12}
    return Offer.model_validate({**plain, **values})


def costs(*offers: Offer, use: str | None = "3000"):  # type: ignore[no-untyped-def]
    current = CurrentContract(tariff=NOW, consumption=Decimal(use) if use else None)
    comparison = compare_offers(current, OfferFile(offers=list(offers)), TODAY)
    return comparison, {cost.name: cost for cost in comparison.offers}


def test_a_year_costs_twelve_base_prices_and_the_energy() -> None:
    _, found = costs(offer())
    assert found["now"].yearly == exactly("1020.00")
    assert found["new"].yearly == exactly("846.00")


def test_a_base_price_can_be_per_year() -> None:
    assert costs(offer(base_price="96", base_price_per="year"))[1]["new"].yearly == exactly("846.00")


def test_a_bonus_counts_in_the_first_year_and_is_spread_over_the_term() -> None:
    found = costs(offer(bonus="100", term_months=24))[1]["new"]
    assert (found.first_year, found.average) == (exactly("746.00"), exactly("796.00"))


def test_a_bonus_for_a_short_term_is_not_counted_more_than_once_a_year() -> None:
    assert costs(offer(bonus="100", term_months=1))[1]["new"].average == exactly("746.00")


def test_after_the_guarantee_the_price_is_a_range() -> None:
    found = costs(offer(price_guarantee_months=6))[1]["new"]
    assert found.first_year == Amount(low=Decimal("846.00"), high=Decimal("883.50"))


def test_the_cheapest_is_first_and_says_what_it_saves() -> None:
    comparison, found = costs(offer(), offer(name="dear", kwh_price="0.5"))
    assert [cost.name for cost in comparison.offers] == ["new", "now", "dear"]
    assert found["new"].saving == exactly("174.00")
    assert found["dear"].saving == exactly("-576.00")
    assert found["new"].verdict == "new: 846.00 EUR a year on average, about 174.00 less than now."


def test_an_unknown_price_is_a_range_and_is_said() -> None:
    found = costs(offer(kwh_price=None))[1]["new"]
    assert found.yearly == Amount(low=Decimal("846.00"), high=Decimal("1446.00"))
    assert found.notes == ["Price of a kWh not stated: 0.25 to 0.45 assumed."]


def test_ranges_that_overlap_make_the_rank_unsure() -> None:
    found = costs(offer(kwh_price=None))[1]
    assert (found["new"].certain, found["now"].certain) == (False, False)
    assert costs(offer())[1]["new"].certain


def test_an_unknown_consumption_is_a_range_and_is_said() -> None:
    comparison, found = costs(offer(), use=None)
    assert found["new"].yearly == Amount(low=Decimal("471.00"), high=Decimal("1096.00"))
    assert comparison.notes[0] == "The consumption is not known: 1500 to 4000 kWh a year were assumed."


def test_no_cheaper_offer_is_said() -> None:
    assert costs(offer(kwh_price="0.9"))[0].summary.verdict.startswith("No offer is cheaper than the present contract.")


@given(
    st.decimals(0, 100, places=2),
    st.decimals(0, 1, places=4),
    st.decimals(1, 100_000, places=0),
    st.integers(0, 36),
    st.integers(1, 36),
)
def test_a_range_never_ends_before_it_starts(
    base: Decimal, price: Decimal, use: Decimal, guarantee: int, term: int
) -> None:
    one = offer(base_price=base, kwh_price=price, price_guarantee_months=guarantee, term_months=term)
    for cost in costs(one, use=str(use))[0].offers:
        for amount in (cost.yearly, cost.first_year, cost.average):
            assert amount.low <= amount.high


def test_prices_in_a_file_stay_exact() -> None:
    text = "offers: [{name: a, base_price: 0.1, kwh_price: 0.2999}]"
    assert load_offers(text).offers[0].kwh_price == Decimal("0.2999")


def test_the_shipped_offers_can_be_read_and_the_result_comes_back_the_same() -> None:
    comparison = compare_offers(CurrentContract(tariff=NOW), shipped_offers(), TODAY)
    assert load(comparison.model_dump_json()) == comparison


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("offers: []", "offers"),
        ("offers: [{name: a, kwh_price: -1}]", "offers.0.kwh_price"),
        ("offers: [{name: a}, {name: a}]", "two offers are named 'a'"),
        ("offers: [", "is not YAML"),
    ],
)
def test_a_file_of_offers_that_is_wrong_says_where(text: str, said: str) -> None:
    with pytest.raises(BadTemplate, match=said):
        load_offers(text, "mine.yaml")


def test_the_present_contract_comes_from_its_fields() -> None:
    current = current_from_fields(
        {
            "tariff": {"value": "Strom 12"},
            "working_price": {"value": "34,5 ct/kWh", "normalised": "0.345 EUR"},
            "base_price_month": {"value": "12,00 EUR", "normalised": "12.00 EUR"},
            "consumption": {"value": "3.500 kWh", "normalised": "3500"},
            "end_date": {"value": "31.12.2026", "normalised": "2026-12-31"},
            "notice_period": {"value": "1 Monat", "normalised": "P1M"},
            "term": {"value": "12 Monate", "normalised": "P12M"},
        }
    )
    assert (current.tariff.kwh_price, current.tariff.base_price, current.consumption) == (
        Decimal("0.345"),
        Decimal("12.00"),
        Decimal(3500),
    )
    assert current.running == Running(
        end=date(2026, 12, 31), notice=MONTH, term=Period(count=12, unit="month"), renewal=None
    )


def test_a_price_that_can_only_be_in_cents_is_taken_so() -> None:
    assert current_from_fields({"kwh_price": {"value": "34.5"}}).tariff.kwh_price == Decimal("0.345")


def test_a_value_that_cannot_be_is_refused_with_its_name() -> None:
    with pytest.raises(NotComparable, match="consumption"):
        current_from_fields({"consumption": {"value": "-5"}})


def test_a_contract_ends_at_its_end_if_notice_is_in_time() -> None:
    found = switch_date(Running(end=date(2026, 12, 31), notice=MONTH), TODAY)
    assert (found.earliest, found.notice_by, found.rolled_over) == (date(2026, 12, 31), date(2026, 11, 30), False)


def test_the_last_day_for_notice_is_still_in_time() -> None:
    running = Running(end=date(2026, 7, 1), notice=MONTH)
    assert not switch_date(running, TODAY).rolled_over
    assert switch_date(running, date(2026, 6, 2)).rolled_over


def test_a_contract_not_ended_in_time_is_renewed() -> None:
    running = Running(end=date(2026, 6, 15), notice=MONTH, renewal=Period(count=1, unit="year"))
    found = switch_date(running, TODAY)
    assert (found.earliest, found.notice_by, found.rolled_over) == (date(2027, 6, 15), date(2027, 5, 15), True)


def test_many_renewals_are_counted_from_the_first_end() -> None:
    running = Running(end=date(2026, 1, 31), notice=Period(count=1, unit="day"), renewal=MONTH)
    assert switch_date(running, date(2026, 3, 1)).earliest == date(2026, 3, 31)


def test_without_a_word_on_renewal_the_date_is_a_range() -> None:
    found = switch_date(Running(end=date(2026, 6, 15), notice=MONTH), TODAY)
    assert (found.earliest, found.latest) == (date(2026, 7, 1), date(2027, 6, 15))


def test_a_contract_that_runs_on_ends_after_the_notice() -> None:
    found = switch_date(Running(end=date(2026, 6, 15), notice=MONTH, open_ended=True), TODAY)
    assert (found.earliest, found.latest) == (date(2026, 7, 1), date(2026, 7, 1))


def test_the_end_comes_from_start_and_term() -> None:
    running = Running(start=date(2025, 9, 1), term=Period(count=12, unit="month"), notice=MONTH)
    assert switch_date(running, TODAY).earliest == date(2026, 8, 31)


def test_an_unknown_end_gives_no_date() -> None:
    assert switch_date(Running(), TODAY).earliest is None


def test_a_notice_as_long_as_the_renewal_does_not_go_on_for_ever() -> None:
    running = Running(end=date(2026, 1, 1), notice=Period(count=10, unit="year"), renewal=Period(count=1, unit="day"))
    assert switch_date(running, TODAY).earliest == date(2036, 6, 1)


@pytest.mark.parametrize(
    ("text", "period"),
    [
        ("P3M", "3 months"),
        ("3 Monate", "3 months"),
        ("sixty (60) days", "60 days"),
        ("1 year", "1 year"),
        (6, "6 months"),
    ],
)
def test_periods_are_read_as_contracts_write_them(text: object, period: str) -> None:
    assert str(Period.read(text)) == period


def test_what_is_no_period_is_none() -> None:
    assert [Period.read(value) for value in ("soon", None, True, "")] == [None] * 4
