"""Invented names for the demo."""

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


def company_name(rng: random.Random) -> str:
    return f"{rng.choice(FIRST)} {rng.choice(SECOND)}"


def slug(name: str) -> str:
    """A name as part of an address."""
    return name.lower().replace(" ", "-")
