"""Places: the city of a location, and its hours from UTC in winter, from a list of our own."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

from interlock.apps.jobs.finder.geography.place_names import decoded, place_names
from interlock.apps.jobs.finder.reading.plain import folded

_SPLIT = re.compile(r"[,;|/\u2022()\[\]&]| - |\bor\b|\band\b")
_NOISE = re.compile(
    r"\b(?:fully |100% )?(?:remote|hybrid|onsite|on-site|anywhere|office|offices|hq|headquarters"
    r"|based|metro|area|greater|metropolitan"
    r"|job locations?|locations?|eligible|only|select|multiple|in|the)\b[-:]?",
)
_BESIDE = re.compile(
    r"\b(?:remote|virtual|hybrid|onsite|on-site|anywhere|nationwide|worldwide|global|eligible|locations?|any|home"
    r"|office|multiple|select|distributed|northeast|northwest|southeast|southwest|midwest|east|west"
    r"|coast|north america|south america|latin america|latam|emea|apac|europe|asia|americas)\b"
)


class Place(NamedTuple):
    """A city, region or country."""

    name: str
    kind: str
    country: str
    offset: float | None


@cache
def _places() -> tuple[dict[str, Place], dict[str, Place], dict[str, Place]]:
    """Cities, regions and countries by each of their names in lower case."""
    found: dict[str, dict[str, Place]] = {"city": {}, "region": {}, "country": {}}
    for row in place_names():
        place = Place(row.name.split(",")[0], row.kind, row.country, row.offset)
        for name in (row.name, *row.aliases):
            found[row.kind].setdefault(folded(name), place)
    return found["city"], found["region"], found["country"]


def city_of(locations: Sequence[str]) -> tuple[Place | None, str]:
    """The first city that the location fields name, with its offset where it is known, and the field."""
    for location in locations:
        place = _city(location)
        if place is not None:
            return place, location
    return None, ""


def known_city(name: str) -> Place | None:
    """The city of this name, if the list has it."""
    return _places()[0].get(folded(name))


def country_of(locations: Sequence[str]) -> Place | None:
    """The first country that the location fields name."""
    _, regions, countries = _places()
    for location in locations:
        for part in _parts(folded(location)):
            place = countries.get(part) or regions.get(part)
            if place is not None:
                return place
    return None


def _parts(low: str) -> list[str]:
    cleaned = (" ".join(_NOISE.sub(" ", part).split()).strip(" -:.") for part in _SPLIT.split(low))
    return [part for part in cleaned if part]


def _city(location: str) -> Place | None:
    cities, regions, countries = _places()
    low = folded(decoded(location))
    whole = cities.get(low)
    if whole is not None:
        return whole
    for part in map(str.strip, _SPLIT.split(low)):
        if part in cities:
            if " " in part:
                return cities[part]
            break  # the first city counts, and what stands beside it may say which one it is
    parts = _parts(low)
    for index, part in enumerate(parts):
        after = parts[index + 1] if index + 1 < len(parts) else ""
        place = cities.get(f"{part}, {after}") or cities.get(part)
        name, _, code = part.rpartition(" ")
        if place is None and 2 <= len(code) <= 3:
            place = cities.get(name)  # "Sydney NSW"
        beside = regions.get(after) or countries.get(after)
        if place is not None:
            region = regions.get(after)
            if region is not None and region.country != place.country:
                return Place(place.name, "city", region.country, region.offset)
            if (
                region is not None
                and region.offset is not None
                and region.country == "US"
                and region.offset != place.offset
            ):
                return Place(place.name, "city", "US", region.offset)
            return place
        if part in regions or part in countries or _BESIDE.search(part):
            continue
        if beside is not None and part.replace(" ", "").replace("-", "").replace(".", "").isalpha():
            return Place(part.title(), "city", beside.country, beside.offset)
    return None
