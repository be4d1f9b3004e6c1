"""PDFs: their text by pages, exact places, limits, and files that mean harm."""

from __future__ import annotations

import io
import subprocess
import sys
import textwrap
from contextlib import suppress
from pathlib import Path

import pypdfium2 as pdfium
import pytest
from PIL import Image

from interlock.apps.contracts.errors import NotRetryable
from interlock.apps.contracts.reading import (
    Box,
    Document,
    Limits,
    Span,
    boxes_of,
    errors,
    ground,
    read,
    render,
    span_at,
)
from tests.support.files import HEIGHT, WIDTH, long_pdf, pdf, raw_pdf, stream

LINES = ["AGREEMENT of 1 March 2020", "between Alpha GmbH and Beta Inc.", "Price: 29,90 \u20ac"]


def test_a_pdf_becomes_its_pages_with_their_text_and_size() -> None:
    document = read(pdf([LINES, ["Second page"]]), "x.pdf")
    assert [page.text for page in document.pages] == ["\n".join(LINES), "Second page"]
    assert [page.number for page in document.pages] == [1, 2]
    assert (document.pages[0].width, document.pages[0].height) == (WIDTH, HEIGHT)
    assert document.media_type == "application/pdf"
    assert document.pages[0].source == "text"
    assert document.pages[0].quality == 1.0


def test_the_name_of_a_file_is_never_trusted() -> None:
    assert read(pdf([LINES]), "contract.exe").media_type == "application/pdf"
    assert read(b"Only text in here.", "contract.pdf").media_type == "text/plain"


def test_progress_hears_of_each_page() -> None:
    heard: list[tuple[int, int]] = []
    read(pdf([LINES] * 3), progress=lambda page, of: heard.append((page, of)))
    assert heard == [(1, 3), (2, 3), (3, 3)]


def ink(data: bytes, page: int, box: Box) -> bool:
    """Whether there is something dark in this box of the page as it is rendered."""
    image = Image.open(io.BytesIO(render(data, page, scale=2))).convert("L")
    part = image.crop(tuple(round(2 * side) for side in (box.left, box.top, box.right, box.bottom)))
    return bool(part.getextrema()[0] < 100)


@pytest.mark.parametrize("turn", [0, 90, 180, 270])
def test_a_value_has_the_box_of_exactly_its_characters_on_the_page_as_shown(turn: int) -> None:
    data = pdf([["xx Alpha xx", "            "]], turn=turn)
    document = read(data)
    start = document.pages[0].text.index("Alpha")
    [[box]] = boxes_of(document, [Span(1, start, start + 5)], data)
    size = (WIDTH, HEIGHT) if turn % 180 == 0 else (HEIGHT, WIDTH)
    assert (document.pages[0].width, document.pages[0].height) == size
    assert ink(data, 1, box)
    assert span_at(document, 1, box, data) == Span(1, start, start + 5)
    long, short = box.right - box.left, box.bottom - box.top
    if turn % 180:
        long, short = short, long
    assert 25 < long < 40
    assert 8 < short < 18


def test_a_span_over_lines_has_a_box_a_line() -> None:
    data = pdf([LINES])
    document = read(data)
    start = document.text.index("2020")
    end = document.text.index("Alpha") + 5
    [boxes] = boxes_of(document, [Span(1, start, end)], data)
    assert len(boxes) == 2
    assert boxes[0].left > boxes[1].left
    assert boxes[0].bottom < boxes[1].bottom
    assert boxes[1].left == pytest.approx(72, abs=1)
    assert boxes[0].top == pytest.approx(HEIGHT - 700 - 12, abs=4)


