"""Places: read as far as the words tell, and left open where they may mean two."""

from __future__ import annotations

import pytest

from interlock.apps.jobs.finder.geography.place_names import place_names
from interlock.apps.jobs.finder.geography.places import country_code, is_work_model, place, places
from interlock.apps.jobs.finder.reading.places import country_of


@pytest.mark.parametrize(
    ("raw", "city", "region", "country"),
    [
        ("Leeds, UK", "Leeds", None, "GB"),
        ("Portland, OR", "Portland", "OR", "US"),
        ("Portland, OR, USA", "Portland", "OR", "US"),
        ("Tampa, Florida", "Tampa", "Florida", "US"),
        ("Ottawa, Ontario", "Ottawa", "Ontario", "CA"),
        ("Remote - US", None, None, "US"),
        ("Remote-India (PEO)", None, None, "IN"),
        ("Remote in Canada", None, None, "CA"),
        ("Remote within the United States", None, None, "US"),
        ("Hybrid in Amsterdam, Netherlands", "Amsterdam", None, "NL"),
        ("Home based - Worldwide", None, None, None),
        ("Home-based, Poland", None, None, "PL"),
        ("Österreich", None, None, "AT"),
        ("Singapore", "Singapore", None, "SG"),
        ("Remote (Europe)", None, None, None),
        ("Hybrid", None, None, None),
        ("Peoria, IL", "Peoria", "IL", None),  # or Israel
        ("Ulm, DE", "Ulm", "DE", None),  # or Delaware
        ("San Francisco, CA", "San Francisco", "CA", "US"),
        ("Toronto, CA", "Toronto", None, "CA"),
        ("Irvine, CA", "Irvine", "CA", "US"),  # A city of Canada is followed by its province.
        ("Chicago, IL", "Chicago", "IL", "US"),
        ("Tel Aviv, IL", "Tel Aviv", None, "IL"),
        ("Indianapolis, IN", "Indianapolis", "IN", "US"),
        ("Amsterdam, NL", "Amsterdam", None, "NL"),
        ("Georgia", "Georgia", None, None),
        ("New York", "New York", None, None),
        ("Portland OR", "Portland", "OR", "US"),
        ("Portland, OR 97204-1234", "Portland", "OR", "US"),
        ("12b SW Main St, Portland, OR 97204", "Portland", "OR", "US"),
        ("USA, OR, Portland", "Portland", "OR", "US"),
        ("United States - Oregon - Portland", "Portland", "Oregon", "US"),
        ("US-OR-PORTLAND-BLDG 2 ~ 1 Main St", "Portland", "OR", "US"),
        ("CA-ON-Toronto", "Toronto", "ON", "CA"),
        ("US-Remote", None, None, "US"),
        ("OR - Portland", "Portland", "OR", "US"),
        ("Germany - Berlin", "Berlin", None, "DE"),
        ("Portland Office", "Portland", None, None),
        ("Greater Portland Area", "Portland", None, None),
        ("San Francisco Bay Area", "San Francisco", None, None),
        ("Office", "Office", None, None),
        ("3 Main St", "3 Main St", None, None),
    ],
)
def test_a_place_is_read_from_its_words(raw: str, city: str | None, region: str | None, country: str | None) -> None:
    found = place(raw)
    assert found is not None
    assert (found.raw, found.city, found.region, found.country) == (raw, city, region, country)


def test_a_country_that_is_given_settles_a_code_that_may_mean_two() -> None:
    found = place("Peoria, IL", country="us")
    assert found is not None
    assert (found.city, found.region, found.country) == ("Peoria", "IL", "US")


def test_named_parts_are_taken_as_they_are() -> None:
    found = place(city="Kiel", region="Schleswig-Holstein", country="Deutschland", lat=54.3, lon=10.1)
    assert found is not None
    assert (found.raw, found.city, found.country, found.lat) == (
        "Kiel, Schleswig-Holstein, Deutschland",
        "Kiel",
        "DE",
        54.3,
    )


@pytest.mark.parametrize(("lat", "lon"), [(0, 0), (91, 0), (54, None), (54, 200)])
def test_coordinates_that_cannot_be_are_unknown(lat: float | None, lon: float | None) -> None:
    found = place("Kiel", lat=lat, lon=lon)
    assert found is not None
    assert (found.lat, found.lon) == (None, None)


def test_several_places_in_one_text_are_several_and_each_is_there_once() -> None:
    assert [one.raw for one in places(["Kiel; Ulm", "ulm", "3 Locations", None, ""])] == ["Kiel", "Ulm"]


def test_no_words_are_no_place() -> None:
    assert place() is place("", city="") is None


@pytest.mark.parametrize(
    ("text", "is_one"), [("Hybrid", True), ("In-Office", True), ("Remote", True), ("Remote Kiel", False)]
)
def test_a_way_to_work_is_no_place(text: str, is_one: bool) -> None:
    assert is_work_model(text) is is_one


@pytest.mark.parametrize(
    ("name", "code"), [("us", "US"), ("Germany", "DE"), ("U.S.", "US"), ("Atlantis", None), (None, None)]
)
def test_a_country_has_one_code(name: str | None, code: str | None) -> None:
    assert country_code(name) == code


def test_one_table_has_the_places_of_both_readings() -> None:
    countries = [one for one in place_names() if one.kind == "country" and one.country != "GE"]
    assert len({one.country for one in countries}) == len(countries)
    for one in countries:
        assert country_code(one.name) == one.country
        found = country_of([one.name])
        assert found is not None, one.name
        assert found.country == one.country
