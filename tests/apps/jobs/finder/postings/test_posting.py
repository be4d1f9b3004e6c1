"""The canonical posting: unknown is a value, and what is derived follows from what was read."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from interlock.apps.jobs.finder.postings.posting import (
    Evidence,
    Extraction,
    Location,
    Method,
    Posting,
    Salary,
    Workplace,
)

READ = Extraction(method=Method.API, adapter_version="1")


def posting(**fields: object) -> Posting:
    return Posting.model_validate({"ats": "lever", "extraction": READ, **fields})


def test_what_is_not_given_is_unknown_and_neither_empty_nor_zero() -> None:
    shown = posting().model_dump(mode="json")
    assert (
        shown["workplace"] == shown["employment_type"] == shown["seniority"] == shown["posted_precision"] == "unknown"
    )
    assert shown["salary"] == dict.fromkeys(("min", "max", "currency", "period", "quote")) | {"source": "none"}
    assert [name for name, value in shown.items() if value in ("", 0)] == []
    for name in ("title", "title_key", "company_key", "group_key", "annual_min", "workplace_evidence", "url_key"):
        assert shown[name] is None, name


def test_a_posting_survives_json() -> None:
    whole = posting(
        title="Cook",
        company_name_raw="Nordlicht GmbH",
        locations=[Location(raw="Kiel", city="Kiel", country="DE")],
        workplace="onsite",
        evidence={"workplace": Evidence(source="board", field="workplaceType", quote="on-site")},
        salary=Salary(min=18, currency="EUR", period="hour", source="board"),
    )
    assert Posting.model_validate_json(whole.model_dump_json()) == whole
    assert whole.workplace is Workplace.ONSITE
    assert whole.workplace_evidence == Evidence(source="board", field="workplaceType", quote="on-site")


def test_a_posting_cannot_be_changed() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        posting().title = "Cook"  # type: ignore[misc]


@pytest.mark.parametrize(
    ("period", "annual"), [("hour", 41600), ("day", 5200), ("week", 1040), ("month", 240), ("year", 20), (None, None)]
)
def test_pay_is_shown_for_a_year_only_when_its_period_is_known(period: str | None, annual: int | None) -> None:
    assert posting(salary={"min": 20, "period": period, "source": "board"}).annual_min == annual


def test_the_content_hash_changes_with_what_a_reader_sees_and_with_nothing_else() -> None:
    kiel, ulm = Location(raw="Kiel", city="Kiel"), Location(raw="Ulm", city="Ulm")
    one = posting(title="Cook", locations=[kiel, ulm], description_text="Cook  soup.")
    assert one.content_hash == posting(title="COOK", locations=[ulm, kiel], description_text="Cook soup.").content_hash
    assert one.content_hash == one.model_copy(update={"url": "https://a.example", "raw_ref": "0"}).content_hash
    for change in ({"title": "Chef"}, {"locations": (kiel,)}, {"description_text": "Cook stew."}):
        assert one.content_hash != one.model_copy(update=change).content_hash
