"""PDF files by PDFium: the text of each page, exact boxes of characters when they are asked for, page images.

PDFium is not safe for threads, so every call into it holds one lock of the process. The lock is given up between
pages, so that a page image does not wait for a long file. A page is closed before the next one is opened: memory
does not grow with the number of pages, except by their text.
"""

from __future__ import annotations

import ctypes
import io
import re
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pypdfium2 as pdfium  # type: ignore[import-untyped]
import pypdfium2.raw as raw  # type: ignore[import-untyped]

from interlock.apps.contracts.reading.cleaning import clean, origins
from interlock.apps.contracts.reading.document import Box, Document, Page, line_ranges
from interlock.apps.contracts.reading.errors import (
    CorruptPdf,
    EmptyDocument,
    EncryptedPdf,
    ParseTimeout,
    TooLarge,
    TooManyPages,
)
from interlock.apps.contracts.reading.limits import DEFAULT, Limits
from interlock.apps.contracts.reading.ocr import Recogniser, ocr_page, recogniser

if TYPE_CHECKING:
    from PIL.Image import Image

MEDIA_TYPE = "application/pdf"
Progress = Callable[[int, int], None]
"""Hears of each page that was read, as (page, of how many)."""
LOCK = threading.RLock()
FEW_CHARACTERS = 16
"""A page with fewer visible ones, most of it covered by images, was scanned."""
COVERED = 0.5
LARGEST_SCALE = 3.0
OCR_SCALE = 2.0
SEEN_SCALE = 1.0
CONTRAST = 40
"""Of 255 steps of grey, between a word and what is around it; less cannot be read."""
SMALLEST_LETTER = 3.0
"""Points; who writes smaller does not want it read."""
_MOST_OBJECTS = 2_000
_FINE = 64
_PASSWORD = 4
_WORD = re.compile(r"\w{2,}")


def read_pdf(
    data: bytes, limits: Limits = DEFAULT, ocr: Recogniser | None = None, progress: Progress | None = None
) -> Document:
    """Text of all pages; those that were scanned by `ocr`, or by the extra's OCR when none is given."""
    deadline = time.monotonic() + limits.seconds
    pages: list[Page] = []
    characters = scanned = 0
    with _opened(data) as file:
        with LOCK:
            count = len(file)
        if count > limits.pages:
            raise TooManyPages(f"the PDF has {count} pages, and the limit is {limits.pages}; split it")
        for index in range(count):
            found, image = _read_page(file, index, limits)
            characters += len(found.text)
            if characters > limits.characters:
                raise TooLarge(f"the PDF has more than {limits.characters} characters by page {found.number}; split it")
            if image is not None:
                scanned += 1
                if scanned > limits.ocr_pages:
                    raise TooManyPages(f"the PDF has more than {limits.ocr_pages} scanned pages; split it")
                ocr = ocr or recogniser(found.number)
                began = time.monotonic()
                found = ocr_page(image, found, ocr, limits)
                deadline += min(time.monotonic() - began, limits.ocr_seconds_a_page)
            pages.append(found)
            if progress is not None:
                progress(found.number, count)
            if time.monotonic() > deadline:
                raise ParseTimeout(f"reading took longer than {limits.seconds:g} s, at page {index + 1} of {count}")
    if not any(page.text.strip() for page in pages):
        raise EmptyDocument(f"there is no text on any of the PDF's {count} pages")
    return Document(MEDIA_TYPE, tuple(pages))


def pdf_boxes(data: bytes, wanted: Sequence[tuple[int, str, Sequence[tuple[int, int]]]]) -> list[list[list[Box]]]:
    """For each page (its number, its text, ranges of it) and range, one box a line, as PDFium places the characters."""
    found = []
    with _opened(data) as file:
        for number, text, ranges in wanted:
            with LOCK, _page_of(file, number - 1) as page, _text_of(page, number) as handle:
                places = _Places(page, handle)
                if places.text != text:
                    # Another release of PDFium broke this page's lines differently; the same words are still there.
                    ranges = [places.find(text[start:end], start) for start, end in ranges]
                found.append([places.boxes(start, end) for start, end in ranges])
    return found


def pdf_range_at(data: bytes, number: int, text: str, box: Box) -> tuple[int, int] | None:
    """The range of the page's text whose characters have their middle in the box."""
    with _opened(data) as file, LOCK, _page_of(file, number - 1) as page, _text_of(page, number) as handle:
        places = _Places(page, handle)
        if places.text != text:
            return None
        inside = [i for i, char in enumerate(text) if not char.isspace() and _holds(box, places.shown(places.box(i)))]
        return (inside[0], inside[-1] + 1) if inside else None


