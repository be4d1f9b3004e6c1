"""Answers of the systems as they vary: a field is missing, has another form, or stands in another place."""

from __future__ import annotations

import copy
from datetime import UTC, datetime
from typing import Any

import pytest

from interlock.apps.jobs.finder.postings.posting import Posting
from interlock.apps.jobs.finder.sources import adapter_of
from interlock.apps.jobs.finder.sources.answer import Answer
from interlock.apps.jobs.finder.sources.vocabulary import employment_type, workplace
from tests.apps.jobs.finder.answers import LISTS, NOW, board, body

ROWS = {
    "greenhouse": ("jobs",),
    "lever": (),
    "ashby": ("jobs",),
    "workday": ("jobPostings",),
    "recruitee": ("offers",),
    "smartrecruiters": ("content",),
    "workable": ("jobs",),
    "bamboohr": ("result",),
}
"""Where the rows of a list are."""


def read(kind: str, **changes: Any) -> Posting:
    """The first posting of a list whose first row has other values. A value of `...` takes the field away."""
    document = copy.deepcopy(LISTS[kind])
    rows = document
    for name in ROWS[kind]:
        rows = rows[name]
    for name, value in changes.items():
        if value is ...:
            rows[0].pop(name, None)
        else:
            rows[0][name] = value
    return adapter_of(kind).parse(Answer(body(document)), board(kind), NOW).postings[0]


@pytest.mark.parametrize(
    ("kind", "changes", "model", "quote"),
    [
        (
            "lever",
            {"workplaceType": "unspecified", "categories": {"location": "Remote - US"}},
            "remote",
            "Remote - US",
        ),
        ("lever", {"workplaceType": ..., "categories": {"location": "Kiel (Hybrid)"}}, "hybrid", "Kiel (Hybrid)"),
        ("lever", {"workplaceType": ..., "categories": {"location": "Kiel"}}, "unknown", None),
        ("ashby", {"workplaceType": None, "isRemote": False, "location": "Distributed"}, "remote", "Distributed"),
        ("workday", {"remoteType": ..., "locationsText": "Remote, USA"}, "remote", "Remote, USA"),
        ("workday", {"remoteType": "Not Applicable", "locationsText": "Remote, USA"}, "remote", "Remote, USA"),
        ("greenhouse", {"location": {"name": "Distributed"}}, "remote", "Distributed"),
    ],
)
def test_a_place_says_how_somebody_works_where_no_field_does(
    kind: str, changes: dict[str, Any], model: str, quote: str | None
) -> None:
    found = read(kind, **changes)
    evidence = found.workplace_evidence
    assert (found.workplace, evidence.quote if evidence else None) == (model, quote)


@pytest.mark.parametrize(
    ("title", "model"),
    [
        ("Cook (Kiel/Hybrid)", "hybrid"),
        ("Cook - Remote", "remote"),
        ("Cook [Fully Remote], Nights", "remote"),
        ("Cook, On-site", "onsite"),
        ("Hybrid Cloud Cook", "unknown"),
        ("Cook, Remote Sensing", "unknown"),
        ("Cook for on-site catering", "unknown"),
        (None, "unknown"),
    ],
)
def test_a_title_says_it_where_it_stands_apart(title: str | None, model: str) -> None:
    found = read("lever", text=title, workplaceType="unspecified", categories={"location": "Kiel"})
    evidence = found.workplace_evidence
    assert (found.workplace, evidence.source if evidence else None) == (model, None if model == "unknown" else "title")


@pytest.mark.parametrize(
    ("name", "value", "kind", "model"),
    [
        ("Employment Type", "Part-time", "part_time", "unknown"),
        ("Job Type", ["Contract"], "contract", "unknown"),
        ("Time Type", "Regular", "unknown", "unknown"),
        ("Workplace Type", "Hybrid", "unknown", "hybrid"),
        ("Remote Work", ["Fully remote"], "unknown", "remote"),
        ("Remote Work", "Not eligible", "unknown", "unknown"),
        ("Remote Work", "Not eligible for remote work", "unknown", "onsite"),
        ("Remote eligible", True, "unknown", "unknown"),
        ("Team", "Remote", "unknown", "unknown"),
    ],
)
def test_greenhouses_fields_of_the_employer(name: str, value: object, kind: str, model: str) -> None:
    found = read("greenhouse", metadata=[{"id": 1, "name": name, "value": value}], location={"name": "Kiel"})
    assert (found.employment_type, found.workplace) == (kind, model)
    if model != "unknown":
        assert found.workplace_evidence is not None
        assert found.workplace_evidence.field == f"metadata.{name}"
    placed = read("greenhouse", metadata=[{"name": "Workplace", "value": "Remote"}], location={"name": "Hybrid - Kiel"})
    assert placed.workplace == "hybrid"


def test_levers_text_is_read_from_its_parts_and_from_plain_fields() -> None:
    parts = {"description": ..., "lists": [], "additional": ..., "additionalPlain": "Free soup.\nAnd rum."}
    found = read("lever", **parts, opening="<p>Aye.</p>", descriptionBody="<p>Stoke.</p>")
    assert found.description_text == "Aye.\n\nStoke.\n\nFree soup.\nAnd rum."
    alone = read("lever", **parts, opening=None, descriptionBody=None, descriptionPlain="Keep it hot & dry.")
    assert alone.description_text == "Keep it hot & dry.\n\nFree soup.\nAnd rum."