def test_boxes_come_in_the_order_of_the_spans_over_several_pages() -> None:
    data = pdf([["first", "second"], ["third"]])
    document = read(data)
    found = boxes_of(document, [Span(2, 0, 5), Span(1, 6, 12), Span(1, 0, 5)], data)
    assert [round(boxes[0].top - 92 + 12) // 10 for boxes in found] == [0, 2, 0]


def test_a_span_outside_of_its_page_is_an_error() -> None:
    data = pdf([["short"]])
    with pytest.raises(IndexError, match="2:99 is not in the 5 characters of page 1"):
        boxes_of(read(data), [Span(1, 2, 99)], data)


def test_text_of_another_release_still_finds_its_boxes() -> None:
    data = pdf([LINES])
    document = read(data)
    page = document.pages[0]
    other = Document("application/pdf", (type(page)(1, page.text.replace("\n", " \n\n"), page.width, page.height),))
    start, was = other.text.index("Alpha"), document.text.index("Alpha")
    assert boxes_of(other, [Span(1, start, start + 5)], data) == boxes_of(document, [Span(1, was, was + 5)], data)


def test_nothing_is_under_an_empty_part_of_the_page() -> None:
    data = pdf([LINES])
    assert span_at(read(data), 1, Box(0, 500, 600, 700), data) is None


CMAP = b"""/CIDInit /ProcSet findresource begin 12 dict begin begincmap /CMapName /X def /CMapType 2 def
1 begincodespacerange <00><FF> endcodespacerange
4 beginbfchar <41><D83DDE00> <42><00660069> <43><FFFD> <44><E123> endbfchar endcmap end end"""


def odd_letters(shown: bytes) -> bytes:
    return raw_pdf(
        [
            b"<</Type/Catalog/Pages 2 0 R>>",
            b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
            b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents 4 0 R/Resources<</Font<</F1 5 0 R>>>>>>",
            stream(b"BT /F1 12 Tf 72 700 Td (" + shown + b") Tj ET"),
            b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica/ToUnicode 6 0 R>>",
            stream(CMAP),
        ]
    )


def test_letters_beyond_the_first_plane_do_not_shift_the_boxes_after_them() -> None:
    data = odd_letters(b"AAAxyz")
    document = read(data)
    assert document.text == "\U0001f600\U0001f600\U0001f600xyz"
    [[first], [last]] = boxes_of(document, [Span(1, 0, 1), Span(1, 5, 6)], data)
    assert last.left == pytest.approx(72 + 3 * 8.004 + 12, abs=0.1)
    assert first.left == pytest.approx(72, abs=0.1)


def test_characters_without_meaning_are_counted() -> None:
    assert read(odd_letters(b"xCCDy")).pages[0].replaced == 3
    assert read(odd_letters(b"xBy")).pages[0].replaced == 0


def test_a_word_broken_at_the_end_of_a_line_keeps_hyphen_and_line_break() -> None:
    data = pdf([["this is a trade-", "mark of the licensor"]])
    document = read(data)
    assert document.text == "this is a trade-\nmark of the licensor"
    found = ground(document, "trademark of")
    [boxes] = boxes_of(document, found.spans, data)
    assert len(boxes) == 2


def test_a_page_image_is_bounded() -> None:
    data = pdf([LINES])
    assert Image.open(io.BytesIO(render(data, 1, scale=3))).size == (1836, 2376)
    small = Image.open(io.BytesIO(render(data, 1, scale=3, limits=Limits(pixels=100_000))))
    assert small.width * small.height < 102_000
    with pytest.raises(ValueError, match="scale 4"):
        render(data, 1, scale=4)
    with pytest.raises(IndexError, match="no page 2"):
        render(data, 2)


@pytest.mark.parametrize(
    ("data", "error"),
    [
        (b"%PDF-1.7\nthis is not one", errors.CorruptPdf),
        (pdf([LINES])[:300], errors.CorruptPdf),
        (b"%PDF-1.7\n" + bytes(range(256)) * 40, errors.CorruptPdf),
        (pdf([LINES], password="secret"), errors.EncryptedPdf),
        (pdf([[], []]), errors.EmptyDocument),
        (b"", errors.EmptyDocument),
        (b" \r\n", errors.EmptyDocument),
        (b"\x7fELF\x02\x01\x01" + bytes(100), errors.NotADocument),
        (bytes(range(256)) * 10, errors.NotADocument),
        (b"\x89PNG\r\n\x1a\n" + bytes(50), errors.UnsupportedType),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(50), errors.UnsupportedType),
        (b"{\\rtf1 hello}", errors.UnsupportedType),
        (b" <!DOCTYPE html><p>hello", errors.UnsupportedType),
    ],
)
def test_a_file_that_cannot_be_read_says_why_and_that_no_retry_helps(
    data: bytes, error: type[errors.ReadingError]
) -> None:
    with pytest.raises(error) as caught:
        read(data, "file.pdf")
    assert not caught.value.retryable
    assert isinstance(caught.value, NotRetryable)
    assert caught.value.code == error.code


