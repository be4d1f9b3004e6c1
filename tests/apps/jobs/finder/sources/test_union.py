"""Places that two readings of a posting name are there once."""

from __future__ import annotations

from interlock.apps.jobs.finder.geography.places import place
from interlock.apps.jobs.finder.sources.adapter import union


def test_a_city_without_its_region_is_the_one_with_it() -> None:
    whole = place("Hamburg, DE", "Hamburg", "Hamburg", "DE")
    short, other, country = place("Hybrid, Hamburg, Germany"), place("Portland, OR"), place("Germany")
    namesake = place("Portland, ME", country="US")
    assert whole and short and other and country and namesake
    assert union([short, other], [whole, country, namesake]) == (other, whole, country, namesake)
