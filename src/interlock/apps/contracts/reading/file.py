"""Reads the bytes of any supported file into a document; the name is never trusted."""

from __future__ import annotations

from collections.abc import Sequence

from interlock.apps.contracts.reading.document import Box, Document, Span
from interlock.apps.contracts.reading.errors import EmptyDocument, NotADocument, TooLarge, UnsupportedType
from interlock.apps.contracts.reading.limits import DEFAULT, Limits
from interlock.apps.contracts.reading.ocr import Recogniser
from interlock.apps.contracts.reading.pdf import (
    MEDIA_TYPE,
    Progress,
    is_pdf,
    pdf_boxes,
    pdf_range_at,
    pdf_visible,
    read_pdf,
)
from interlock.apps.contracts.reading.plain import read_plain
from interlock.apps.contracts.reading.word import read_word

_KNOWN = (
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an old Office file, or one with a password"),
    (b"{\\rtf", "a file in rich text format"),
    (b"%!PS", "a PostScript file"),
    (b"\x89PNG\r\n\x1a\n", "an image"),
    (b"\xff\xd8\xff", "an image"),
    (b"GIF8", "an image"),
    (b"II*\x00", "an image"),
    (b"MM\x00*", "an image"),
    (b"<!doctype html", "a web page"),
    (b"<html", "a web page"),
)
PDF = "application/pdf"
WORD = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
_ZIP = (b"PK\x03\x04", b"PK\x05\x06", b"PK\x07\x08")
_PROGRAMS = (
    b"\x7fELF",
    b"MZ\x90\x00",
    b"\x1f\x8b",
    b"7z\xbc\xaf",
    b"Rar!",
    b"BZh",
    b"\xfd7zXZ",
    b"SQLite format 3\x00",
)


def read(
    data: bytes,
    filename: str = "",
    limits: Limits = DEFAULT,
    ocr: Recogniser | None = None,
    progress: Progress | None = None,
) -> Document:
    """The document in these bytes: PDF, Word (DOCX) or plain text. A `ReadingError` says why not."""
    kind = media_type(data, filename, limits)
    if kind == PDF:
        return read_pdf(data, limits, ocr, progress)
    return read_word(data, limits) if kind == WORD else read_plain(data, limits)


def media_type(data: bytes, filename: str = "", limits: Limits = DEFAULT) -> str:
    """The type of the file, by its first bytes and never by its name. Raises `ReadingError` if it is not supported."""
    name = repr(filename[:200]) if filename else "the file"
    if len(data) > limits.bytes:
        raise TooLarge(f"{name} has {len(data)} bytes, and the limit is {limits.bytes}")
    if not data.strip(b" \t\r\n\f\x00"):
        raise EmptyDocument(f"{name} is empty")
    if is_pdf(data):
        return PDF
    if data.startswith(_ZIP):
        return WORD
    head = data[:64].lstrip().lower()
    for magic, what in _KNOWN:
        if data.startswith(magic) or (magic.startswith(b"<") and head.startswith(magic)):
            raise UnsupportedType(f"{name} is {what}; send a PDF, DOCX or text file")
    if data.startswith(_PROGRAMS):
        raise NotADocument(f"{name} is not a document; send a PDF, DOCX or text file")
    return "text/plain"


def boxes_of(document: Document, spans: Sequence[Span], data: bytes) -> list[list[Box]]:
    """For each span its boxes, one a line; `data` is the file that was read. None for files without pages to show."""
    by_page: dict[int, list[Span]] = {}
    for span in spans:
        page = document.page(span.page)
        if not 0 <= span.start <= span.end <= len(page.text):
            raise IndexError(f"{span.start}:{span.end} is not in the {len(page.text)} characters of page {span.page}")
        by_page.setdefault(span.page, []).append(span)
    layered = [n for n in sorted(by_page) if document.media_type == MEDIA_TYPE and document.page(n).source == "text"]
    wanted = [(n, document.page(n).text, [(span.start, span.end) for span in by_page[n]]) for n in layered]
    found: dict[Span, list[Box]] = {}
    for number, boxes in zip(layered, pdf_boxes(data, wanted) if wanted else (), strict=True):
        found.update(zip(by_page[number], boxes, strict=True))
    return [
        found[span] if span in found else document.page(span.page).stored_boxes(span.start, span.end) for span in spans
    ]


def visible(document: Document, spans: Sequence[Span], data: bytes, limits: Limits = DEFAULT) -> list[bool]:
    """For each span whether all of its words are visible on the page; text from OCR always is."""
    by_page: dict[int, list[Span]] = {}
    for span in spans:
        if document.media_type == MEDIA_TYPE and document.page(span.page).source == "text":
            by_page.setdefault(span.page, []).append(span)
    wanted = [(n, document.page(n).text, [(s.start, s.end) for s in by_page[n]]) for n in sorted(by_page)]
    hidden: set[Span] = set()
    for (number, _, _), shown in zip(wanted, pdf_visible(data, wanted, limits) if wanted else (), strict=True):
        hidden |= {span for span, seen in zip(by_page[number], shown, strict=True) if not seen}
    return [span not in hidden for span in spans]


def span_at(document: Document, page: int, box: Box, data: bytes) -> Span | None:
    """The text under a rectangle on the page; nothing where no character has its middle in it."""
    shown = document.page(page)
    if document.media_type != MEDIA_TYPE:
        return None
    found = shown.stored_range(box) if shown.source == "ocr" else pdf_range_at(data, page, shown.text, box)
    return Span(page, *found) if found else None
