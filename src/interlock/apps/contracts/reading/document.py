"""The text of a document by pages, and places in it."""

from __future__ import annotations

import json
import struct
import zlib
from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from interlock.apps.contracts.reading.errors import BadDump

PAGE_BREAK = "\f"
_MAGIC = b"ILDOC\x01"
_LENGTHS = struct.Struct("<III")
_FINE = 65535
LARGEST_LOAD = 1 << 30
"""The largest unpacked size of a stored document, in bytes."""


@dataclass(frozen=True, slots=True)
class Span:
    """Characters `start` to `end` of one page's text; a passage over a page break is several spans."""

    page: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle on the page as it is shown, in points, from its top left corner."""

    left: float
    top: float
    right: float
    bottom: float


@dataclass(frozen=True, slots=True)
class Page:
    """One page: its text, its size as shown, and the quality of its text."""

    number: int
    """From 1."""
    text: str
    width: float = 0.0
    """Points, after the page's own rotation; 0 where there is no page to show (Word files and plain text)."""
    height: float = 0.0
    source: str = "text"
    """`text` for a text layer, `ocr` for what was read from an image."""
    quality: float = 1.0
    """The mean score of the lines that OCR read; 1 for a text layer."""
    boxes: bytes = b""
    """One box a character where OCR read it. Those of a text layer come from the PDF itself when they are asked for
    (`reading.boxes_of`): to fetch all of them while parsing would take as long as the parsing."""
    replaced: int = 0
    """Characters that have no meaning in Unicode as the file gives them: U+FFFD, controls, private use."""

    def stored_boxes(self, start: int, end: int) -> list[Box]:
        """One box a line for these characters, from what is stored here; none for a text layer."""
        if not self.boxes:
            return []
        numbers = array("H", self.boxes)
        found: list[Box] = []
        for first, last in line_ranges(self.text, start, end):
            part = numbers[first * 4 : last * 4]
            # A character without a place (a space that OCR implied) has an empty box.
            shown = [i for i in range(0, len(part), 4) if part[i + 2] > part[i] or part[i + 3] > part[i + 1]]
            if shown:
                found.append(
                    Box(
                        left=min(part[i] for i in shown) * self.width / _FINE,
                        top=min(part[i + 1] for i in shown) * self.height / _FINE,
                        right=max(part[i + 2] for i in shown) * self.width / _FINE,
                        bottom=max(part[i + 3] for i in shown) * self.height / _FINE,
                    )
                )
        return found

    def stored_range(self, box: Box) -> tuple[int, int] | None:
        """The characters that have their middle in the box, by what is stored here, from the first to the last."""
        numbers = array("H", self.boxes)
        inside = []
        for i in range(0, len(numbers), 4):
            left, top, right, bottom = numbers[i : i + 4]
            x, y = (left + right) / 2 * self.width / _FINE, (top + bottom) / 2 * self.height / _FINE
            if right > left and box.left <= x <= box.right and box.top <= y <= box.bottom:
                inside.append(i // 4)
        return (inside[0], inside[-1] + 1) if inside else None


@dataclass(frozen=True, slots=True)
class Document:
    """All pages of a file."""

    media_type: str
    pages: tuple[Page, ...]
    _memo: dict[str, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    @property
    def text(self) -> str:
        """The pages' texts with a form feed between them."""
        if "text" not in self._memo:
            self._memo["text"] = PAGE_BREAK.join(page.text for page in self.pages)
        text: str = self._memo["text"]
        return text

    def page(self, number: int) -> Page:
        """The page of this number, from 1."""
        if not 1 <= number <= len(self.pages):
            raise IndexError(f"there is no page {number}: the document has {len(self.pages)}")
        return self.pages[number - 1]

    def page_start(self, number: int) -> int:
        """Where in `text` this page begins."""
        self.page(number)
        return self._starts()[number - 1]

    def locate(self, start: int, end: int) -> tuple[Span, ...]:
        """These characters of `text` as spans of pages, cut at page breaks; an empty part of a page is left out."""
        if not 0 <= start <= end <= len(self.text):
            raise IndexError(f"{start}:{end} is not in the document's {len(self.text)} characters")
        starts = self._starts()
        found: list[Span] = []
        at = max(bisect_right(starts, start) - 1, 0)
        while at < len(starts) and (starts[at] < end or not found):
            length = len(self.pages[at].text)
            first, last = min(start - starts[at], length), min(end - starts[at], length)
            first = max(first, 0)
            if last > first:
                found.append(Span(self.pages[at].number, first, last))
            elif starts[at] >= end:
                break
            at += 1
        return tuple(found)

    def offsets(self, span: Span) -> tuple[int, int]:
        """Where in `text` a span begins and ends."""
        begin = self.page_start(span.page)
        return begin + span.start, begin + span.end

    def quote(self, spans: Iterable[Span]) -> str:
        """The text of these spans, with a form feed where one page ends and the next begins."""
        return PAGE_BREAK.join(self.page(span.page).text[span.start : span.end] for span in spans)

    def dump(self) -> bytes:
        """The document as compressed bytes, to store it once and never to parse the file again."""
        packer = zlib.compressobj(6)
        parts = [_MAGIC, packer.compress(_packed({"media_type": self.media_type, "pages": len(self.pages)}, b"", b""))]
        for page in self.pages:
            facts = [page.number, page.width, page.height, page.source, page.quality, page.replaced]
            parts.append(packer.compress(_packed(facts, page.text.encode("utf-8", "surrogatepass"), page.boxes)))
        parts.append(packer.flush())
        return b"".join(parts)

    @classmethod
    def load(cls, data: bytes, largest: int = LARGEST_LOAD) -> Document:
        """The document that `dump` wrote. `BadDump` for other bytes, and for more than `largest` when unpacked."""
        if not data.startswith(_MAGIC):
            raise BadDump("these bytes are not a stored document of this version; read the file again")
        try:
            records = _records(data[len(_MAGIC) :], largest)
            head, _, _ = next(records)
            pages = [_page(facts, text, boxes) for facts, text, boxes in records]
            if head["pages"] != len(pages):
                raise BadDump(f"the stored document has {len(pages)} of {head['pages']} pages; read the file again")
            return cls(str(head["media_type"]), tuple(pages))
        except (zlib.error, ValueError, KeyError, TypeError, StopIteration, RecursionError) as error:
            raise BadDump(f"the stored document is damaged ({error}); read the file again") from error

    def _starts(self) -> list[int]:
        if "starts" not in self._memo:
            starts, at = [], 0
            for page in self.pages:
                starts.append(at)
                at += len(page.text) + len(PAGE_BREAK)
            self._memo["starts"] = starts
        found: list[int] = self._memo["starts"]
        return found


def line_ranges(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """The parts of `start` to `end` that lie on one line each, without the line breaks."""
    while start < end:
        stop = text.find("\n", start, end)
        stop = end if stop < 0 else stop
        if stop > start:
            yield start, stop
        start = stop + 1


def pack_boxes(boxes: Iterable[Box | None], width: float, height: float) -> bytes:
    """Boxes of characters in the form that `Page.boxes` has; `None` for a character without a place."""
    numbers = array("H")
    for box in boxes:
        if box is None:
            numbers.extend((0, 0, 0, 0))
            continue
        numbers.extend(
            (
                _fine(box.left, width),
                _fine(box.top, height),
                _fine(box.right, width),
                _fine(box.bottom, height),
            )
        )
    return numbers.tobytes()


def _fine(value: float, whole: float) -> int:
    return min(max(round(value / whole * _FINE), 0), _FINE) if whole else 0


def _packed(facts: Any, text: bytes, boxes: bytes) -> bytes:
    head = json.dumps(facts, separators=(",", ":")).encode()
    return _LENGTHS.pack(len(head), len(text), len(boxes)) + head + text + boxes


def _records(data: bytes, largest: int) -> Iterator[tuple[Any, bytes, bytes]]:
    """Unpack only up to the requested record, so that a zip bomb is detected before it fills the memory."""
    unpacker = zlib.decompressobj()
    held = bytearray()
    total = 0

    def take(count: int) -> bytes:
        nonlocal data, total
        while len(held) < count:
            more = unpacker.decompress(data, 1 << 20)
            data = unpacker.unconsumed_tail
            total += len(more)
            if total > largest:
                raise BadDump(f"the stored document unpacks to more than {largest} bytes; read the file again")
            if not more and not data:
                raise ValueError("it ends too early")
            held.extend(more)
        out = bytes(held[:count])
        del held[:count]
        return out

    while True:
        try:
            lengths = _LENGTHS.unpack(take(_LENGTHS.size))
        except ValueError:
            if unpacker.eof and not held:
                return
            raise
        if sum(lengths) > largest:
            raise BadDump(f"the stored document unpacks to more than {largest} bytes; read the file again")
        head, text, boxes = (take(length) for length in lengths)
        yield json.loads(head), text, boxes


def _page(facts: Any, text: bytes, boxes: bytes) -> Page:
    number, width, height, source, quality, replaced = facts
    return Page(
        int(number),
        text.decode("utf-8", "surrogatepass"),
        float(width),
        float(height),
        str(source),
        float(quality),
        boxes,
        int(replaced),
    )
