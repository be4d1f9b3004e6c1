"""Names for the demo's world; none of them is anybody's."""

from __future__ import annotations

import random

FIRST = (
    "Amber",
    "Birch",
    "Cobalt",
    "Delta",
    "Ember",
    "Fjord",
    "Glacier",
    "Harbour",
    "Indigo",
    "Juniper",
    "Kestrel",
    "Lumen",
    "Meridian",
    "Nimbus",
    "Orchard",
    "Pelican",
    "Quarry",
    "Ridge",
    "Sable",
    "Tandem",
)
SECOND = ("Analytics", "Bank", "Cloud", "Devices", "Energy", "Foods", "Health", "Labs", "Robotics", "Systems", "Works")


def company_name(luck: random.Random) -> str:
    return f"{luck.choice(FIRST)} {luck.choice(SECOND)}"


def slug(name: str) -> str:
    """A name as it stands in an address."""
    return name.lower().replace(" ", "-")
