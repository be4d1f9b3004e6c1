"""Search in the text of a document, whatever its line breaks, spaces and capitals."""

from __future__ import annotations

import re
from dataclasses import dataclass

from interlock.apps.contracts.reading import Document, Span

MOST = 200
LONGEST = 200
AROUND = 60


@dataclass(frozen=True, slots=True)
class Hit:
    """One place where the words stand."""

    span: Span
    before: str
    found: str
    after: str


def search(document: Document, words: str) -> list[Hit]:
    """Every place of the words, in order; at most `MOST`."""
    wanted = words[:LONGEST].split()
    if not wanted:
        return []
    pattern = re.compile(r"\s+".join(re.escape(one) for one in wanted), re.IGNORECASE)
    found: list[Hit] = []
    for page in document.pages:
        for match in pattern.finditer(page.text):
            start, end = match.span()
            found.append(
                Hit(
                    Span(page.number, start, end),
                    _plain(page.text[max(start - AROUND, 0) : start]),
                    _plain(match[0]),
                    _plain(page.text[end : end + AROUND]),
                )
            )
            if len(found) >= MOST:
                return found
    return found


def _plain(text: str) -> str:
    return re.sub(r"\s+", " ", text)
