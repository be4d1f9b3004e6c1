"""A document's text on one line, and the way back from it to the page.

Rules read `Flat.text`: every run of white space is one space, quotation marks and dashes have one form, and page
numbers and filing footers between two pages are gone. `Flat.place` leads back to the characters of the page, so that a
quote is always a piece of the stored text, never a tidied copy of it.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass

from interlock.apps.contracts.reading.document import PAGE_BREAK, Document, Span

_SAME_LENGTH = str.maketrans(
    {
        "\u201c": '"',
        "\u201d": '"',
        "\u201e": '"',
        "\u201f": '"',
        "\u2033": '"',
        "\u00ab": '"',
        "\u00bb": '"',
        "\u2018": "'",
        "\u2019": "'",
        "\u201a": "'",
        "\u02bc": "'",
        "\u2010": "-",
        "\u2011": "-",
        "\u2012": "-",
        "\u2013": "-",
        "\u2014": "-",
        "\u2212": "-",
        "\ufffe": "-",
        "\x02": "-",
        "\u00ad": "-",
        "\u00a0": " ",
        "\u2002": " ",
        "\u2003": " ",
        "\u2009": " ",
        "\u202f": " ",
        "\u200b": " ",
        "\ufeff": " ",
        "\u25cf": "\u2022",
        "\u037e": ";",  # the Greek question mark, which some PDFs have for a semicolon
    }
)
_WORD = re.compile(r"\S+")
_FURNITURE = re.compile(
    r"^[ \t]*(?:source:[^\n]{3,200}\d{4}"
    r"|[-\u2013\u2014(]?[ \t]?(?:page[ \t]{1,3})?\d{1,3}[ \t]?[-\u2013\u2014)]?(?:[ \t]{1,3}of[ \t]{1,3}\d{1,3})?"
    r"|<page>|\[?page intentionally left blank\]?)[ \t]*$",
    re.IGNORECASE | re.MULTILINE,
)
_EDGE = 400
"""Page numbers are looked for this many characters from a page's ends only: inside, a lone number is a value."""


def tidy(text: str) -> str:
    """Text with one form of quotes, dashes and blanks, of the same length as before."""
    text = text.translate(_SAME_LENGTH)
    return text.replace("``", ' "').replace("''", '" ')


def squeeze(text: str) -> str:
    """Text on one line with single spaces, as `Flat.text` has it."""
    return " ".join(tidy(text).split())


@dataclass(frozen=True, slots=True)
class Line:
    """One printed line; `start` and `end` are places in the document's text."""

    text: str
    start: int
    end: int


