"""What the claim check finds: words that keep a text from being sent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from interlock.apps.jobs.autoapply.documents.text_view import TextView

Kind = Literal[
    "placeholder",
    "never_say",
    "hidden",
    "skill",
    "number",
    "date",
    "degree",
    "certificate",
    "permission",
    "employer",
    "name",
    "title",
    "company",
    "role",
    "address",
    "length",
    "language",
]


@dataclass(frozen=True, slots=True)
class ClaimFinding:
    """Words of a text that keep it from being sent, and their place in it."""

    kind: Kind
    words: str
    start: int
    end: int
    explanation: str


def finding(view: TextView, kind: Kind, start: int, end: int, explanation: str) -> ClaimFinding:
    """The finding at a place of the view."""
    first, last = view.place(start, end)
    return ClaimFinding(kind, view.original[first:last], first, last, explanation)