def pdf_visible(
    data: bytes, wanted: Sequence[tuple[int, str, Sequence[tuple[int, int]]]], limits: Limits = DEFAULT
) -> list[list[bool]]:
    """For each page and range whether all of its words can be seen, by looking at the page as it is shown.

    Text in white, without a fill, under a picture, in tiny letters or beside the paper is in the text layer and nowhere
    to be seen. A scan with a text layer shows its own ink.
    """
    found = []
    with _opened(data) as file:
        for number, text, ranges in wanted:
            with LOCK, _page_of(file, number - 1) as page, _text_of(page, number) as handle:
                places = _Places(page, handle)
                if places.text != text:
                    ranges = [places.find(text[start:end], start) for start, end in ranges]
                shown = _image(page, SEEN_SCALE, limits).convert("L")
                scale = shown.width / max(page.get_size()[0], 1)
                found.append([_all_seen(places, shown, scale, start, end) for start, end in ranges])
    return found


def _all_seen(places: _Places, shown: Image, scale: float, start: int, end: int) -> bool:
    for word in _WORD.finditer(places.text, start, end):
        boxes = places.boxes(*word.span())
        if boxes and not any(_inked(shown, box, scale) for box in boxes):
            return False
    return True


def _inked(shown: Image, box: Box, scale: float) -> bool:
    """Whether something stands out in the box, and is high enough to be read."""
    if max(box.bottom - box.top, box.right - box.left) < SMALLEST_LETTER:
        return False
    left, top = max(int(box.left * scale), 0), max(int(box.top * scale), 0)
    right, bottom = min(int(box.right * scale) + 2, shown.width), min(int(box.bottom * scale) + 2, shown.height)
    if left >= right or top >= bottom:
        return False
    darkest, lightest = shown.crop((left, top, right, bottom)).getextrema()
    return bool(float(lightest) - float(darkest) >= CONTRAST)  # type: ignore[arg-type]


def render_page(data: bytes, number: int, scale: float, limits: Limits = DEFAULT) -> bytes:
    """The page as a PNG; at a smaller scale where it would have more pixels than the limit."""
    with _opened(data) as file:
        with LOCK, _page_of(file, number - 1) as page:
            image = _image(page, scale, limits)
        out = io.BytesIO()
        image.save(out, "PNG", compress_level=3)
    return out.getvalue()


@contextmanager
def _opened(data: bytes) -> Iterator[pdfium.PdfDocument]:
    with LOCK:
        try:
            file = pdfium.PdfDocument(data)
        except pdfium.PdfiumError as error:
            if error.err_code == _PASSWORD:
                raise EncryptedPdf("the PDF asks for a password; save it without one and send it again") from error
            why = str(error).rstrip(".")
            raise CorruptPdf(f"the PDF cannot be opened ({why}); export it again and send that") from error
    try:
        yield file
    finally:
        with LOCK:
            file.close()


@contextmanager
def _page_of(file: pdfium.PdfDocument, index: int) -> Iterator[pdfium.PdfPage]:
    if not 0 <= index < len(file):
        raise IndexError(f"there is no page {index + 1}: the PDF has {len(file)}")
    try:
        page = file[index]
    except pdfium.PdfiumError as error:
        raise CorruptPdf(f"page {index + 1} of the PDF cannot be opened; export it again and send that") from error
    try:
        yield page
    finally:
        page.close()


@contextmanager
def _text_of(page: pdfium.PdfPage, number: int) -> Iterator[pdfium.PdfTextPage]:
    try:
        handle = page.get_textpage()
    except pdfium.PdfiumError as error:
        raise CorruptPdf(f"the text of page {number} cannot be read; export the PDF again and send that") from error
    try:
        yield handle
    finally:
        handle.close()


def _read_page(file: pdfium.PdfDocument, index: int, limits: Limits) -> tuple[Page, Image | None]:
    with LOCK, _page_of(file, index) as page, _text_of(page, index + 1) as handle:
        width, height = page.get_size()
        count = raw.FPDFText_CountChars(handle)
        if count > limits.characters_a_page:
            raise TooLarge(f"page {index + 1} has {count} characters, and the limit is {limits.characters_a_page}")
        text, replaced = clean(_raw_text(handle, count))
        image = None
        if count < 1_000 and len("".join(text.split())) < FEW_CHARACTERS and _covered(page, width * height):
            image = _image(page, OCR_SCALE, limits)
        return Page(index + 1, text, width, height, replaced=replaced), image


def _raw_text(handle: pdfium.PdfTextPage, count: int) -> str:
    """As PDFium has it; the helper's own way asks for each page's box, and recurses over characters left out."""
    if count <= 0:
        return ""
    buffer = (ctypes.c_ushort * (count + 1))()
    written = raw.FPDFText_GetText(handle, 0, count, buffer)
    # "replace" keeps one character for each half of a broken pair, so that the units still count right.
    return bytes(memoryview(buffer)[: max(written - 1, 0)]).decode("utf-16-le", "replace")


def _covered(page: pdfium.PdfPage, area: float) -> bool:
    """Whether images cover so much of the page that it looks like a scan; these may come in strips."""
    covered = 0.0
    for seen, item in enumerate(page.get_objects(filter=[raw.FPDF_PAGEOBJ_IMAGE], max_depth=3)):
        if seen > _MOST_OBJECTS:
            break
        try:
            left, bottom, right, top = item.get_bounds()
        except pdfium.PdfiumError:
            continue
        covered += max(right - left, 0) * max(top - bottom, 0)
        if covered >= COVERED * area:
            return True
    return False


