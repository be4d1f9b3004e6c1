"""The lines of a PDF: characters by their places, joined into lines, and columns read one after the other.

A page has two columns if a gap from top to bottom has a heading on each of its sides; dates beside a text make no
column.
"""

from __future__ import annotations

import ctypes
import statistics
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from threading import Lock
from typing import Any

from interlock.apps.jobs.finder.resume.lines import (
    MOST_CHARACTERS,
    MOST_LINES,
    MOST_PAGES,
    Line,
    ResumeError,
    cleaned,
    line_of,
)

PDFIUM = Lock()
"""PDFium is not safe for threads."""
_PASSWORD = 4
_WIDE_GAP = 0.8
"""Heights of a letter between two cells of a line; a space has a third of one."""
_OTHER_SIZE = 1.4
"""A letter that is so much larger or smaller begins another cell."""
_GUTTER = 8.0
"""Points between two columns."""


@dataclass(slots=True)
class _Piece:
    """Characters of one line without a wide gap."""

    left: float
    bottom: float
    right: float
    top: float
    text: str

    @property
    def middle(self) -> float:
        return (self.bottom + self.top) / 2

    @property
    def height(self) -> float:
        return self.top - self.bottom


def pdf_lines(data: bytes, is_heading: Callable[[str], bool]) -> list[Line]:
    """The lines of all pages. `is_heading` knows the headings of resumes."""
    import pypdfium2 as pdfium  # type: ignore[import-untyped]

    lines: list[Line] = []
    with PDFIUM:
        try:
            file = pdfium.PdfDocument(data)
        except pdfium.PdfiumError as error:
            if error.err_code == _PASSWORD:
                raise ResumeError("the PDF asks for a password; save it without one") from None
            raise ResumeError(f"the PDF cannot be opened ({error}); export it again") from None
        try:
            if len(file) > MOST_PAGES:
                raise ResumeError(f"the PDF has {len(file)} pages; a resume has at most {MOST_PAGES}")
            read = 0
            for number in range(1, len(file) + 1):
                pieces = _pieces(file, number)
                read += sum(len(one.text) for one in pieces)
                if read > MOST_CHARACTERS:
                    raise ResumeError(f"the PDF has more than {MOST_CHARACTERS:,} characters; that is not a resume")
                lines += _lines(pieces, number, is_heading)
        except pdfium.PdfiumError as error:
            raise ResumeError(f"the text of the PDF cannot be read ({error}); export it again") from None
        finally:
            file.close()
    if not lines:
        raise ResumeError("the PDF has no text; it may be a scan. Export it from the program that it was written in")
    return lines[:MOST_LINES]


def _pieces(file: Any, number: int) -> list[_Piece]:
    import pypdfium2.raw as raw  # type: ignore[import-untyped]

    page = file[number - 1]
    text = page.get_textpage()
    try:
        count = raw.FPDFText_CountChars(text)
        if count > MOST_CHARACTERS:
            raise ResumeError(f"page {number} has {count:,} characters; that is not a resume")
        found: list[_Piece] = []
        for char, left, bottom, right, top in _characters(raw, text, count):
            last = found[-1] if found else None
            size = top - bottom
            if last is not None and _goes_on(last, left, bottom, top):
                gap = left - last.right
                same = size < _OTHER_SIZE * last.height and last.height < _OTHER_SIZE * size
                if gap <= _WIDE_GAP * max(size, 1.0) and (same or not char.isalnum()):
                    space = " " if gap > 0.15 * size and not last.text.endswith(" ") and char != " " else ""
                    last.text += space + char
                    last.right, last.left = max(last.right, right), min(last.left, left)
                    last.bottom, last.top = min(last.bottom, bottom), max(last.top, top)
                    continue
            if char != " ":
                found.append(_Piece(left, bottom, right, top, char))
        return [one for one in found if one.text.strip()]
    finally:
        text.close()
        page.close()


