"""Names of cities, regions and countries, from one table of our own (`places.csv`)."""

from __future__ import annotations

import csv
import re
from functools import cache
from importlib.resources import files
from typing import Literal, NamedTuple

_CODED = re.compile(
    r"(?P<country>us|usa|ca|can)[ -]+(?P<region>[a-z]{2})[ -]+(?P<city>[^\W\d_][^,;|~-]+?)\s*(?:[-~].*)?", re.I
)

_COUNTRIES = {"US": "United States", "CA": "Canada"}


class PlaceName(NamedTuple):
    """One row of the table."""

    name: str
    kind: Literal["city", "region", "country"]
    country: str
    """The ISO code of two letters."""
    offset: float | None
    """Hours from UTC in winter; None where a country has several."""
    aliases: tuple[str, ...]
    """Other spellings; for a region its code as well."""


@cache
def place_names() -> tuple[PlaceName, ...]:
    """The rows of the table, in their order."""
    lines = (files(__package__) / "places.csv").read_text(encoding="utf-8").splitlines()
    return tuple(
        PlaceName(
            row["name"],
            row["kind"],  # type: ignore[arg-type]
            row["country"],
            float(row["utc_offset"]) if row["utc_offset"] else None,
            tuple(filter(None, row["aliases"].split("|"))),
        )
        for row in csv.DictReader(lines)
    )


@cache
def _region_codes() -> dict[str, str]:
    """The codes of regions of the United States and Canada, with the country."""
    rows = (one for one in place_names() if one.kind == "region" and one.country in ("US", "CA"))
    return {alias.lower(): one.country for one in rows for alias in one.aliases if len(alias) == 2}


def decoded(text: str) -> str:
    """A place as some employers number theirs, in its usual order: "US-OR-Salem-BLDG 1" is Salem, OR, United States."""
    found = _CODED.fullmatch(text.strip())
    if found is None:
        return text
    country = found["country"].upper()[:2]
    if _region_codes().get(found["region"].lower()) != country:
        return text
    city = found["city"]
    return f"{city.title() if city.isupper() else city}, {found['region'].upper()}, {_COUNTRIES[country]}"