class Flat:
    """The flat text of a document, made once and read by all rules."""

    __slots__ = ("_flat_starts", "_lines", "_raw_starts", "_sentences", "document", "lower", "raw", "text")

    def __init__(self, document: Document) -> None:
        self.document = document
        self.raw = _without_furniture(tidy(document.text))
        flat_starts: list[int] = []
        raw_starts: list[int] = []
        words: list[str] = []
        at = 0
        for match in _WORD.finditer(self.raw):
            word = match.group()
            flat_starts.append(at)
            raw_starts.append(match.start())
            words.append(word)
            at += len(word) + 1
        self._flat_starts = flat_starts
        self._raw_starts = raw_starts
        self.text = " ".join(words)
        self.lower = self.text.lower()
        if len(self.lower) != len(self.text):  # a few letters grow when they become small ones
            self.lower = "".join(c.lower() if len(c.lower()) == 1 else c for c in self.text)
        self._lines: list[Line] | None = None
        self._sentences: list[tuple[int, int]] | None = None

    def raw_at(self, at: int) -> int:
        """The place in the document's text of a character of the flat text."""
        word = max(bisect_right(self._flat_starts, at) - 1, 0)
        if not self._flat_starts:
            return 0
        return self._raw_starts[word] + (at - self._flat_starts[word])

    def flat_at(self, raw: int) -> int:
        """The place in the flat text of a character of the document's text, or of the next that is shown."""
        word = bisect_right(self._raw_starts, raw) - 1
        if word < 0:
            return 0
        end = self._flat_starts[word + 1] - 1 if word + 1 < len(self._flat_starts) else len(self.text)
        return min(self._flat_starts[word] + raw - self._raw_starts[word], end)

    def place(self, start: int, end: int, core: tuple[int, int] | None = None) -> Span | None:
        """Where characters of the flat text are printed; of a passage over a page break, the page that holds `core`."""
        while start < end and self.text[start] == " ":
            start += 1
        while end > start and self.text[end - 1] == " ":
            end -= 1
        if start >= end:
            return None
        spans = self.document.locate(self.raw_at(start), self.raw_at(end - 1) + 1)
        if not spans:
            return None
        if len(spans) == 1:
            return self._trimmed(spans[0])
        middle = core if core is not None else (start, end)
        wanted = self.document.locate(self.raw_at(middle[0]), self.raw_at(middle[1] - 1) + 1)
        if not wanted:
            return None
        page = max(wanted, key=lambda span: span.end - span.start).page
        return next((self._trimmed(span) for span in spans if span.page == page), None)

    def _trimmed(self, span: Span) -> Span:
        """Without white space at its ends, nor the page number that a passage over a page break would end with."""
        begin = self.document.page_start(span.page)
        start, end = begin + span.start, begin + span.end
        while start < end and self.raw[start].isspace():
            start += 1
        while end > start and self.raw[end - 1].isspace():
            end -= 1
        return Span(span.page, start - begin, end - begin)

    def quote(self, span: Span) -> str:
        """The stored text of a span, as it is on the page."""
        return self.document.page(span.page).text[span.start : span.end]

    def lines(self) -> list[Line]:
        """The printed lines that are not empty."""
        if self._lines is None:
            found = []
            at = 0
            for text in re.split(r"[\n\f]", self.raw):
                if text.strip():
                    found.append(Line(" ".join(text.split()), at, at + len(text)))
                at += len(text) + 1
            self._lines = found
        return self._lines

    def sentences(self) -> list[tuple[int, int]]:
        """The bounds of the sentences of the flat text."""
        if self._sentences is None:
            self._sentences = list(_sentences(self.text))
        return self._sentences

    def sentence(self, at: int, longest: int = 1200) -> tuple[int, int]:
        """The bounds of the sentence around a place, at most `longest` characters."""
        bounds = self.sentences()
        index = max(bisect_right(bounds, (at, 1 << 60)) - 1, 0)
        start, end = bounds[index] if bounds else (0, len(self.text))
        if end - start > longest:
            start = max(start, at - longest // 2)
            end = min(end, start + longest)
            while start > 0 and self.text[start - 1] != " ":
                start -= 1
            while end < len(self.text) and self.text[end] != " ":
                end += 1
        return start, end


_STOP = re.compile(r"[.;!?][\"')\]]{0,2} (?=[\"'(\[]{0,2}[A-Z0-9])")
_SHORT = re.compile(
    r"(?:\b(?:inc|corp|co|ltd|llc|l\.l\.c|l\.p|no|nos|mr|mrs|ms|dr|st|ave|blvd|sec|art|vs|u\.s|u\.s\.a|u\.k|n\.v|b\.v|"
    r"s\.a|e\.g|i\.e|a\.m|p\.m|jr|sr|etc|approx|dept|ste|d\.c|[a-z])|\b\d{1,2}(?:\.\d{1,2}){0,3})\.$",
    re.IGNORECASE,
)


_NAMED = re.compile(r"\b(?:exhibit|schedule|appendix|annex|attachment) [A-Z\d]{1,2}\.$", re.IGNORECASE)


def _sentences(text: str) -> list[tuple[int, int]]:
    found = []
    start = 0
    for stop in _STOP.finditer(text):
        end = stop.end() - 1
        dot = stop.start() + 1
        short = text[dot - 1] == "." and _SHORT.search(text, max(dot - 9, 0), dot)
        if short and not _NAMED.search(text, max(dot - 17, 0), dot):
            continue
        found.append((start, end))
        start = stop.end()
    if start < len(text):
        found.append((start, len(text)))
    return found


def _without_furniture(text: str) -> str:
    """Blanks out page numbers and filing footers at the ends of pages, so that a sentence reads over the break."""
    pages = text.split(PAGE_BREAK)

    def blank(match: re.Match[str]) -> str:
        return " " * len(match.group())

    for index, page in enumerate(pages):
        if len(page) <= 2 * _EDGE:
            pages[index] = _FURNITURE.sub(blank, page)
        else:
            head = _FURNITURE.sub(blank, page[:_EDGE]) if index else page[:_EDGE]
            pages[index] = head + page[_EDGE:-_EDGE] + _FURNITURE.sub(blank, page[-_EDGE:])
    return PAGE_BREAK.join(pages)
