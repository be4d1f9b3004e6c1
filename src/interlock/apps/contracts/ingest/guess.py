"""Guesses the kind of a contract by the words that its verticals are known by."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from interlock.apps.contracts.fields.vertical import Vertical
from interlock.apps.contracts.reading import Document

DEFAULT = "commercial"
LOOKED_AT = 200_000


@dataclass(frozen=True, slots=True)
class Guess:
    """A vertical, and how it was chosen."""

    vertical: str
    fits: bool
    """Whether the document has enough of the vertical's words."""
    signs: tuple[str, ...] = ()
    """Those words."""


def guess(document: Document, verticals: Iterable[Vertical]) -> Guess:
    """The vertical whose words the document has most of; the usual one if it fits none."""
    text = " ".join(page.text for page in document.pages)[:LOOKED_AT].casefold()
    best: tuple[float, Guess] | None = None
    for one in verticals:
        signs = tuple(sign for sign in one.signs if sign.casefold() in text)
        fits = bool(one.signs) and len(signs) >= one.signs_needed
        share = len(signs) / len(one.signs) if fits else 0.0
        if fits and (best is None or share > best[0]):
            best = share, Guess(one.name, True, signs)
    return best[1] if best is not None else Guess(DEFAULT, False)
