"""The normal text of a document: its words with one space between them, without page headers, footers and numbers.

Two documents that were only set differently (line breaks, quotation marks, hyphens at line ends) have the same
normal text. Omitted lines are kept separately, so that nothing can be hidden in a footer.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

EDGE_LINES = 4
"""How many lines at the top and the bottom of a page can be a header or a footer."""
TAIL = 15
"""A footer at least this long is also found where it stands on one line with the last words of the page."""
LINE_BREAK_HYPHEN = "\ufffe"
"""What pdfium writes where a word was split by a hyphen at the end of a line."""

_QUOTES = {ord(c): "'" for c in "\u2018\u2019\u201a\u2032"} | {ord(c): '"' for c in "\u201c\u201d\u201e\u2033"}
_DASHES = {ord(c): "-" for c in "\u2010\u2011\u2012\u2013\u2014\u2212"}
_LIGATURES = {0xFB00: "ff", 0xFB01: "fi", 0xFB02: "fl", 0xFB03: "ffi", 0xFB04: "ffl"}
_DROPPED = {ord(c): None for c in "\u00ad\u200b\u200c\u200d\u2060\ufeff"}
_FOLD = _QUOTES | _DASHES | _LIGATURES | _DROPPED
_IDEOGRAPH = "\u2e80-\u9fff\uf900-\ufaff\uac00-\ud7af"
_AROUND_IDEOGRAPHS = re.compile(f"(?<=[{_IDEOGRAPH}]) | (?=[{_IDEOGRAPH}])")
_SPLIT_WORD = re.compile(rf"\b(\w+)[{LINE_BREAK_HYPHEN}\x02](\w+)")
_HARD_SPLIT = re.compile(r"\b(\w+)-\Z")
_OPEN_DASH = re.compile(r"[^\s-]-\Z")
_PAGE_NUMBER = re.compile(
    r"[-| ]*(?:(?:page|seite|p\.) ?)?(?:\d{1,4}|[ivxlc]{1,6})(?: ?(?:/|of|von) ?\d{1,4})?[-| ]*\Z", re.IGNORECASE
)
_WORD = re.compile(r"\w+(?:-\w+)*")
_NUMBERED = re.compile(r"\d+(?:\.\d+)*[.)](?: |\Z)|\d+\.\d|\(|§|(?:section|article|clause) \d", re.IGNORECASE)
_DIGITS = re.compile(r"\d+")


class PageText(Protocol):
    """A page as comparison reads it; `reading.Page` is one."""

    @property
    def number(self) -> int: ...

    @property
    def text(self) -> str: ...


class Readable(Protocol):
    """A document as comparison reads it; `reading.Document` is one."""

    @property
    def pages(self) -> Sequence[PageText]: ...


@dataclass(frozen=True, slots=True)
class PlainPage:
    """One page of text that comes from no file."""

    number: int
    text: str


@dataclass(frozen=True, slots=True)
class PlainDocument:
    """Text that comes from no file, for templates and tests."""

    pages: tuple[PlainPage, ...]

    @classmethod
    def of(cls, *texts: str) -> PlainDocument:
        """Make a document with one page for each text."""
        return cls(tuple(PlainPage(number, text) for number, text in enumerate(texts, 1)))


@dataclass(frozen=True, slots=True)
class TextSpan:
    """A part of the text of one page, by its offsets."""

    page: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a page in normal form, with its span."""

    text: str
    span: TextSpan
    after_gap: bool
    """Whether an empty line comes before it."""
    width: int


@dataclass(frozen=True, slots=True)
class Lines:
    """The lines of a document that carry its text, and those that were left out."""

    kept: tuple[Line, ...]
    ignored: tuple[str, ...]
    """Headers, footers and page numbers: each different one once."""
    vocabulary: frozenset[str]


def fold(text: str) -> str:
    """Return the text with one form for each kind of quotation mark, dash, ligature and space."""
    return " ".join(unicodedata.normalize("NFC", text.translate(_FOLD)).split())


def lines_of(document: Readable) -> Lines:
    """Return the lines of a document in order, with headers, footers and page numbers set apart."""
    pages = [_page_lines(page) for page in document.pages]
    # A form with one page has no header that repeats; three pages, or all of two, make one.
    often = max(2, min(3, len(pages)))
    repeated = _repeated(pages, often)
    texts = Counter(line.text for page in pages for line in page[-EDGE_LINES:] if len(line.text) >= TAIL)
    footers = [text for text, count in texts.items() if count >= often and _shape(text) in repeated]
    kept: list[Line] = []
    ignored: dict[str, None] = {}
    words: set[str] = set()
    for page in pages:
        body = _without_tail(_without_edges(page, repeated, ignored), footers, ignored)
        kept.extend(body)
        for line in body:
            words.update(_WORD.findall(line.text.lower()))
    return Lines(tuple(kept), tuple(ignored), frozenset(words))


