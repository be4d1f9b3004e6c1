"""Word files (DOCX): headers, paragraphs, tables and footers in the order in which they are read.

The text is walked in the XML, for python-docx's own `Paragraph.text` leaves out what stands in tracked insertions
and in content controls, and contracts are full of both. Deleted text is left out, and so is text that Word does not
show or that nobody can read: hidden, in tiny letters, white on white.
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
_SMALLEST = 6
"""Half points; who writes smaller does not want it read."""
_OFF = {"0", "false", "off"}
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
        elif tag not in _SKIPPED and not (tag == qn("w:r") and _unseen(child)):
            yield from _words(child)


def _unseen(run: Any) -> bool:
    """Whether a person who opens the file does not see these words, by what the run itself says."""
    said = run.find(qn("w:rPr"))
    if said is None:
        return False
    vanish, size, colour = (said.find(qn(name)) for name in ("w:vanish", "w:sz", "w:color"))
    if vanish is not None and str(vanish.get(qn("w:val"), "1")).lower() not in _OFF:
        return True
    if size is not None and str(size.get(qn("w:val"))).isdecimal() and int(size.get(qn("w:val"))) < _SMALLEST:
        return True
    if colour is None or str(colour.get(qn("w:val"))).upper() != "FFFFFF":
        return False
    # White is read where something dark may lie behind it: a shaded word, paragraph or cell, or a table's own style.
    behind = ("w:rPr/w:shd", "w:rPr/w:highlight", "w:pPr/w:shd", "w:tcPr/w:shd", "w:tblPr/w:shd", "w:tblPr/w:tblStyle")
    names = ["/".join(qn(part) for part in path.split("/")) for path in behind]
    return not any(above.find(name) is not None for above in (run, *run.iterancestors()) for name in names)
