"""Postings for the demo: titles and places."""

from __future__ import annotations

import random

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


def title(rng: random.Random) -> str:
    return rng.choice(LEVELS) + rng.choice(TITLES)