def join(texts: Iterable[str], vocabulary: frozenset[str]) -> str:
    """Join lines into one normal text; words that were split at a line end are put together again."""
    parts: list[str] = []
    for text in texts:
        before = parts[-1] if parts else ""
        split = _HARD_SPLIT.search(before)
        if split and text[:1].islower():
            first, rest = split.group(1), (_WORD.match(text) or [""])[0]
            if _one_word(first, rest, vocabulary):
                parts[-1] = before[:-1]
            parts.append(text)
        elif _OPEN_DASH.search(before):
            parts.append(text)
        else:
            parts += [" ", text]

    def mend(match: re.Match[str]) -> str:
        first, rest = match.groups()
        return f"{first}{'' if _one_word(first, rest, vocabulary) else '-'}{rest}"

    joined = _SPLIT_WORD.sub(mend, "".join(parts)).replace(LINE_BREAK_HYPHEN, "-").replace("\x02", "-")
    return fold(_AROUND_IDEOGRAPHS.sub("", fold(joined)))


def _one_word(first: str, rest: str, vocabulary: frozenset[str]) -> bool:
    """Whether a hyphen only split a word: the whole word stands elsewhere, the hyphenated one does not."""
    return (first + rest).lower() in vocabulary and f"{first}-{rest}".lower() not in vocabulary


def _page_lines(page: PageText) -> list[Line]:
    lines: list[Line] = []
    at, gap = 0, False
    for raw in re.split(r"(?<=\n)", page.text):
        text = fold(raw)
        if text:
            start = at + len(raw) - len(raw.lstrip())
            lines.append(Line(text, TextSpan(page.number, start, at + len(raw.rstrip())), gap, len(raw.rstrip())))
        gap = not text
        at += len(raw)
    return lines


def _edges(page: list[Line]) -> list[Line]:
    if len(page) <= 2 * EDGE_LINES:
        return page
    return page[:EDGE_LINES] + page[-EDGE_LINES:]


def _repeated(pages: list[list[Line]], often: int) -> set[str]:
    """Return the shapes of lines that stand on many pages: with the same words, and numbers that count the pages."""
    seen: dict[str, dict[int, tuple[int, ...]]] = {}
    for page in pages:
        for line in _edges(page):
            if not _NUMBERED.match(line.text):
                numbers = tuple(int(digits[:9]) for digits in _DIGITS.findall(line.text))
                seen.setdefault(_shape(line.text), {}).setdefault(line.span.page, numbers)
    return {shape for shape, by_page in seen.items() if len(by_page) >= often and _counts_pages(by_page)}


def _counts_pages(by_page: dict[int, tuple[int, ...]]) -> bool:
    """Whether each number of a line is the same everywhere, or goes up with the pages.

    "Price: 10 euros" and "Price: 12 euros" at the foot of two pages are text.
    """
    for values in zip(*by_page.values(), strict=True):
        offsets = {value - page for value, page in zip(values, by_page, strict=True)}
        if len(set(values)) > 1 and len(offsets) > 1:
            return False
    return True


def _shape(text: str) -> str:
    return _DIGITS.sub("#", text.lower())


def _without_edges(page: list[Line], repeated: set[str], ignored: dict[str, None]) -> list[Line]:
    """Drop headers and footers from the edges inwards; the first line of the text proper ends each search."""
    first, last = 0, len(page)

    def furniture(line: Line) -> bool:
        # A line of digits alone has the shape of every other, so only what has letters counts as repeated.
        shape = _shape(line.text)
        return bool(_PAGE_NUMBER.match(line.text)) or (shape in repeated and any(c.isalpha() for c in shape))

    while first < min(last, EDGE_LINES) and furniture(page[first]):
        first += 1
    while last > max(first, len(page) - EDGE_LINES) and furniture(page[last - 1]):
        last -= 1
    for line in page[:first] + page[last:]:
        ignored.setdefault(line.text)
    return page[first:last]


def _without_tail(page: list[Line], footers: list[str], ignored: dict[str, None]) -> list[Line]:
    for footer in footers:
        if page and page[-1].text.endswith(f" {footer}"):
            ignored.setdefault(footer)
            last = page[-1]
            page = [*page[:-1], replace(last, text=last.text.removesuffix(footer).rstrip())]
    return page
