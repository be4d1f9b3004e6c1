"""Scanned pages: words and their places from a page image, by RapidOCR (the extra `ocr`, its models in the wheel)."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from interlock.apps.contracts.reading.cleaning import clean
from interlock.apps.contracts.reading.document import Box, Page, pack_boxes
from interlock.apps.contracts.reading.errors import OcrNotInstalled, TooLarge
from interlock.apps.contracts.reading.limits import Limits

if TYPE_CHECKING:
    from PIL.Image import Image

GOOD = 0.85
"""Below this mean score, or with lines that run downwards, the page was perhaps scanned turned."""


@dataclass(frozen=True, slots=True)
class Line:
    """One line as it was read: its words with their boxes in pixels, and how sure the reading is, 0 to 1."""

    words: tuple[tuple[str, Box], ...]
    score: float
    box: Box

    @property
    def text(self) -> str:
        return " ".join(text for text, _ in self.words)


Recogniser = Callable[["Image"], list[Line]]


def recogniser(page: int) -> Recogniser:
    """RapidOCR, or an error that names the extra and the page that needs it."""
    if find_spec("rapidocr") is None or find_spec("onnxruntime") is None:
        raise OcrNotInstalled(f"page {page} is an image without text; install the extra: pip install 'interlock[ocr]'")
    return _rapid()


def ocr_page(image: Image, page: Page, recognise: Recogniser, limits: Limits) -> Page:
    """The page with the text that was read from its image; turned by quarters if it reads better so."""
    rows = _best_turn(image, recognise)
    lines = [line for row in rows for line in row]
    scale_x, scale_y = page.width / image.width, page.height / image.height
    text: list[str] = []
    places: list[Box | None] = []
    for row in rows:
        if text:
            text.append("\n")
            places.append(None)
        for at, (word, box) in enumerate(word for line in row for word in line.words):
            word, _ = clean(word)
            word = "".join(word.split()) or "\ufffd"
            if at:
                text.append(" ")
                places.append(None)
            text.append(word)
            places.extend(_letters(word, box, scale_x, scale_y))
        if len(places) > limits.characters_a_page:
            raise TooLarge(f"page {page.number} has more than {limits.characters_a_page} characters")
    whole = "".join(text)
    weight = sum(len(line.text) for line in lines)
    score = sum(line.score * len(line.text) for line in lines) / weight if weight else 0.0
    return replace(
        page,
        text=whole,
        source="ocr",
        quality=round(score, 4),
        boxes=pack_boxes(places, page.width, page.height),
        replaced=whole.count("\ufffd"),
    )


def _best_turn(image: Image, recognise: Recogniser) -> list[list[Line]]:
    """Rows in the order of reading, which only the upright image shows, with their places in the image as it is."""
    found = recognise(image)
    best, trust, turned_by = found, _trust(found), 0
    for turn in (90, 180, 270) if found and trust < GOOD else ():
        turned = recognise(image.rotate(turn, expand=True))
        if _trust(turned) > trust:
            best, trust, turned_by = turned, _trust(turned), turn
            if trust >= GOOD:
                break
    return [[_turned_back(line, turned_by, image.width, image.height) for line in row] for row in _rows(best)]


def _trust(lines: list[Line]) -> float:
    """The mean score, by length; a line that runs downwards counts nothing, for the order of such lines is wrong."""
    weight = sum(len(line.text) for line in lines)
    level = [line for line in lines if line.box.right - line.box.left >= line.box.bottom - line.box.top]
    upright = sum(line.score * len(line.text) for line in level)
    return upright / weight if weight else 0.0


def _turned_back(line: Line, turn: int, width: int, height: int) -> Line:
    """A line of the turned image, in the places of the image as it was."""

    def back(box: Box) -> Box:
        if turn == 0:
            return box
        if turn == 90:  # counter-clockwise: what was at the right is at the top
            return Box(width - box.bottom, box.left, width - box.top, box.right)
        if turn == 180:
            return Box(width - box.right, height - box.bottom, width - box.left, height - box.top)
        return Box(box.top, height - box.right, box.bottom, height - box.left)

    return Line(tuple((text, back(box)) for text, box in line.words), line.score, back(line.box))


def _rows(lines: Iterable[Line]) -> list[list[Line]]:
    """Lines in reading order, those beside each other in one row."""
    kept = [line for line in lines if line.words]
    rows: list[list[Line]] = []
    for line in sorted(kept, key=lambda line: (line.box.top + line.box.bottom) / 2):
        middle = (line.box.top + line.box.bottom) / 2
        if rows and rows[-1][0].box.top <= middle <= rows[-1][0].box.bottom:
            rows[-1].append(line)
        else:
            rows.append([line])
    return [sorted(row, key=lambda line: line.box.left) for row in rows]


def _letters(word: str, box: Box, scale_x: float, scale_y: float) -> list[Box | None]:
    """Each letter's share of its word's box, along the word's longer side."""
    left, right = box.left * scale_x, box.right * scale_x
    top, bottom = box.top * scale_y, box.bottom * scale_y
    count = len(word)
    if count > 1 and bottom - top > (right - left) * 1.5:
        step = (bottom - top) / count
        return [Box(left, top + i * step, right, top + (i + 1) * step) for i in range(count)]
    step = (right - left) / count
    return [Box(left + i * step, top, left + (i + 1) * step, bottom) for i in range(count)]


