"""What rules read out of a posting is stored with it, and changes nothing about how it is judged."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from interlock.apps.jobs.finder.filtering import filter_posting
from interlock.apps.jobs.finder.geography.places import places
from interlock.apps.jobs.finder.matching import match_posting
from interlock.apps.jobs.finder.postings.enriching import as_given, enriched
from interlock.apps.jobs.finder.postings.posting import Evidence, Extraction, Method, Posting, Salary, Workplace
from interlock.apps.jobs.finder.postings.read_posting import ReadPosting
from interlock.apps.jobs.finder.profiles.profile_file import parse_profile, sample
from interlock.apps.jobs.finder.profiles.seeker import Seeker

NOW = datetime(2026, 11, 1, tzinfo=UTC)
TEXT = """
About us
We make maps.

Requirements
- 5 years of Python and PostgreSQL
- This is a fully remote role in the United States

The salary is $150,000 - $180,000 a year.
"""


def posting(**fields: object) -> Posting:
    known = {"title": "Senior Backend Engineer", "description_text": TEXT, "company_name_raw": "Acme", **fields}
    return Posting(ats="html", extraction=Extraction(method=Method.TEXT, adapter_version="1"), **known)  # type: ignore[arg-type]


def test_values_of_the_text_are_stored_with_their_sentence() -> None:
    found = enriched(ReadPosting(posting()))
    assert found.workplace is Workplace.REMOTE
    assert (found.annual_min, found.annual_max, found.salary.currency) == (150_000, 180_000, "USD")
    assert found.salary.source == "text"
    assert "$150,000" in (found.salary.quote or "")
    assert "remote" in (found.evidence["workplace"].quote or "").lower()
    assert found.seniority == "senior"
    assert found.language == "en"
    assert "PostgreSQL" in (found.sections.requirements or "")
    assert "salary" not in found.extraction.fields_missing


def test_what_was_read_out_of_an_old_text_goes_with_it() -> None:
    old = enriched(ReadPosting(posting()))
    new = old.model_copy(update={"description_text": "This role is on site in our Berlin office, five days a week."})
    found = enriched(ReadPosting(as_given(new)))
    assert found.workplace is Workplace.ONSITE
    assert (found.annual_min, found.salary.source) == (None, "none")
    assert set(found.evidence) <= set(found.derived)
    assert as_given(posting()) == posting()


def test_pay_that_a_source_states_in_words_is_read_and_read_again() -> None:
    quiet = {"description_text": "You write services in Python. " * 20}
    for source in ("board", "text"):
        said = posting(**quiet, salary=Salary(source=source, quote="$100k-$120k"))
        first = enriched(ReadPosting(said))
        assert (first.annual_min, first.annual_max, first.salary.quote) == (100_000, 120_000, "$100k-$120k")
        again = enriched(ReadPosting(as_given(first)))
        assert again.salary == first.salary, "also when the posting is filtered a second time"


@pytest.mark.parametrize(
    ("field", "model"), [("locations", "hybrid"), ("title", "hybrid"), ("workplaceType", "remote"), (None, "remote")]
)
def test_days_in_an_office_count_more_than_a_place_that_calls_the_work_remote(field: str | None, model: str) -> None:
    evidence = {"workplace": Evidence(source="board", field=field, quote="Remote - US")} if field else {}
    said = posting(
        workplace=Workplace.REMOTE,
        evidence=evidence,
        locations=places(["Remote - US"]),
        description_text=f"{TEXT} You spend three days a week in our office in Boston.",
    )
    found = enriched(ReadPosting(said))
    assert (found.workplace, "workplace" in found.derived) == (model, model == "hybrid")
    again = ReadPosting(as_given(found)).workplace
    assert again is not None
    assert again.value == model


def test_what_the_source_says_itself_stays() -> None:
    said = posting(workplace=Workplace.ONSITE, salary=Salary(min=90_000, currency="EUR", period="year", source="board"))
    found = enriched(ReadPosting(said))
    assert found.workplace is Workplace.ONSITE
    assert (found.annual_min, found.salary.currency) == (90_000, "EUR")


def test_a_posting_without_a_text_learns_nothing_from_it() -> None:
    found = enriched(ReadPosting(posting(description_text=None, title="Cook")))
    assert (found.language, found.annual_min, found.workplace) == (None, None, Workplace.UNKNOWN)


@pytest.mark.parametrize(
    "text", [TEXT, "", "Vor Ort in Berlin. Gehalt 60.000 € im Jahr.", "$80 an hour, hybrid, Portland"]
)
def test_a_stored_posting_is_judged_as_it_was_when_it_was_read(text: str) -> None:
    seeker = Seeker(parse_profile(sample()))
    first = ReadPosting(posting(description_text=text or None))
    again = ReadPosting(Posting.model_validate_json(enriched(first).model_dump_json()))
    results = [(filter_posting(one, seeker, NOW), match_posting(one, seeker)) for one in (first, again)]
    (filtered, matched), (filtered_again, matched_again) = results
    assert filtered_again.passed == filtered.passed
    assert filtered_again.total_strikes == filtered.total_strikes
    assert [one.reason for one in filtered_again.hard_rejections] == [one.reason for one in filtered.hard_rejections]
    assert matched_again.match_score == matched.match_score
