"""Values have one form, whatever shape they are written in."""

from __future__ import annotations

from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.apps.contracts.fields.normalise import derive, normalise
from interlock.apps.contracts.fields.normalise.dates import add_months, find_dates, parse_date, parse_label_date
from interlock.apps.contracts.fields.normalise.law import parse_law
from interlock.apps.contracts.fields.normalise.names import name_key
from interlock.apps.contracts.fields.normalise.numbers import parse_duration, parse_money, parse_number


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("May 6, 2003", "2003-05-06"),
        ("the 5th day of May, 2003", "2003-05-05"),
        ("31 day of July, 2000", "2000-07-31"),
        ("October 1,1996", "1996-10-01"),
        ("15 April, 2009", "2009-04-15"),
        ("31st of December, 2004", "2004-12-31"),
        ("Sept. 3, 1999", "1999-09-03"),
        ("first day of January, 1999", "1999-01-01"),
        ("twenty-first day of May, nineteen hundred and ninety-nine", "1999-05-21"),
        ("sixth (6th) day of June in the year Two Thousand and Five", "2005-06-06"),
        ("S eptember 4, 1998", "1998-09-04"),
        ("20t h day of November, 2018", "2018-11-20"),
        ("December 21st , 20 15", "2015-12-21"),
        ("7/18/11", "2011-07-18"),
        ("12/31/1999", "1999-12-31"),
        ("2003-05-06", "2003-05-06"),
        ("01.02.2026", "2026-02-01"),
        ("1. Februar 2026", "2026-02-01"),
        ("3. März 2025", "2025-03-03"),
        ("1 February 2026", "2026-02-01"),
        ("this ___ day of _________, 2004", "2004-XX-XX"),
        ("____________, 2015", "2015-XX-XX"),
        ("[***], 2015", "2015-XX-XX"),
        ("July __, 2000", "2000-07-XX"),
        ("____ day of May, 2000", "2000-05-XX"),
        ("[ ] day of March 2007", "2007-03-XX"),
        ("this 1st day of June, 20__", "XXXX-06-01"),
        ("May 2003", "2003-05-XX"),
        ("perpetual", "perpetual"),
        ("no date at all", None),
        ("February 30, 2001", None),
    ],
)
def test_dates_have_one_form(text: str, value: str | None) -> None:
    assert parse_date(text) == value


@given(st.dates(date(1960, 1, 1), date(2059, 12, 31)))
def test_a_date_is_read_back_from_every_shape(day: date) -> None:
    words = [f"{day:%B} {day.day}, {day.year}", f"{day.day} {day:%B} {day.year}"]
    words.append(f"the {day.day}th day of {day:%B}, {day.year}")
    numbers = [f"{day:%m/%d/%Y}", f"{day:%m/%d/%y}", f"{day.isoformat()}", f"{day:%d.%m.%Y}"]
    for shape in words + numbers:
        assert parse_date(f"made as of {shape} by and between") == day.isoformat()


@given(st.text(alphabet="0123456789/-_. ,JanuaryMyth'[]*", max_size=80))
def test_whatever_is_found_is_a_day_of_the_calendar(text: str) -> None:
    for found in find_dates(text):
        year, month, day = found.value.split("-")
        assert month == "XX" or 1 <= int(month) <= 12
        if "X" not in found.value:
            date.fromisoformat(found.value)
        assert len(year) == 4
        assert len(day) == 2


@pytest.mark.parametrize(
    ("answer", "value"),
    [
        ("5/6/03", "2003-05-06"),
        ("[]/[]/2015", "2015-XX-XX"),
        ("05/[]/2000", "2000-05-XX"),
        ("Perpetual", "perpetual"),
        ("", None),
    ],
)
def test_answers_of_labels_are_read_with_their_blanks(answer: str, value: str | None) -> None:
    assert parse_label_date(answer) == value