@cache
def _rapid() -> Recogniser:
    import numpy
    from rapidocr import RapidOCR

    engine = RapidOCR(params={"Global.log_level": "critical"})
    lock = threading.Lock()

    def recognise(image: Image) -> list[Line]:
        pixels = numpy.asarray(image)[:, :, ::-1]
        with lock:
            # Without its guess for lines upside down: whole pages are turned here, so that their order is right too.
            found: Any = engine(pixels, return_word_box=True, use_cls=False)
        if found.txts is None:
            return []
        lines = []
        for text, score, corners, words in zip(found.txts, found.scores, found.boxes, found.word_results, strict=True):
            box = _hull(corners)
            parts = tuple((str(word), _hull(place)) for word, _, place in words if str(word).strip())
            lines.append(Line(_as_written(text, parts, box), float(score), box))
        return lines

    return recognise


def _as_written(text: str, parts: tuple[tuple[str, Box], ...], box: Box) -> tuple[tuple[str, Box], ...]:
    """The words as the line's text separates them; RapidOCR cuts its boxes at signs and scripts too."""
    letters = [(char, place) for word, whole in parts for char, place in zip(word, _even(word, whole), strict=True)]
    if "".join(char for char, _ in letters if not char.isspace()) != "".join(text.split()):
        words = text.split()
        return tuple(zip(words, _even_words(words, box), strict=True))
    letters = [(char, place) for char, place in letters if not char.isspace()]
    made, at = [], 0
    for word in text.split():
        places = [place for _, place in letters[at : at + len(word)]]
        at += len(word)
        made.append((word, _union(places)))
    return tuple(made)


def _even(word: str, box: Box) -> list[Box]:
    return [one for one in _letters(word, box, 1, 1) if one is not None]


def _even_words(words: list[str], box: Box) -> list[Box]:
    line = " ".join(words)
    places, found, at = _even(line, box), [], 0
    for word in words:
        found.append(_union(places[at : at + len(word)]))
        at += len(word) + 1
    return found


def _union(boxes: list[Box]) -> Box:
    return Box(
        min(box.left for box in boxes),
        min(box.top for box in boxes),
        max(box.right for box in boxes),
        max(box.bottom for box in boxes),
    )


def _hull(corners: Any) -> Box:
    xs, ys = [float(x) for x, _ in corners], [float(y) for _, y in corners]
    return Box(min(xs), min(ys), max(xs), max(ys))
