"""Plain text files: their encoding from their bytes, their pages from form feeds or by size."""

from __future__ import annotations

import codecs
import re

from interlock.apps.contracts.reading.cleaning import clean
from interlock.apps.contracts.reading.document import Document, Page
from interlock.apps.contracts.reading.errors import EmptyDocument, NotADocument, TooLarge, TooManyPages
from interlock.apps.contracts.reading.limits import DEFAULT, Limits

MEDIA_TYPE = "text/plain"
_CONTROLS = re.compile("[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f]")
_MANY_CONTROLS = 0.001


def read_plain(data: bytes, limits: Limits = DEFAULT) -> Document:
    """The text of a file in UTF-8, UTF-16 or Windows-1252; `NotADocument` for bytes that are no text."""
    return paged(decode(data), MEDIA_TYPE, limits)


def decode(data: bytes) -> str:
    """Bytes as text, by their mark or by what they can be; a guess that yields control characters is wrong."""
    for mark, encoding in (
        (codecs.BOM_UTF8, "utf-8"),
        (codecs.BOM_UTF32_LE, "utf-32-le"),
        (codecs.BOM_UTF16_LE, "utf-16-le"),
        (codecs.BOM_UTF16_BE, "utf-16-be"),
    ):
        if data.startswith(mark):
            return _checked(data[len(mark) :], encoding)
    if b"\x00" in data:
        even, odd = data[0:4096:2].count(0), data[1:4096:2].count(0)
        return _checked(data, "utf-16-le" if odd > even else "utf-16-be")
    try:
        return _checked(data, "utf-8")
    except NotADocument:
        return _checked(data, "cp1252")


def _checked(data: bytes, encoding: str) -> str:
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        raise NotADocument(f"the file is neither a PDF nor a Word file nor text ({error.reason})") from error
    if len(_CONTROLS.findall(text)) > _MANY_CONTROLS * len(text):
        raise NotADocument("the file is neither a PDF nor a Word file nor text: it is full of control characters")
    return text


def paged(text: str, media_type: str, limits: Limits) -> Document:
    """A document of one page for each form feed, and pages of bounded size where there are none."""
    if len(text) > limits.characters:
        raise TooLarge(f"the text has {len(text)} characters, and the limit is {limits.characters}; split it")
    parts = [clean(part) for part in text.split("\f")]
    if not any(part.strip() for part, _ in parts):
        raise EmptyDocument("there is no text in the file")
    # A page that the file itself marks may be longer than one that is cut here.
    size = limits.text_page if len(parts) == 1 else limits.characters_a_page
    pages: list[Page] = []
    for part, _ in parts:
        for piece in _pieces(part, size):
            pages.append(Page(len(pages) + 1, piece, replaced=clean(piece)[1]))
            if len(pages) > limits.pages:
                raise TooManyPages(f"the text has more than {limits.pages} pages; split it")
    while len(pages) > 1 and not pages[-1].text.strip():
        pages.pop()
    return Document(media_type, tuple(pages))


def _pieces(text: str, size: int) -> list[str]:
    """Parts of at most `size`, cut at an empty line, else at a line's end, else at a space, else anywhere.

    The character that a cut falls on is left out: the page break stands for it.
    """
    found = []
    at = 0
    while len(text) - at > size:
        cut = -1
        for mark in ("\n\n", "\n", " "):
            cut = text.rfind(mark, at + size // 2, at + size)
            if cut >= 0:
                break
        if cut < 0:
            found.append(text[at : at + size])
            at += size
        else:
            found.append(text[at:cut])
            at = cut + 1
    found.append(text[at:])
    return found
