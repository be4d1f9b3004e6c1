"""Scanned pages: only those are read by OCR, with places, quality and bounds."""

from __future__ import annotations

import io

import pypdfium2 as pdfium
import pytest
from PIL import Image

from interlock.apps.contracts.reading import Box, Limits, boxes_of, errors, ground, read, render, span_at
from interlock.apps.contracts.reading import ocr as ocr_room
from interlock.apps.contracts.reading.ocr import Line, Recogniser
from tests.support.files import image_pdf, pdf, scan

LINES = ["Governing law: the State of Ohio", "Notice period: 90 days before the end", "Price: 1.234,56 EUR a year"]


def reads(*lines: Line) -> Recogniser:
    return lambda image: list(lines)


def line(text: str, left: float, top: float, score: float = 0.95) -> Line:
    words, at = [], left
    for word in text.split():
        words.append((word, Box(at, top, at + 10 * len(word), top + 20)))
        at += 10 * len(word) + 10
    return Line(tuple(words), score, Box(left, top, at - 10, top + 20))


def blank() -> Image.Image:
    return Image.new("RGB", (1224, 1584), "white")


@pytest.fixture(scope="module")
def rapid() -> Recogniser:
    pytest.importorskip("rapidocr")
    pytest.importorskip("onnxruntime")
    return ocr_room.recogniser(1)


@pytest.mark.parametrize("turn", [pytest.param(0, marks=pytest.mark.soak), 180])
def test_a_scanned_page_is_read_whichever_way_it_was_scanned(rapid: Recogniser, turn: int) -> None:
    data = scan(LINES, turn=turn)
    document = read(data, ocr=rapid)
    [page] = document.pages
    assert page.source == "ocr"
    assert page.quality > 0.9
    assert [" ".join(one.split()) for one in page.text.splitlines()] == LINES
    found = ground(document, "State of Ohio")
    [[box]] = boxes_of(document, found.spans, data)
    image = Image.open(io.BytesIO(render(data, 1, scale=1))).convert("L")
    assert image.crop((int(box.left), int(box.top), int(box.right), int(box.bottom))).getextrema()[0] < 128
    long, short = box.right - box.left, box.bottom - box.top
    if turn % 180:
        long, short = short, long
    assert 60 < long < 130
    assert short < 30
    # The words under that box are the words that it was made for.
    assert span_at(document, 1, box, data) == found.spans[0]


@pytest.mark.parametrize("turn", [0, 90, 180, 270])
def test_places_and_order_are_right_on_a_page_that_was_scanned_turned(turn: int) -> None:
    upright = blank()
    upright.paste("black", (100, 100, 200, 120))
    upright.paste("black", (100, 300, 160, 320))

    def knows_up(image: Image.Image) -> list[Line]:
        dark = image.convert("L").getpixel((150, 110)) < 100
        return [line("a first line", 100, 100, 0.9 if dark else 0.4), line("second", 100, 300, 0.9 if dark else 0.4)]

    data = image_pdf([upright.rotate(turn, expand=True)])
    document = read(data, ocr=knows_up)
    assert document.text == "a first line\nsecond"
    shown = Image.open(io.BytesIO(render(data, 1, scale=2))).convert("L")
    for word in ("first", "second"):
        [[box]] = boxes_of(document, ground(document, word).spans, data)
        place = shown.getpixel((round(box.left + box.right), round(box.top + box.bottom)))
        assert place < 100


def test_only_scanned_pages_are_read_by_ocr() -> None:
    data = image_pdf([blank()], ["This page has a text layer of its own."])
    document = read(data, ocr=reads(line("From the image", 100, 100)))
    assert [page.source for page in document.pages] == ["ocr", "text"]
    assert [page.text for page in document.pages] == ["From the image", "This page has a text layer of its own."]
    assert [page.quality for page in document.pages] == [0.95, 1.0]


def test_a_small_image_does_not_make_a_page_scanned() -> None:
    logo = Image.new("RGB", (200, 100), "black")
    out = io.BytesIO()
    from reportlab.lib.utils import ImageReader
    from reportlab.pdfgen import canvas

    c = canvas.Canvas(out, invariant=1)
    c.drawString(72, 700, "Annex")
    c.drawImage(ImageReader(logo), 72, 500, 100, 50)
    c.save()

    def never(image: object) -> list[Line]:
        raise AssertionError("this page was not scanned")

    assert read(out.getvalue(), ocr=never).text == "Annex"


def test_lines_beside_each_other_are_one_line_of_text_from_left_to_right() -> None:
    found = [line("right", 600, 102), line("below", 100, 200), line("left side", 100, 100)]
    document = read(image_pdf([blank()]), ocr=reads(*found))
    assert document.text == "left side right\nbelow"


def test_each_letter_has_its_share_of_its_words_box() -> None:
    data = image_pdf([blank()])
    document = read(data, ocr=reads(line("The term", 100, 100)))
    start = document.text.index("erm")
    [[box]] = boxes_of(document, document.locate(start, start + 2), data)
    # The word begins at 140 pixels, each letter has 10, and the image has two pixels a point.
    assert (box.left, box.top, box.right, box.bottom) == pytest.approx((75, 50, 85, 60), abs=0.1)


def test_quality_is_the_mean_score_of_the_lines_by_their_length() -> None:
    found = [line("aaaaaaaaa", 100, 100, 1.0), line("b", 100, 200, 0.5)]
    assert read(image_pdf([blank()]), ocr=reads(*found)).pages[0].quality == 0.95


def test_a_scan_without_any_word_is_an_empty_document() -> None:
    with pytest.raises(errors.EmptyDocument):
        read(image_pdf([blank()]), ocr=reads())


def test_more_scanned_pages_than_the_limit_are_refused() -> None:
    with pytest.raises(errors.TooManyPages, match="2 scanned pages"):
        read(image_pdf([blank()] * 3), ocr=reads(line("x", 1, 1)), limits=Limits(ocr_pages=2))


def test_the_image_for_ocr_is_bounded() -> None:
    sizes = []

    def look(image: Image.Image) -> list[Line]:
        sizes.append(image.width * image.height)
        return [line("x", 1, 1)]

    read(image_pdf([blank()]), ocr=look, limits=Limits(pixels=50_000))
    assert 40_000 < sizes[0] < 51_000


def test_without_the_extra_the_error_names_it_and_text_pages_need_it_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ocr_room, "find_spec", lambda name: None)
    assert read(pdf([["only text"]])).text == "only text"
    with pytest.raises(errors.OcrNotInstalled, match=r"interlock\[ocr\]") as caught:
        read(image_pdf([blank()]))
    assert caught.value.code == "OCR_NOT_INSTALLED"


def test_pdfium_renders_turned_pages_upright_for_ocr() -> None:
    data = image_pdf([blank()])
    with pdfium.PdfDocument(data) as file:
        file[0].set_rotation(90)
        out = io.BytesIO()
        file.save(out)
    document = read(out.getvalue(), ocr=reads(line("one", 100, 100)))
    assert (document.pages[0].width, document.pages[0].height) == (792, 612)
