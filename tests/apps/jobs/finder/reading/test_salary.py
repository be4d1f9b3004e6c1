"""Pay is found among the amounts of a posting, with its currency and period."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interlock.apps.jobs.finder.reading import Source, read
from interlock.apps.jobs.finder.reading.money import amounts, number


@pytest.mark.parametrize(
    ("text", "low", "high", "currency", "period"),
    [
        ("Salary: $120,000 - $150,000 per year", 120_000, 150_000, "USD", "year"),
        ("Minimum Salary\n$ 103,000\nMaximum Salary\n$ 155,000", 103_000, 155_000, "USD", "year"),
        ("Compensation Min: 120000 Max: 160000", 120_000, 160_000, None, "year"),
        ("Hourly Rate\n$45", 45, 45, "USD", "hour"),
        ("Contract rate: €450/day", 450, 450, "EUR", "day"),
        ("£600 p/d outside IR35", 600, 600, "GBP", "day"),
        ("Salary: RM 8,000 - RM 10,000 per month", 8_000, 10_000, "MYR", "month"),
        ("Salary: ₱80,000 - ₱120,000/month", 80_000, 120_000, "PHP", "month"),
        ("Salary: KRW 60,000,000 - 80,000,000", 60_000_000, 80_000_000, "KRW", "year"),
        ("Sueldo: 2.500 a 3.500 EUR brutos al mes", 2_500, 3_500, "EUR", "month"),
        ("Pay $90,000 - $100,000. There is a $5,000 - $10,000 referral bonus.", 90_000, 100_000, "USD", "year"),
        ("Bonus: $10,000 to $20,000. Salary: $90,000 - $100,000", 90_000, 100_000, "USD", "year"),
        ("Base salary of $140K with bonus to $170K", 140_000, 140_000, "USD", "year"),
        ("We use PHP 8 or 9. Salary: $90,000", 90_000, 90_000, "USD", "year"),
        ("The base salary range is $120K\u2013$150K.", 120_000, 150_000, "USD", "year"),
        ("Compensation: 120-150k USD", 120_000, 150_000, "USD", "year"),
        ("Pay range $159,000 to $211,666.67 USD", 159_000, 211_666.67, "USD", "year"),
        ("Pay: $55.50 - $70/hour", 55.5, 70, "USD", "hour"),
        ("The day rate is £450 to £500.", 450, 500, "GBP", "day"),
        ("Salary €4.200 \u2013 €5.100 per month", 4_200, 5_100, "EUR", "month"),
        ("Gehalt: 65.000 - 80.000 EUR brutto im Jahr", 65_000, 80_000, "EUR", "year"),
        ("Salaire : 45 000 € à 55 000 € par an", 45_000, 55_000, "EUR", "year"),
        ("Lohn CHF 110'000 bis CHF 130'000 pro Jahr", 110_000, 130_000, "CHF", "year"),
        ("Pay: $48/hour plus a housing stipend of $3,000.", 48, 48, "USD", "hour"),
        ("B2B pay: 20 000 - 26 000 PLN net + VAT / month", 20_000, 26_000, "PLN", "month"),
        ("A contract, paid in USD, $3,500 - $4,500/month", 3_500, 4_500, "USD", "month"),
        ("Package: AUD 190,000 + super", 190_000, 190_000, "AUD", "year"),
        ("Pay: ¥7,000,000 - ¥10,000,000 per year", 7_000_000, 10_000_000, "JPY", "year"),
        ("Salary: CAD $90,000 - $120,000", 90_000, 120_000, "CAD", "year"),
        ("Salary: $90,000 - $120,000 CAD", 90_000, 120_000, "CAD", "year"),
        ("CTC: 25 - 40 LPA", 2_500_000, 4_000_000, "INR", "year"),
        ("Base pay ranges: Zone 1$162,000-$219,000 USDZone 2$144,000-$195,000 USD", 144_000, 219_000, "USD", "year"),
        ("Salary up to $150,000 a year", None, 150_000, "USD", "year"),
        ("Salary from $100,000 a year", 100_000, None, "USD", "year"),
        ("Up to $200k base plus bonus", None, 200_000, "USD", "year"),
        ("Minimum salary: $98,300.00 Maximum salary: $176,900.00", 98_300, 176_900, "USD", "year"),
        ("$62.50/hr to $75.00/hr", 62.5, 75, "USD", "hour"),
        ("R$ 10.000 a R$ 15.000 por m\u00eas", 10_000, 15_000, "BRL", "month"),
        ("You will earn $30 per hour.", 30, 30, "USD", "hour"),
        ("You work for 300 customers. The salary is $150,000 a year.", 150_000, 150_000, "USD", "year"),
        (
            "The range is $180,000 - $220,000 in Boston, and $150,000 - $190,000 elsewhere.",
            150_000,
            220_000,
            "USD",
            "year",
        ),
        ("Salary: R$ 8 mil a R$ 11 mil por m\u00eas", 8_000, 11_000, "BRL", "month"),
        ("Base $150,000 - 250,000k", 150_000, 250_000, "USD", "year"),
        ("The salary is 110,000 - 200,000/year SGD.", 110_000, 200_000, "SGD", "year"),
        ("Salary (USD): 120,000 - 150,000", 120_000, 150_000, "USD", "year"),
        ("Salary: AU$150k - AU$170k + super", 150_000, 170_000, "AUD", "year"),
        ("$90-120K DOE", 90_000, 120_000, "USD", "year"),
        ("Salary: 18 000 - 24 000 z\u0142 per month", 18_000, 24_000, "PLN", "month"),
        ("Salary: 18-22 lakhs per annum", 1_800_000, 2_200_000, "INR", "year"),
        ("L\u00f6n: 45 000 - 55 000 SEK per m\u00e5nad", 45_000, 55_000, "SEK", "month"),
        ("Wynagrodzenie: 18 000 - 24 000 PLN brutto / mies", 18_000, 24_000, "PLN", "month"),
        ("Zone A: $200,000-$250,000; Zone B: $180,000-$225,000 Salary zones", 180_000, 250_000, "USD", "year"),
        ("Total compensation: $250,000 - $320,000; base $180,000 - $220,000.", 180_000, 220_000, "USD", "year"),
        (
            "The expected base pay is $170,500/year in our lowest geographic market up to $245,000/year in our highest "
            "geographic market.",
            170_500,
            245_000,
            "USD",
            "year",
        ),
        ("Base salary $100,000 - $120,000, OTE $180,000 - $200,000", 100_000, 120_000, "USD", "year"),
        (
            "To comply with the pay transparency act: the annual salary is $90,000-$99,000.",
            90_000,
            99_000,
            "USD",
            "year",
        ),
    ],
)
def test_pay(text: str, low: float | None, high: float | None, currency: str, period: str) -> None:
    salary = read(Source("Engineer", text)).salary
    assert salary is not None
    assert (salary.low, salary.high, salary.currency, salary.period) == (low, high, currency, period)
    assert salary.quote in text.replace("\u2013", "-")


@pytest.mark.parametrize(
    "text",
    [
        "We raised $40 million from investors.",
        "Our revenue is $100,000,000 a year.",
        "A $1,500 home office stipend and $200 per month for internet.",
        "A learning budget of $2,000 per year.",
        "We offer a 401k with a 4% match.",
        "A sign-on bonus of $10,000.",
        "A relocation bonus of $10,000 - $15,000 beside your salary.",
        "Accounts of $120,000-$150,000 in annual revenue.",
        "Our products start at $10,000 per year.",
        "You know PHP 7, PHP 8 and some PHP 5.6 - 7.4.",
        "Referral bonus: $5,000",
        "We serve 20,000 - 30,000 customers.",
        "Our customers save $10,000 - $50,000 a year.",
        "The budget you manage is $100,000 - $500,000.",
        "Once a bug wasted $20K in AWS costs.",
        "Life insurance of $50,000 per employee.",
        "Teams of 10-15 people, 40 hours per week.",
        "Founded in 2015 - 2016, now in 30 countries.",
        "Up to $1,500 USD/ $2,025 CAD towards IT set up for your home",
        "A weekly lunch stipend of $75/\u00a375 or equivalent in your local currency for lunch.",
        "Funding for compute (~$15k/month) and other research expenses",
        "You close deals for public sector accounts of $500K to $5M+.",
        "Pay: $2,500 bi-weekly",
    ],
)
def test_other_amounts_are_no_pay(text: str) -> None:
    assert read(Source("Engineer", text)).salary is None


def test_the_board_goes_before_the_text() -> None:
    reading = read(Source("Engineer", "Salary: $1,000 - $2,000 per month", salary="USD 90000-110000"))
    assert reading.salary is not None
    assert (reading["salaryMin"], reading["salaryMax"], reading.salary.origin) == (90_000, 110_000, "board")


def test_a_title_may_state_pay() -> None:
    reading = read(Source("[Job 27963] Senior Engineer ($120k - $150k), 2 openings"))
    assert (reading["salaryMin"], reading["salaryMax"]) == (120_000, 150_000)
    assert read(Source("[Job 27963] Senior Engineer, Team of 5")).salary is None


def test_a_year_is_counted_only_from_a_stated_period() -> None:
    hourly = read(Source("Engineer", "Pay: $50 - $60 per hour"))
    assert (hourly["salaryMin"], hourly["salaryMax"]) == (104_000, 124_800)
    silent = read(Source("Engineer", salary="EUR 4000 - 5000"))
    assert silent.salary is not None
    assert (silent.salary.period, silent["salaryMin"]) == (None, None)


@pytest.mark.parametrize(
    ("digits", "value"),
    [
        ("120,000", 120_000),
        ("120.000", 120_000),
        ("1.234,56", 1234.56),
        ("1,234.56", 1234.56),
        ("45.5", 45.5),
        ("60 000", 60_000),
        ("110'000", 110_000),
        ("1,234,567", 1_234_567),
    ],
)
def test_numbers_of_several_locales(digits: str, value: float) -> None:
    assert number(digits) == value


def test_a_remote_job_states_no_period() -> None:
    """ "ote" are on-target earnings of a year, and the end of "remote"."""
    found = read(Source("Engineer", "Remote: $4,000 - $5,000 net")).salary
    assert found is None


def test_amounts_of_millions_are_left_out() -> None:
    assert amounts("$5m, $3 billion, $2 trillion and 4mm") == []


@pytest.mark.parametrize(
    "text",
    [
        "Salary: $120,000 - $150,000",
        "Salary: $120,000\u2014$150,000 USD",
        "Salary: $120,000.00 to $150,000.00",
        "Base pay is between $120k and $150k",
        "Salary: $120-150K",
        "Salary: US$120,000 \u2013 US$150,000 per annum",
        "Salary: USD 120,000 - 150,000 annually",
        "Salary: 120,000-150,000 USD/year",
        "Salary: 120.000 - 150.000 USD",
        "Salary: 120 000 \u2013 150 000 $ a year",
        "Minimum salary: $120,000\nMaximum salary: $150,000",
        "Pay: $120,000.00/Yr. - $150,000.00/Yr.",
        "Pay range\n$120,000&mdash;$150,000 USD",
        "<p>Salary:&nbsp;<b>$120,000</b>&nbsp;&ndash;&nbsp;<b>$150,000</b></p>",
        "Compensation: $10,000 - $12,500 per month",
    ],
)
def test_one_salary_in_many_writings(text: str) -> None:
    salary = read(Source("Engineer", text)).salary
    assert salary is not None
    assert (salary.annual(), salary.currency) == ((120_000, 150_000), "USD")


@given(
    st.integers(20, 400),
    st.integers(1, 90),
    st.sampled_from(
        [("$", "USD"), ("\u20ac", "EUR"), ("\u00a3", "GBP"), ("CA$", "CAD"), ("A$", "AUD"), ("CHF ", "CHF")]
    ),
    st.sampled_from([" - ", "\u2013", " to ", " \u2014 "]),
    st.sampled_from(["{:,}", "{k}k", "{:,}.00"]),
    st.sampled_from(["", " per year", "/yr", " annually", " p.a."]),
)
@settings(max_examples=60, deadline=None)
def test_every_range_is_read_as_written(
    thousands: int, wider: int, money: tuple[str, str], join: str, form: str, period: str
) -> None:
    low, high = thousands * 1000, (thousands + wider) * 1000
    first, second = (money[0] + form.replace("{k}", str(one // 1000)).format(one) for one in (low, high))
    salary = read(Source("Engineer", f"About us\nThe salary is {first}{join}{second}{period}.\nApply now.")).salary
    if high > 6 * low:
        return
    assert salary is not None
    assert (salary.annual(), salary.currency) == ((low, high), money[1])
