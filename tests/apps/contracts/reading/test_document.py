"""Pages and offsets, and the stored form."""

from __future__ import annotations

import zlib
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.apps.contracts.reading import Box, Document, Page, Span
from interlock.apps.contracts.reading.document import pack_boxes
from interlock.apps.contracts.reading.errors import BadDump

TEXTS = st.text(st.characters(blacklist_characters="\f"), max_size=40)
FLOATS = st.floats(0, 20_000, allow_nan=False)


@st.composite
def documents(draw: st.DrawFn) -> Document:
    texts = draw(st.lists(TEXTS, max_size=6))
    return Document(
        draw(st.sampled_from(["application/pdf", "text/plain"])),
        tuple(
            Page(
                number,
                text,
                draw(FLOATS),
                draw(FLOATS),
                draw(st.sampled_from(["text", "ocr"])),
                draw(st.floats(0, 1)),
                draw(st.binary(max_size=30)),
                draw(st.integers(0, 9)),
            )
            for number, text in enumerate(texts, 1)
        ),
    )


@given(documents())
def test_a_stored_document_comes_back_as_it_was(document: Document) -> None:
    assert Document.load(document.dump()) == document


@given(documents(), st.data())
def test_what_is_located_is_the_same_text_without_the_page_breaks(document: Document, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(document.text)))
    end = data.draw(st.integers(start, len(document.text)))
    spans = document.locate(start, end)
    assert "".join(document.page(s.page).text[s.start : s.end] for s in spans) == document.text[start:end].replace(
        "\f", ""
    )
    assert [s.page for s in spans] == sorted({s.page for s in spans})
    for span in spans:
        first, last = document.offsets(span)
        assert document.text[first:last] == document.page(span.page).text[span.start : span.end]


@given(documents(), st.data())
def test_damaged_bytes_are_a_bad_dump_and_nothing_else(document: Document, data: st.DataObject) -> None:
    stored = bytearray(document.dump())
    at = data.draw(st.integers(0, len(stored) - 1))
    stored[at] ^= data.draw(st.integers(1, 255))
    with suppress(BadDump):
        Document.load(bytes(stored))


@given(documents(), st.data())
def test_bytes_that_end_too_early_are_a_bad_dump(document: Document, data: st.DataObject) -> None:
    stored = document.dump()
    with pytest.raises(BadDump):
        Document.load(stored[: data.draw(st.integers(0, len(stored) - 5))])


def test_a_stored_document_that_unpacks_to_too_much_is_refused() -> None:
    document = Document("text/plain", (Page(1, "a" * 5_000_000),))
    stored = document.dump()
    assert len(stored) < 10_000
    with pytest.raises(BadDump, match="more than 1000000 bytes"):
        Document.load(stored, largest=1_000_000)
    many = Document("text/plain", tuple(Page(number, "a" * 1000) for number in range(1, 2001)))
    assert Document.load(many.dump(), largest=2_200_000) == many
    with pytest.raises(BadDump, match="more than 1000000 bytes"):
        Document.load(many.dump(), largest=1_000_000)
    bomb = stored[:6] + zlib.compress(b"\xff" * 12 + bytes(10_000_000))
    with pytest.raises(BadDump):
        Document.load(bomb)


def test_a_passage_over_a_page_break_is_cut_there() -> None:
    document = Document("text/plain", (Page(1, "one two"), Page(2, ""), Page(3, "three")))
    assert document.text == "one two\f\fthree"
    assert document.locate(4, 14) == (Span(1, 4, 7), Span(3, 0, 5))
    assert document.page_start(3) == 9
    assert document.quote(document.locate(4, 14)) == "two\fthree"
    with pytest.raises(IndexError):
        document.page(0)


def test_stored_boxes_are_merged_by_line() -> None:
    places = [Box(10 * i, 5, 10 * i + 8, 15) for i in range(3)] + [None] + [Box(10, 25, 18, 35)]
    page = Page(1, "abc\nd", 100, 50, "ocr", 0.9, pack_boxes(places, 100, 50))
    first, second = page.stored_boxes(1, 5)
    assert (first.left, first.top, first.right, first.bottom) == pytest.approx((10, 5, 28, 15), abs=0.01)
    assert (second.left, second.bottom) == pytest.approx((10, 35), abs=0.01)
    assert page.stored_range(Box(9, 0, 30, 20)) == (1, 3)
    assert page.stored_range(Box(90, 0, 99, 20)) is None
    assert Page(1, "abc").stored_boxes(0, 3) == []
