"""The words under a rectangle that a person dragged on a page: always whole words, also for a drag along one line."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Protocol

from interlock.apps.contracts.reading import Box, Document, Span

FLAT = 6.0
"""A drag lower than this, in points, means the line that it runs along."""
NEAR = 9.0
"""How far that line may be from the drag."""
TOUCHED = 0.15
"""The share of a word, or of the drag, that must overlap."""
_WORD = re.compile(r"\S+")


class Boxes(Protocol):
    """What finds words on a page: a reader of files."""

    def boxes_of(self, document: Document, spans: Sequence[Span], data: bytes) -> list[list[Box]]: ...


def words_at(reader: Boxes, document: Document, page: int, drag: Box, data: bytes) -> Span | None:
    """From the first to the last word under the rectangle; None where there are no words."""
    spans = [Span(page, *word.span()) for word in _WORD.finditer(document.page(page).text)]
    if not spans:
        return None
    placed = [
        (span, box)
        for span, boxes in zip(spans, reader.boxes_of(document, spans, data), strict=True)
        for box in boxes
        if _across(box, drag)
    ]
    if drag.bottom - drag.top < FLAT:
        middle = (drag.top + drag.bottom) / 2
        nearest = min((_distance(box, middle) for _, box in placed), default=NEAR + 1)
        line = [pair for pair in placed if _distance(pair[1], middle) <= nearest] if nearest <= NEAR else []
        # Words of one line differ a little in height; those of another line do not overlap its middle.
        level = [(box.top + box.bottom) / 2 for _, box in line[:1]]
        hit = [span for span, box in placed if level and box.top <= level[0] <= box.bottom]
    else:
        hit = [span for span, box in placed if drag.top <= (box.top + box.bottom) / 2 <= drag.bottom]
    return Span(page, hit[0].start, hit[-1].end) if hit else None


def _across(box: Box, drag: Box) -> bool:
    shared = min(box.right, drag.right) - max(box.left, drag.left)
    return shared > TOUCHED * min(box.right - box.left, drag.right - drag.left)


def _distance(box: Box, y: float) -> float:
    return max(box.top - y, y - box.bottom, 0.0)
