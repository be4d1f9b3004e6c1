"""A confidence as one word and one colour: every page that shows one asks here, so that they never differ."""

from __future__ import annotations

from typing import NamedTuple

POOR, CHECK, GOOD = 50, 80, 90
"""The percentages at which the next grade begins."""


class Grade(NamedTuple):
    """How a confidence is shown."""

    word: str
    kind: str
    """The kind of state whose colour it has: failed, person or done."""


def grade(percent: float) -> Grade:
    """The grade of a confidence from 0 to 100, by the whole number that is shown beside it."""
    shown = round(percent)
    if shown < POOR:
        return Grade("poor", "failed")
    if shown < CHECK:
        return Grade("review", "person")
    return Grade("good" if shown < GOOD else "excellent", "done")