def _goes_on(piece: _Piece, left: float, bottom: float, top: float) -> bool:
    """Whether a character stands on the line of a piece, after it."""
    across = min(piece.top, top) - max(piece.bottom, bottom)
    return across > 0.5 * min(piece.height, top - bottom) and left > piece.left


def _characters(raw: Any, text: Any, count: int) -> Iterator[tuple[str, float, float, float, float]]:
    """Characters with their places, in the order of the file. A line break is left out: places show it."""
    box = raw.FS_RECTF()
    last = (0.0, 0.0, 0.0, 0.0)
    for index in range(count):
        code = raw.FPDFText_GetUnicode(text, index)
        if code in (0, 10, 13, 0xFFFE, 0xFFFF) or 0xD800 <= code < 0xE000:
            continue
        char = chr(code) if code < 0x110000 else ""
        if not raw.FPDFText_GetLooseCharBox(text, index, ctypes.byref(box)):
            continue
        place = (float(box.left), float(box.bottom), float(box.right), float(box.top))
        if char in (" ", "\u00a0"):
            # Spaces that the file does not have get no place of their own.
            left, bottom, right, top = place if place[3] > place[1] else last
            yield " ", left, bottom, right, top
            continue
        if place[3] <= place[1]:
            continue
        last = place
        yield char, *place


def _lines(pieces: list[_Piece], number: int, is_heading: Callable[[str], bool]) -> list[Line]:
    found: list[Line] = []
    for column in _columns(pieces, is_heading):
        begins = bool(found) and number == 1
        for row in _rows(column):
            line = line_of([one.text for one in row], number, max(one.height for one in row))
            if line:
                found.append(line._replace(column=begins))
                begins = False
    return found


def _rows(pieces: list[_Piece]) -> Iterator[list[_Piece]]:
    """The lines of a column from top to bottom, each from left to right."""
    row: list[_Piece] = []
    for piece in sorted(pieces, key=lambda one: -one.middle):
        if row and abs(row[0].middle - piece.middle) > 0.45 * min(row[0].height, piece.height):
            yield sorted(row, key=lambda one: one.left)
            row = []
        row.append(piece)
    if row:
        yield sorted(row, key=lambda one: one.left)


def _columns(pieces: list[_Piece], is_heading: Callable[[str], bool]) -> list[list[_Piece]]:
    """Pieces in the order of reading: bands over the whole width, and between them the left column, then the right."""
    gutter = _gutter(pieces, is_heading)
    if gutter is None:
        return [pieces]
    across = [one for one in pieces if one.left < gutter < one.right]
    bands: list[list[_Piece]] = []
    upper = float("inf")
    for lower in [*sorted((one.middle for one in across), reverse=True), float("-inf")]:
        inside = [one for one in pieces if one not in across and lower < one.middle <= upper]
        bands.append([one for one in inside if one.right <= gutter])
        bands.append([one for one in inside if one.left >= gutter])
        bands.append([one for one in across if one.middle == lower])
        upper = lower
    return [band for band in bands if band]


def _gutter(pieces: list[_Piece], is_heading: Callable[[str], bool]) -> float | None:
    """The middle of the gap between two columns, if there are two."""
    if len(pieces) < 10:
        return None
    height = statistics.median(one.height for one in pieces)
    starts = sorted({round(one.left, 1) for one in pieces})
    best: tuple[int, float] | None = None
    for start in starts[1:]:
        gutter = start - _GUTTER / 2
        across = sum(one.left < gutter < one.right for one in pieces)
        left = [one for one in pieces if one.right <= gutter]
        right = [one for one in pieces if one.left >= gutter]
        if across > max(3, 0.12 * len(pieces)) or min(len(left), len(right)) < 4:
            continue
        if max(one.right for one in left) > gutter - height * 0.2 and across > 3:
            continue
        if any(is_heading(cleaned(one.text)) for one in left) and any(is_heading(cleaned(one.text)) for one in right):
            rank = min(len(left), len(right)) - 5 * across
            if best is None or rank > best[0]:
                best = (rank, gutter)
    return best[1] if best else None