@given(st.dates(date(1970, 1, 1), date(2050, 1, 1)), st.integers(0, 600))
def test_months_are_added_within_the_calendar(day: date, months: int) -> None:
    later = add_months(day, months)
    assert (later.year * 12 + later.month) - (day.year * 12 + day.month) == months
    assert later.day == day.day or (later + timedelta(days=1)).day == 1


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1.234,56 €", "1234.56 EUR"),
        ("1,234.56 €", "1234.56 EUR"),
        ("€ 1.234", "1234 EUR"),
        ("$1,234.56", "1234.56 USD"),
        ("US$ 1,000,000", "1000000 USD"),
        ("$5 million", "5000000 USD"),
        ("28,50 ct", "0.285 EUR"),
        ("EUR 12,50", "12.5 EUR"),
        ("nothing", None),
    ],
)
def test_money_is_read_in_english_and_german(text: str, value: str | None) -> None:
    assert parse_money(text) == value


@pytest.mark.parametrize(
    ("text", "value"), [("1.234,56", "1234.56"), ("1,234.56", "1234.56"), ("0,321", "0.321"), ("3 500", "3500")]
)
def test_numbers_are_read_in_english_and_german(text: str, value: str) -> None:
    assert str(parse_number(text)) == value


def test_a_german_thousand_is_no_fraction() -> None:
    assert normalise("number", "3.500", "de") == "3500"
    assert normalise("number", "3.500", "en") == "3.5"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("two (2) years", "P2Y"),
        ("twenty-four (24) months", "P24M"),
        ("one-year", "P1Y"),
        ("ninety (90) days", "P90D"),
        ("one hundred twenty (120) days", "P120D"),
        ("six months", "P6M"),
        ("3 Monate", "P3M"),
        ("zwei Jahre", "P2Y"),
        ("six weeks", "P6W"),
        ("no length", None),
    ],
)
def test_durations_have_one_form(text: str, value: str | None) -> None:
    assert parse_duration(text) == value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("Province of Ontario, Canada", "Ontario"),
        ("the S tate of N ew York", "New York"),
        ("Commonwealth of Pennsylvania", "Pennsylvania"),
        ("SIATE OF TEXAS", "Texas"),
        ("England", "England and Wales"),
        ("People's Republic of China", "China"),
        ("New York; California", "California; New York"),
        ("Indiana", "Indiana"),
        ("West Virginia", "West Virginia"),
        ("English law", "England and Wales"),
        ("Washington, D.C.", "District of Columbia"),
        ("no place", None),
    ],
)
def test_jurisdictions_have_one_name(text: str, value: str | None) -> None:
    assert parse_law(text) == value


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("ALDER PUMPS, INC.", "Alder Pumps Inc"),
        ("Foo, L.L.C.", "Foo LLC"),
        ("Bar S.A.S.", "Bar S.A.S"),
        ("The Baz Company", "Baz Co."),
        ("A & B Limited", "A and B Ltd."),
    ],
)
def test_spellings_of_one_name_are_the_same(one: str, other: str) -> None:
    assert name_key(one) == name_key(other)


def test_different_names_stay_different() -> None:
    assert name_key("Alder Pumps, Inc.") != name_key("Alder Pipes, Inc.")


@pytest.mark.parametrize(
    ("kind", "value", "quote", "derives"),
    [
        ("date", "2003-05-06", "made as of May 6,\n2003 by", True),
        ("date", "2003-05-07", "made as of May 6, 2003 by", False),
        ("law", "New York", "the laws of the State of\nNew York", True),
        ("law", "Texas", "the laws of the State of New York", False),
        ("money", "1234.56 EUR", "Preis: 1.234,56 €", True),
        ("duration", "P2Y", "for two (2) years", True),
        ("duration", "P3Y", "for two (2) years", False),
        ("parties", ["alderpumps", "birchmarine"], "ALDER\nPUMPS, INC. and BIRCH MARINE LLC", True),
        ("parties", ["alderpumps", "cedar"], "ALDER PUMPS, INC. and BIRCH MARINE LLC", False),
        ("date", "2003-05-06", "", False),
    ],
)
def test_a_value_is_derived_from_its_quote_alone_or_not(kind: str, value: object, quote: str, derives: bool) -> None:
    assert derive(kind, value, quote) is derives


@pytest.mark.parametrize("kind", ["date", "money", "duration", "law", "number", "clause"])
def test_what_is_not_of_the_type_has_no_value(kind: str) -> None:
    assert normalise(kind, "gibberish") is None
