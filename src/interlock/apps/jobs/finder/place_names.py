"""Names of cities, regions and countries, from one table of our own (`places.csv`)."""

from __future__ import annotations

import csv
from functools import cache
from importlib.resources import files
from typing import Literal, NamedTuple


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
