"""The lines of a DOCX file: paragraphs with their tabs, rows of tables with their cells, boxes of text."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterator
from typing import Any

from interlock.apps.jobs.finder.resume.lines import BULLET, MOST_CHARACTERS, MOST_LINES, Line, ResumeError, line_of

MOST_UNPACKED = 20_000_000
MOST_PARTS = 2000
MOST_DEPTH = 12
_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_FALLBACK = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"
_SKIPPED = {f"{_W}{name}" for name in ("del", "moveFrom", "pPr", "rPr", "instrText")} | {_FALLBACK}


def word_lines(data: bytes) -> list[Line]:
    """The lines of the document in their order; the header first."""
    _refuse_bombs(data)
    import docx

    try:
        file = docx.Document(io.BytesIO(data))
        styles = {one.style_id: one.name or "" for one in file.styles}
        lines: list[Line] = []
        for part in (file.sections[0].header._element if file.sections else None, file.element.body):
            if part is not None:
                lines += _blocks(part, styles, 0)
    except Exception as error:  # the library lets errors of zip, XML and its own lookups through
        raise ResumeError(f"the Word file cannot be opened ({error}); save it again") from None
    if not lines:
        raise ResumeError("the Word file has no text")
    if sum(len(one.text) for one in lines) > MOST_CHARACTERS:
        raise ResumeError(f"the Word file has more than {MOST_CHARACTERS:,} characters; that is not a resume")
    return lines[:MOST_LINES]


def _refuse_bombs(data: bytes) -> None:
    """By the sizes that the archive states: no part is unpacked beyond what it states for it."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            parts = archive.infolist()
    except (zipfile.BadZipFile, ValueError, OSError, NotImplementedError) as error:
        raise ResumeError(f"the file begins like a Word file and cannot be unpacked ({error})") from None
    if len(parts) > MOST_PARTS or sum(part.file_size for part in parts) > MOST_UNPACKED:
        raise ResumeError(f"the Word file unpacks to more than {MOST_UNPACKED:,} bytes or {MOST_PARTS:,} parts")
    if not any(part.filename == "word/document.xml" for part in parts):
        raise ResumeError("the file is an archive without a Word document in it; give a PDF or DOCX file")
    if any(part.flag_bits & 1 for part in parts):
        raise ResumeError("the Word file is packed with a password; save it without one")


def _blocks(parent: Any, styles: dict[str, str], depth: int) -> Iterator[Line]:
    if depth > MOST_DEPTH:
        return
    for child in parent.iterchildren():
        if child.tag == f"{_W}p":
            yield from _paragraph(child, styles)
            for box in child.iter(f"{_W}txbxContent"):
                if not any(above.tag == _FALLBACK for above in box.iterancestors()):
                    yield from _blocks(box, styles, depth + 1)
        elif child.tag == f"{_W}tr":
            yield from _row(child, styles, depth)
        elif child.tag not in _SKIPPED:
            yield from _blocks(child, styles, depth)


def _row(row: Any, styles: dict[str, str], depth: int) -> Iterator[Line]:
    """A row as one line where its cells have a line each; else cell by cell, as columns are read."""
    cells = [list(_blocks(cell, styles, depth + 1)) for cell in row.iter(f"{_W}tc") if _own_cell(cell, row)]
    cells = [cell for cell in cells if cell]
    if len(cells) > 1 and min(len(cell) for cell in cells) == 1 and len(cells[0]) == 1:
        first = line_of([text for cell in cells for text in cell[0].cells], 1, 0.0, False)
        if first:
            yield first
        for cell in cells:
            yield from cell[1:]
        return
    for cell in cells:
        yield from cell


def _own_cell(cell: Any, row: Any) -> bool:
    return next((above for above in cell.iterancestors() if above.tag == f"{_W}tr"), None) is row


def _paragraph(paragraph: Any, styles: dict[str, str]) -> Iterator[Line]:
    properties = paragraph.find(f"{_W}pPr")
    style = numbered = None
    if properties is not None:
        named = properties.find(f"{_W}pStyle")
        style = styles.get(named.get(f"{_W}val"), "") if named is not None else None
        numbered = properties.find(f"{_W}numPr")
    listed = numbered is not None or bool(style and style.lower().startswith("list"))
    heading = bool(style and re.match(r"heading|title|überschrift|titel", style, re.IGNORECASE))
    for text in "".join(_words(paragraph)).split("\n"):
        cells = re.split(r"\t+| {4,}", text)
        if listed and cells and cells[0].strip():
            cells[0] = BULLET + cells[0]
        size = 30.0 if style and style.lower() in ("title", "titel") else 0.0
        line = line_of(cells, 1, size, heading)
        if line:
            yield line


def _words(parent: Any) -> Iterator[str]:
    for child in parent.iterchildren():
        tag = child.tag
        if tag == f"{_W}t":
            yield child.text or ""
        elif tag == f"{_W}tab":
            yield "\t"
        elif tag in (f"{_W}br", f"{_W}cr"):
            yield "\n"
        elif tag == f"{_W}noBreakHyphen":
            yield "-"
        elif tag not in _SKIPPED and tag != f"{_W}txbxContent":
            yield from _words(child)
