"""The flat text leads back to the page, character by character."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from interlock.apps.contracts.fields.flat import Flat, _without_furniture, squeeze, tidy
from tests.apps.contracts.fields.texts import document

PAGES = st.lists(st.text(alphabet="ab \n\t\u201c\u00a0.;A1", max_size=60), min_size=1, max_size=4)


@given(PAGES, st.data())
def test_every_place_of_the_flat_text_is_the_same_character_of_the_page(pages: list[str], data: st.DataObject) -> None:
    flat = Flat(document("\n<page>\n".join(pages)))
    if not flat.text:
        return
    at = data.draw(st.integers(0, len(flat.text) - 1))
    if flat.text[at] != " ":
        assert flat.raw[flat.raw_at(at)] == flat.text[at]
        assert flat.flat_at(flat.raw_at(at)) == at


@given(PAGES, st.data())
def test_a_quote_is_a_piece_of_one_page_and_says_what_was_read(pages: list[str], data: st.DataObject) -> None:
    flat = Flat(document("\n<page>\n".join(pages)))
    start = data.draw(st.integers(0, len(flat.text)))
    end = data.draw(st.integers(start, len(flat.text)))
    span = flat.place(start, end)
    if span is None:
        return
    quote = flat.quote(span)
    assert quote == flat.document.page(span.page).text[span.start : span.end]
    assert quote == quote.strip()
    if _without_furniture(flat.raw) == flat.raw:  # a page number inside a passage is in the quote, and not in the text
        assert squeeze(quote) in flat.text


@given(st.text(max_size=200))
def test_tidying_never_moves_a_character(text: str) -> None:
    assert len(tidy(text)) == len(text)


def test_page_numbers_and_filing_footers_do_not_break_a_sentence() -> None:
    flat = Flat(document("governed by the laws\n12\nSource: ACME INC, 8-K, 5/6/2003\n<page>\n- 13 -\nof Texas."))
    assert flat.text == "governed by the laws of Texas."


def test_a_number_inside_of_a_page_stays() -> None:
    body = "word " * 300
    assert " 42 " in Flat(document(f"{body}\n42\n{body}")).text


def test_a_passage_over_a_page_break_is_quoted_from_the_page_that_holds_its_core() -> None:
    flat = Flat(document("This Agreement is governed by\n<page>\nthe laws of Texas."))
    at = flat.text.index("Texas")
    span = flat.place(0, len(flat.text), core=(at, at + 5))
    assert span is not None
    assert (span.page, flat.quote(span)) == (2, "the laws of Texas.")


def test_sentences_do_not_end_at_abbreviations() -> None:
    flat = Flat(document("Foo Inc. And Bar Corp. Sell goods. They do it well."))
    assert [flat.text[a:b] for a, b in flat.sentences()] == ["Foo Inc. And Bar Corp. Sell goods.", "They do it well."]
