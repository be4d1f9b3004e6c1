"""Word files (DOCX): headers, paragraphs, tables and footers in the order in which they are read.

The text is walked in the XML, for python-docx's own `Paragraph.text` leaves out what stands in tracked insertions
and in content controls, and contracts are full of both. Deleted text is left out.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterable, Iterator
from typing import Any

import docx
from docx.oxml.ns import qn

from interlock.apps.contracts.reading.document import Document
from interlock.apps.contracts.reading.errors import (
    CorruptDocument,
    EmptyDocument,
    NotReadable,
    TooLarge,
    UnsupportedType,
)
from interlock.apps.contracts.reading.limits import DEFAULT, Limits
from interlock.apps.contracts.reading.numbering import Numbering
from interlock.apps.contracts.reading.plain import paged

MEDIA_TYPE = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
_MOST_PARTS = 5_000
_SKIPPED = {
    qn("w:del"),
    qn("w:moveFrom"),
    qn("w:pPr"),
    qn("w:rPr"),
    qn("w:instrText"),
    "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback",  # the same again for old programs
}
_INSTEAD = {
    qn("w:tab"): "\t",
    qn("w:cr"): "\n",
    qn("w:noBreakHyphen"): "-",
    qn("w:lastRenderedPageBreak"): "\f",
}


def read_word(data: bytes, limits: Limits = DEFAULT) -> Document:
    """The text of a DOCX file; pages are those that Word wrote down when it last laid the file out."""
    _refuse_bombs(data, limits)
    try:
        file = docx.Document(io.BytesIO(data))
        text = "\n".join(_lines(file))
    except NotReadable:
        raise
    except Exception as error:  # the library lets errors of zip, XML and its own lookups through
        raise CorruptDocument(f"the Word file cannot be opened ({error}); save it again and send that") from error
    pages = [page.strip("\n") for page in text.split("\f")]
    kept = [page for page in pages if page.strip()]
    if not kept:
        raise EmptyDocument("there is no text in the Word file")
    return paged("\f".join(kept), MEDIA_TYPE, limits)


def _refuse_bombs(data: bytes, limits: Limits) -> None:
    """By the sizes that the archive states: no part is unpacked beyond what it states for it."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            parts = archive.infolist()
    except (zipfile.BadZipFile, ValueError, OSError, NotImplementedError) as error:
        raise CorruptDocument(f"the file begins like a Word file and cannot be unpacked ({error})") from error
    if len(parts) > _MOST_PARTS or sum(part.file_size for part in parts) > limits.unpacked:
        raise TooLarge(f"the Word file unpacks to more than {limits.unpacked} bytes or {_MOST_PARTS} parts")
    if not any(part.filename == "word/document.xml" for part in parts):
        raise UnsupportedType("the file is an archive without a Word document in it; send a PDF, DOCX or text file")
    if any(part.flag_bits & 1 for part in parts):
        raise UnsupportedType("the Word file is packed with a password; save it without one and send it again")


def _lines(file: Any) -> Iterator[str]:
    sections = list(file.sections)
    yield from _once(section.header for section in sections)
    yield from _blocks(file.element.body, Numbering.of(file))
    yield from _once(section.footer for section in sections)


def _once(parts: Iterable[Any]) -> list[str]:
    """Each section repeats its header; it is read once."""
    texts = ["" if part.is_linked_to_previous else "\n".join(_blocks(part._element, None)).strip() for part in parts]
    return [text for text in dict.fromkeys(texts) if text]


def _blocks(parent: Any, numbering: Numbering | None) -> Iterator[str]:
    for child in parent.iterchildren():
        if child.tag == qn("w:p"):
            label = numbering.label(child) if numbering is not None else ""
            text = "".join(_words(child))
            # The number stands after a page break that the paragraph begins with.
            broken = len(text) - len(text.lstrip("\f"))
            yield text[:broken] + (f"{label} " if label else "") + text[broken:]
        elif child.tag == qn("w:tr"):
            yield "\t".join(" ".join(_blocks(cell, numbering)).strip() for cell in _cells(child))
        elif child.tag not in _SKIPPED:
            yield from _blocks(child, numbering)


def _cells(parent: Any) -> Iterator[Any]:
    for child in parent.iterchildren():
        if child.tag == qn("w:tc"):
            yield child
        elif child.tag not in _SKIPPED:
            yield from _cells(child)


def _words(parent: Any) -> Iterator[str]:
    for child in parent.iterchildren():
        tag = child.tag
        if tag == qn("w:t"):
            yield child.text or ""
        elif tag == qn("w:br"):
            yield "\f" if child.get(qn("w:type")) == "page" else "\n"
        elif tag in _INSTEAD:
            yield _INSTEAD[tag]
        elif tag not in _SKIPPED:
            yield from _words(child)
