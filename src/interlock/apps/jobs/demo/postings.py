"""Postings for the demo: titles, places and careers pages."""

from __future__ import annotations

import random
from collections.abc import Sequence

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


def careers_page(company: str, titles: Sequence[str]) -> bytes:
    """A careers page with scripts and links that the dashboard must remove."""
    jobs = "".join(f"<li><a href='/jobs/{n}'>{title}</a></li>" for n, title in enumerate(titles, 1))
    return (
        f"<!doctype html><html><head><title>Careers at {company}</title>"
        "<script>document.title = 'a script has run'</script></head>"
        f"<body onload=\"document.body.innerHTML = ''\"><h1>Work at {company}</h1>"
        f"<p>We are hiring.</p><ul>{jobs}</ul>"
        "<p><a href=\"javascript:alert('clicked')\">Apply now</a></p>"
        "<img src='x' onerror=\"alert('an image has run')\">"
        "<form action='/steal'><input name='password'></form></body></html>"
    ).encode()
