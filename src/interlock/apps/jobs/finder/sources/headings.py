"""Headings of a posting: which part of it stands under them."""

from __future__ import annotations

import re
from typing import Literal

from interlock.apps.jobs.finder.identity.keys import fold

Section = Literal["requirements", "preferred", "duties", "other"]
WORDS: tuple[tuple[Section, str], ...] = (
    ("preferred", r"nice to have|preferred|bonus|a plus|plus(es)?$|ideally|even better|desirable|von vorteil|wunsch"),
    (
        "requirements",
        r"requirement|qualification|background|you have|you bring|your profile|dein profil|ihr profil|looking for|"
        r"must have|skills|experience|who you are|about you|what we expect|you.{1,3}ll need|anforderung|mitbring",
    ),
    (
        "duties",
        r"responsibilit|you.{1,3}ll (do|be doing|contribute)|what you do|contribute|duties|the role|your role|"
        r"your tasks|day to day|in this role|aufgaben|make an impact|your impact|your mission|job description",
    ),
)


def section_of(heading: str | None) -> Section:
    """The part that a heading opens; `other` when its words do not tell."""
    said = fold(heading)
    return next((name for name, words in WORDS if said and re.search(words, said)), "other")
