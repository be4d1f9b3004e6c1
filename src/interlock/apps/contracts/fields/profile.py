"""What the documents of a calibration look like, so that one of another kind is noticed.

A press release or a schedule of fees may have a sentence with two companies and a date. The rules then find values with
the usual signals, but nothing was counted for such documents. The profile has how often they use some thirty words of
contracts and of everyday language; a document that is far from all of them goes to a person.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from math import exp, log, sqrt

from pydantic import BaseModel, ConfigDict

_WORDS = """the of and to in or any shall by this agreement party parties for as be is not with such may will other that
under its which all hereof herein thereof term section notice rights law company we our said was has have been
der die das und von zu den des für mit ist wird kwh preis vertrag lieferung price supply energy"""
WORDS = tuple(_WORDS.split())
LOOKED_AT = 60_000
FEWEST = 20
"""Documents without which nothing is called unusual."""
FARTHEST = 0.98
"""The share of the known documents that are nearer than the farthest that counts."""
BEYOND = 1.3
"""How much farther than that a document may be."""


class Profile(BaseModel):
    """The mean and the standard deviation of each word's frequency, and the distance of the farthest document."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    means: tuple[float, ...] = ()
    deviations: tuple[float, ...] = ()
    farthest: float = 0.0
    documents: int = 0

    def strange(self, text: str) -> bool:
        """Whether the text is farther from the documents of the calibration than nearly all of them."""
        if self.documents < FEWEST:
            return False
        return self.distance(frequencies(text)) > BEYOND * self.farthest

    def distance(self, found: Sequence[float]) -> float:
        """How far the `frequencies` of a document are from the mean, in standard deviations.

        The fewer words a document has, the less its frequencies say.
        """
        thousands = found[-1] / 1000
        total = 0.0
        for value, mean, deviation in zip(found, self.means, self.deviations, strict=False):
            rate = max(exp(mean) - 0.5, 0.5)
            accident = sqrt(rate / thousands) / (0.5 + rate) if thousands else 8.0
            total += min(abs(value - mean) / sqrt(deviation**2 + accident**2), 8.0) ** 2
        return sqrt(total / len(self.means)) if self.means else 0.0


def frequencies(text: str) -> tuple[float, ...]:
    """How often each word is used, as the logarithm of its count in a thousand words; then how many words there are."""
    words = Counter(re.findall(r"[a-zäöüß]+", text[:LOOKED_AT].lower()))
    total = sum(words.values())
    return (*(round(log(0.5 + 1000 * words[word] / max(total, 1)), 3) for word in WORDS), float(total))


def profile(documents: Sequence[Sequence[float]]) -> Profile:
    """The profile of documents, each by its `frequencies`. The farthest two in a hundred are not counted."""
    if not documents:
        return Profile()
    count = len(documents)
    columns = list(zip(*documents, strict=True))[:-1]
    means = [sum(column) / count for column in columns]
    deviations = [
        max(sqrt(sum((value - mean) ** 2 for value in column) / count), 0.25)
        for column, mean in zip(columns, means, strict=True)
    ]
    made = Profile(means=tuple(round(m, 3) for m in means), deviations=tuple(round(d, 3) for d in deviations))
    distances = sorted(made.distance(one) for one in documents)
    farthest = distances[max(int(FARTHEST * count) - 1, 0)]
    return made.model_copy(update={"farthest": round(farthest, 3), "documents": count})