def test_a_time_limit_may_pass_on_the_next_try() -> None:
    with pytest.raises(errors.ParseTimeout) as caught:
        read(pdf([LINES] * 3), limits=Limits(seconds=0))
    assert caught.value.retryable
    assert not isinstance(caught.value, NotRetryable)


@pytest.mark.parametrize(
    ("limits", "error"),
    [
        (Limits(bytes=100), errors.TooLarge),
        (Limits(pages=2), errors.TooManyPages),
        (Limits(characters_a_page=20), errors.TooLarge),
        (Limits(characters=100), errors.TooLarge),
    ],
)
def test_more_than_the_limits_is_refused(limits: Limits, error: type[errors.ReadingError]) -> None:
    data = pdf([LINES] * 3)
    assert read(data, limits=Limits(pages=3)).pages
    with pytest.raises(error):
        read(data, limits=limits)


def test_a_page_tree_that_claims_a_million_pages_is_refused_at_once() -> None:
    data = raw_pdf(
        [
            b"<</Type/Catalog/Pages 2 0 R>>",
            b"<</Type/Pages/Kids[3 0 R]/Count 1000000>>",
            b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]>>",
        ]
    )
    with pytest.raises(errors.NotReadable) as caught:
        read(data)
    assert caught.value.code in {"TOO_MANY_PAGES", "CORRUPT_PDF", "EMPTY_DOCUMENT"}


def test_pages_and_forms_that_hold_themselves_come_to_an_end() -> None:
    page = b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents 4 0 R/Resources<</XObject<</X 5 0 R>>>>>>"
    facts = b"/Type/XObject/Subtype/Form/BBox[0 0 612 792]/Resources<</XObject<</X 5 0 R>>>>/Length 5"
    form = b"<<" + facts + b">>stream\n/X Do\nendstream"
    tree = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[3 0 R 2 0 R]/Count 2>>",
        page,
        stream(b"/X Do"),
        form,
    ]
    with pytest.raises(errors.NotReadable):
        read(raw_pdf(tree))


def test_a_truncated_file_never_raises_anything_else() -> None:
    data = pdf([LINES, LINES])
    whole = read(data)
    for cut in range(10, len(data) - 200, 97):
        with suppress(errors.CorruptPdf, errors.EmptyDocument):
            assert read(data[:cut]) != whole


def test_the_text_is_the_same_as_pdfium_gives() -> None:
    data = pdf([["a line", "and \u00e4nother"]] * 2)
    with pdfium.PdfDocument(data) as file:
        raw = [file[i].get_textpage().get_text_bounded() for i in range(2)]
    assert [page.text for page in read(data).pages] == [text.replace("\r\n", "\n") for text in raw]


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak of one process is read from /proc")
def test_a_thousand_pages_need_little_memory(tmp_path: Path) -> None:
    lines = [f"{at}. The licensor grants the licensee what is written in section {at}." for at in range(50)]
    (tmp_path / "big.pdf").write_bytes(long_pdf(1000, lines))
    script = textwrap.dedent(
        """
        import re, sys
        from pathlib import Path
        from interlock.apps.contracts.reading import Document, ground, read

        def peak():  # the one of getrusage begins with the peak of the process that started this one
            return int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1])

        data = Path(sys.argv[1]).read_bytes()
        read(b"warm")
        before = peak()
        document = read(data)
        stored = document.dump()
        after = peak()
        assert Document.load(stored) == document
        assert ground(document, "49.  The licensor grants the licensee what", near_page=1000).spans[0].page == 1000
        print(len(document.pages), (after - before) // 1024, len(stored))
        """
    )
    command = [sys.executable, "-c", script, str(tmp_path / "big.pdf")]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    pages, megabytes, stored = map(int, done.stdout.split())
    assert pages == 1000
    assert 1 <= megabytes < 60
    assert stored < 1_000_000
