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
LEVELS = ("", "Senior ", "Staff ", "Junior ")
TITLES = (
    "Backend Engineer",
    "Data Engineer",
    "Platform Engineer",
    "Site Reliability Engineer",
    "Product Designer",
    "Machine Learning Engineer",
    "Security Analyst",
    "Technical Writer",
    "QA Engineer",
)
PLACES = ("Berlin", "Lisbon", "Oslo", "Porto", "Remote", "Tallinn", "Utrecht", "Wien")


def company_name(luck: random.Random) -> str:
    return f"{luck.choice(FIRST)} {luck.choice(SECOND)}"


def title(luck: random.Random) -> str:
    return luck.choice(LEVELS) + luck.choice(TITLES)


def slug(name: str) -> str:
    """A name as it stands in an address."""
    return name.lower().replace(" ", "-")