def _image(page: pdfium.PdfPage, scale: float, limits: Limits) -> Image:
    if not 0 < scale <= LARGEST_SCALE:
        raise ValueError(f"scale {scale:g} is not above 0 and at most {LARGEST_SCALE:g}")
    width, height = page.get_size()
    scale = min(scale, (limits.pixels / max(width * height, 1)) ** 0.5)
    # A page of one by a million points still has few pixels at that scale; its longer side is bound too.
    scale = min(scale, 30_000 / max(width, height, 1))
    image: Image = page.render(scale=scale).to_pil().convert("RGB")
    return image


def _holds(box: Box, one: Box | None) -> bool:
    if one is None:
        return False
    x, y = (one.left + one.right) / 2, (one.top + one.bottom) / 2
    return box.left <= x <= box.right and box.top <= y <= box.bottom


class _Places:
    """Where the characters of an open page are; PDFium counts them in UTF-16 units of its own text."""

    def __init__(self, page: pdfium.PdfPage, handle: pdfium.PdfTextPage) -> None:
        self._page, self._handle = page, handle
        source = _raw_text(handle, raw.FPDFText_CountChars(handle))
        self.text, _ = clean(source)
        self._units: Sequence[int] = origins(source)
        if max(source, default="") > "\uffff":
            units, at = [], 0
            for char in source:
                units.append(at)
                at += 2 if ord(char) > 0xFFFF else 1
            self._units = [units[i] for i in self._units]
        self._size = page.get_size()
        self._rect = raw.FS_RECTF()
        self._x, self._y = ctypes.c_int(), ctypes.c_int()

    def find(self, part: str, near: int) -> tuple[int, int]:
        """Where this part of another release's text is in this one's; the place nearest to where it was."""
        words = "".join(part.split())
        kept = [i for i, char in enumerate(self.text) if not char.isspace()]
        packed = "".join(self.text[i] for i in kept)
        places, at = [], packed.find(words) if words else -1
        while at >= 0:
            places.append((kept[at], kept[at + len(words) - 1] + 1))
            at = packed.find(words, at + 1)
        return min(places, key=lambda place: abs(place[0] - near), default=(0, 0))

    def boxes(self, start: int, end: int) -> list[Box]:
        """As shown, one a line; more where the characters of a line do not stand beside each other."""
        found: list[Box | None] = []
        for first, last in line_ranges(self.text, start, end):
            line: Box | None = None
            for i in range(first, last):
                one = None if self.text[i].isspace() else self.box(i)
                if one is None:
                    continue
                if line is not None and not _beside(line, one):
                    found.append(line)
                    line = None
                line = one if line is None else _around(line, one)
            found.append(line)
        return [shown for box in found if (shown := self.shown(box)) is not None]

    def box(self, i: int) -> Box | None:
        """In the page's own space, where up is more; its top is the lower number."""
        place = raw.FPDFText_GetCharIndexFromTextIndex(self._handle, self._units[i])
        if place < 0 or not raw.FPDFText_GetLooseCharBox(self._handle, place, self._rect):
            return None
        one = self._rect
        return Box(one.left, one.bottom, one.right, one.top)

    def shown(self, box: Box | None) -> Box | None:
        """On the page as it is shown: cropped, turned, from the top left."""
        if box is None:
            return None
        x1, y1 = self._point(box.left, box.top)
        x2, y2 = self._point(box.right, box.bottom)
        return Box(min(x1, x2), min(y1, y2), max(x1, x2), max(y1, y2))

    def _point(self, x: float, y: float) -> tuple[float, float]:
        width, height = self._size
        size = round(width * _FINE), round(height * _FINE)
        raw.FPDF_PageToDevice(self._page, 0, 0, *size, 0, x, y, self._x, self._y)
        return self._x.value / _FINE, self._y.value / _FINE


def _beside(line: Box, one: Box) -> bool:
    """Whether a character goes on with its line, across or (on a turned page) downwards."""
    down = min(line.bottom, one.bottom) - max(line.top, one.top)
    across = min(line.right, one.right) - max(line.left, one.left)
    return down > 0.4 * min(line.bottom - line.top, one.bottom - one.top) or across > 0.4 * min(
        line.right - line.left, one.right - one.left
    )


def _around(a: Box, b: Box) -> Box:
    return Box(min(a.left, b.left), min(a.top, b.top), max(a.right, b.right), max(a.bottom, b.bottom))


def is_pdf(data: bytes) -> bool:
    """Whether the bytes say that they are a PDF; some have a few others before."""
    head = data[:1024]
    at = head.find(b"%PDF-")
    return at >= 0 and (not head[:at].strip(b"\xef\xbb\xbf \t\r\n\x00") or (b" obj" in data and b"%%EOF" in data))
