"""Places that two readings of a posting name are there once."""

from __future__ import annotations

from typing import Any

from interlock.apps.jobs.finder.geography.places import place
from interlock.apps.jobs.finder.sources.adapter import union


def test_a_city_without_its_region_is_the_one_with_it() -> None:
    whole: Any = place("Hamburg, DE", "Hamburg", "Hamburg", "DE")
    short: Any
    other: Any
    country: Any
    short, other, country = place("Hybrid, Hamburg, Germany"), place("Portland, OR"), place("Germany")
    namesake: Any = place("Portland, ME", country="US")
    assert union([short, other], [whole, country, namesake]) == (other, whole, country, namesake)
