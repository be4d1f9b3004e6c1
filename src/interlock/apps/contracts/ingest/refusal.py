"""Refuses a file that is no contract, by its name and with the reason, before anything is stored.

The type of a file comes from its bytes. Its name counts only against it: what is called `x.pdf` and is no PDF was
damaged on its way, and reading its few bytes as text would help nobody.
"""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Mapping
from pathlib import PurePath

from interlock.apps.contracts.reading.errors import EmptyDocument, NotADocument, UnsupportedType
from interlock.apps.contracts.reading.file import PDF, WORD
from interlock.apps.contracts.reading.plain import decode

TEXT = "text/plain"
FEWEST_WORDS = 8
"""A text with fewer words is no contract."""
LOOKED_AT = 20_000
PROMISES: Mapping[str, str] = {".pdf": "a PDF", ".docx": "a Word file"}
NO_CONTRACTS: Mapping[str, str] = {
    ".csv": "a table (CSV)",
    ".tsv": "a table (TSV)",
    ".xlsx": "a spreadsheet",
    ".xls": "a spreadsheet",
    ".ods": "a spreadsheet",
    ".pptx": "a presentation",
    ".json": "data (JSON)",
    ".xml": "data (XML)",
    ".yaml": "data (YAML)",
    ".ics": "a calendar",
    ".eml": "a mail",
    ".zip": "an archive",
}
INSIDE: Mapping[str, str] = {"xl/workbook": "a spreadsheet", "ppt/presentation": "a presentation"}
SENDABLE = "send a PDF, DOCX or text file"
_WORD = re.compile(r"[^\W\d_]{2,}")
_DELIMITERS = ",;\t|"
TABLE_LINES, TABLE_CELLS, TABLE_WORDS = 3, 3, 4


def check(content: bytes, filename: str, kind: str) -> None:
    """Raise a ReadingError that names the file and the reason, if it is no contract."""
    name, ending = _shown(filename), PurePath(filename).suffix.lower()
    promised = PROMISES.get(ending)
    if promised and kind == TEXT:  # a Word file that is called x.pdf is still a document
        size = f"{len(content)} byte{'' if len(content) == 1 else 's'}"
        raise NotADocument(f"{name} is not {promised}: it is text ({size}); export it again and send that")
    if ending in NO_CONTRACTS and kind != PDF:
        raise UnsupportedType(f"{name} is {NO_CONTRACTS[ending]}, not a contract; {SENDABLE}")
    if kind == WORD:
        _check_archive(content, name)
    elif kind == TEXT:
        _check_text(content, name)


def _check_archive(content: bytes, name: str) -> None:
    """A Word file is a ZIP archive with a part of its own; spreadsheets and presentations have others."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            names = archive.namelist()
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError):
        return  # a damaged archive: the reader says what is wrong with it
    if any(one.startswith("word/document") for one in names):
        return
    kind = next((what for part, what in INSIDE.items() if any(one.startswith(part) for one in names)), "an archive")
    raise UnsupportedType(f"{name} is {kind}, not a contract; {SENDABLE}")


def _check_text(content: bytes, name: str) -> None:
    try:
        text = decode(content[: 4 * LOOKED_AT] if len(content) > 4 * LOOKED_AT else content)
    except NotADocument as error:
        if len(content) > 4 * LOOKED_AT:
            return  # a character may be cut in half; the reader sees all of it
        raise NotADocument(f"{name}: {error}") from None
    words = _WORD.findall(text[:LOOKED_AT])
    if not words:
        raise EmptyDocument(f"{name} has no words; {SENDABLE}")
    if len(words) < FEWEST_WORDS:
        raise NotADocument(f"{name} has only {len(words)} word{'' if len(words) == 1 else 's'}, too few for a contract")
    if _is_table(text[:LOOKED_AT]):
        raise UnsupportedType(f"{name} is a table, not a contract; {SENDABLE}")


def _is_table(text: str) -> bool:
    """Whether every line has the same number of short cells."""
    lines = [line for line in text.splitlines() if line.strip()][:50]
    if len(lines) < TABLE_LINES:
        return False
    for mark in _DELIMITERS:
        if 2 * text.count(f"{mark} ") > text.count(mark):
            continue  # prose has a space after its commas
        counts = {line.count(mark) for line in lines}
        if len(counts) == 1 and counts.pop() >= TABLE_CELLS - 1:
            cells = [cell for line in lines for cell in line.split(mark)]
            return sum(len(cell.split()) for cell in cells) <= TABLE_WORDS * len(cells)
    return False


def _shown(filename: str) -> str:
    return repr(filename[:200]) if filename else "the file"