def test_ashbys_pay_is_in_the_tiers_where_the_summary_has_none() -> None:
    def tier(low: float | None, high: float | None, currency: str = "EUR", kind: str = "Salary") -> dict[str, Any]:
        part = {"compensationType": kind, "interval": "1 YEAR", "currencyCode": currency}
        return {"components": [{**part, "minValue": low, "maxValue": high}]}

    tiers = [tier(60000, 70000), tier(1, 2, kind="EquityPercentage"), tier(80000, 95000), tier(1, 2, currency="USD")]
    pay = read("ashby", compensation={"summaryComponents": [], "compensationTiers": tiers}).salary
    assert (pay.min, pay.max, pay.currency, pay.period) == (60000, 95000, "EUR", "year")
    unpaid = tier(None, None)["components"]
    pay = read("ashby", compensation={"summaryComponents": unpaid, "compensationTiers": tiers}).salary
    assert pay.max == 95000


@pytest.mark.parametrize(
    ("interval", "period"),
    [("1 HOUR", "hour"), ("1 MONTH", "month"), ("2 WEEK", None), ("NONE", None), (None, None), ("yearly", "year")],
)
def test_ashbys_intervals(interval: str | None, period: str | None) -> None:
    pay = {"compensationType": "Salary", "interval": interval, "currencyCode": "EUR", "minValue": "50,000"}
    found = read("ashby", compensation={"summaryComponents": [pay]}).salary
    assert (found.min, found.max, found.period) == (50000, None, period)


def test_workdays_requisition_is_the_bullet_that_the_address_ends_in() -> None:
    assert read("workday", bulletFields=["3 openings", "R-1001"]).requisition_id == "R-1001"
    assert read("workday", bulletFields=["Deck", "R-7"]).requisition_id == "R-7"
    assert read("workday", bulletFields=["Deck"]).requisition_id is None


@pytest.mark.parametrize("kind", ["workable", "recruitee"])
def test_the_day_of_creation_is_an_approximate_date(kind: str) -> None:
    gone = {"published_on": ..., "published_at": None}
    found = read(kind, **gone, created_at="2026-07-02")
    assert (found.posted_at, found.posted_precision) == (datetime(2026, 7, 2, tzinfo=UTC), "approximate")
    if kind == "recruitee":  # the other row of Workable's posting has its date
        assert read(kind, **gone, created_at=None).posted_precision == "unknown"


def test_recruitees_texts_may_be_in_a_translation_and_its_pay_has_separators() -> None:
    spoken = {"de": {"title": "Lotse"}, "en": {"title": "Pilot", "description": "<p>Steer.</p>"}}
    found = read("recruitee", title=None, description=None, requirements=None, translations=spoken)
    assert (found.title, found.description_text, found.language) == ("Pilot", "Steer.", None)
    pay = read("recruitee", salary={"min": "60.000", "max": "75 000,50", "period": "year", "currency": "eur"}).salary
    assert (pay.min, pay.max, pay.currency) == (60000, 75000.5, "EUR")


def test_bamboohrs_second_place_and_second_kind_stand_in() -> None:
    elsewhere = {"city": "Tampa", "state": None, "province": "Florida", "country": "United States"}
    found = read(
        "bamboohr", location={"city": "Tampa", "state": None}, atsLocation=elsewhere, employmentStatusLabel=None
    )
    assert [(one.city, one.region, one.country) for one in found.locations] == [("Tampa", "Florida", "US")]
    other = read("bamboohr", location={"city": "Miami", "state": None}, atsLocation=elsewhere)
    assert [(one.city, one.region) for one in other.locations] == [("Miami", None)]
    assert read("bamboohr", employmentStatusLabel=None, employmentType="Part-Time").employment_type == "part_time"


def test_smartrecruiters_choices_have_an_id_where_the_label_is_missing() -> None:
    found = read("smartrecruiters", typeOfEmployment={"id": "part-time"}, experienceLevel={"id": "entry_level"})
    assert (found.employment_type, found.seniority) == ("part_time", "entry")
    assert read("smartrecruiters", visibility="public").title == "Purser"


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        ("full-or-part-time", "unknown"),
        ("Full-time / Part-time", "unknown"),
        ("Vollzeit oder Teilzeit", "unknown"),
        ("Part-time, fully remote", "part_time"),
        ("fulltime_fixed_term", "full_time"),
        ("Internship (part-time)", "internship"),
    ],
)
def test_work_for_full_or_part_time_is_neither(words: str, kind: str) -> None:
    assert employment_type(words) == kind


@pytest.mark.parametrize(
    ("words", "model"), [("Virtual", "remote"), ("Worldwide", "remote"), ("Redistributed", "unknown")]
)
def test_words_for_remote_work(words: str, model: str) -> None:
    assert workplace(words) == model


@pytest.mark.parametrize(
    ("name", "per"), [("Annual Salary Range", "year"), ("Hourly Pay", "hour"), ("Salary Range", None), ("Team", None)]
)
def test_greenhouse_pay_in_a_field_of_the_employers_own(name: str, per: str | None) -> None:
    value = {"min_value": "90000.0", "max_value": "120000.0", "unit": "USD"}
    pay = read("greenhouse", metadata=[{"id": 1, "name": name, "value": value, "value_type": "currency_range"}]).salary
    assert (pay.min, pay.max, pay.currency, pay.period) == ((90000, 120000, "USD", per) if per else (None,) * 4)
