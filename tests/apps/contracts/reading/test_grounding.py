"""A quote is found where it stands, and nowhere else."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.apps.contracts.reading import Document, Page, Span, ground, normalise

CLAUSE = "This Agreement shall be governed by and construed in accordance with the laws of the State of Ohio."


def of(*texts: str) -> Document:
    return Document("application/pdf", tuple(Page(number, text) for number, text in enumerate(texts, 1)))


def test_what_is_there_word_for_word_is_exact() -> None:
    found = ground(of("Cover", f"1. Law. {CLAUSE} End."), CLAUSE)
    assert (found.kind, found.score) == ("exact", 100.0)
    assert found.spans == (Span(2, 8, 8 + len(CLAUSE)),)


@pytest.mark.parametrize(
    ("text", "quote"),
    [
        ("the laws\n  of the\tState", "the laws of the State"),
        ("the \u201cLicensor\u201d and its \u2018heirs\u2019", "the \"Licensor\" and its 'heirs'"),
        ("all implied warranties of non-\ninfringement", "warranties of non-infringement"),
        ("each trade-\nmark of the", "trademark of the"),
        ("a period of 2015\u20132016 only", "period of 2015-2016"),
        ("the of\ufb01ce of the Licensor", "office of the Licensor"),
        ("a co\u00adoperation of", "a cooperation of"),
        ("the\xa0laws\xa0of\xa0Ohio", "the laws of Ohio"),
    ],
)
def test_spaces_kinds_of_marks_and_hyphenation_do_not_matter(text: str, quote: str) -> None:
    document = of("Before " + text + " after")
    found = ground(document, quote)
    assert found.kind == "nospace"
    shown = document.quote(found.spans)
    assert normalise(shown) == normalise(quote)
    assert shown.strip() == shown


def test_a_hyphen_beside_a_number_matters() -> None:
    assert ground(of("a term of 34 months"), "3-4 months").kind == "none"
    assert ground(of("a term of 3-4 months"), "3 - 4 months").kind == "nospace"
    assert ground(of("on form A-4"), "form A4").kind == "none"
    assert ground(of("on form 4-A"), "form 4A").kind == "none"


def test_a_quote_over_a_page_break_has_a_span_on_both_pages() -> None:
    document = of("It is governed by the laws", "of the State of Ohio. Next.")
    found = ground(document, "the laws of the State of Ohio")
    assert found.kind == "nospace"
    assert found.spans == (Span(1, 18, 26), Span(2, 0, 20))


def test_a_quote_with_a_few_wrong_letters_is_found_nearly() -> None:
    document = of("Something else.", f"1. Law. {CLAUSE} End.")
    found = ground(document, CLAUSE.replace("governed", "govemed").replace("State", "Slate"))
    assert found.kind == "fuzzy"
    assert 90 <= found.score < 100
    [span] = found.spans
    assert span.page == 2
    assert document.quote(found.spans).startswith("This Agreement")
    assert abs(span.end - (8 + len(CLAUSE))) <= 2


def test_other_words_are_not_found() -> None:
    document = of("Something else.", f"1. Law. {CLAUSE} End.")
    assert (
        ground(document, "This Agreement is made under seal by the parties, which agree to arbitrate.").kind == "none"
    )
    assert ground(document, "").kind == "none"
    assert ground(document, " \n").kind == "none"


def test_a_short_quote_is_never_found_nearly() -> None:
    assert ground(of("the State of Ohio"), "0hio").kind == "none"


def test_a_few_words_of_text_are_not_a_long_quote() -> None:
    assert ground(of("State of Ohio"), CLAUSE).kind == "none"


def test_of_several_places_the_one_nearest_to_the_page_is_taken() -> None:
    document = of("Ohio law", "x", "Ohio law and  Ohio", "Ohio law")
    assert ground(document, "Ohio law").spans[0].page == 1
    assert ground(document, "Ohio law", near_page=3).spans[0].page == 3
    assert ground(document, "Ohio law", near_page=99).spans[0].page == 4
    assert ground(document, "Ohio  law", near_page=4).spans[0].page == 4


SOME = ["Alpha", "re-sell", "2015-16", "\u201cFee\u201d", "law", "of", "-", "\ufb01x", "\u2026", "a\u00adb"]
WORDS = st.lists(st.sampled_from(SOME), min_size=1)
GAPS = st.sampled_from([" ", "\n", "  ", "\xa0", "\t", "\u200b "])


@given(WORDS, WORDS, WORDS, st.data())
def test_any_passage_is_found_however_its_spaces_were_changed(
    before: list[str], passage: list[str], after: list[str], data: st.DataObject
) -> None:
    gaps = [data.draw(GAPS) for _ in passage]
    text = "".join(word + gap for word, gap in zip(passage, gaps, strict=True))
    document = of(" ".join(before), text, " ".join(after))
    quote = " ".join(passage)
    found = ground(document, quote)
    if not normalise(quote):
        return
    assert found.kind in {"exact", "nospace"}
    assert normalise(document.quote(found.spans)) == normalise(quote)


@given(st.lists(st.text(max_size=60), max_size=4), st.text(max_size=30))
def test_what_counts_as_found_is_equal_to_the_quote_but_for_spaces_and_marks(texts: list[str], quote: str) -> None:
    document = of(*(text.replace("\f", "") for text in texts))
    found = ground(document, quote)
    assert (found.kind == "none") == (not found.spans)
    if found.kind in {"exact", "nospace"}:
        assert normalise(document.quote(found.spans)) == normalise(quote)


@given(st.lists(st.text(st.characters(codec="utf-8"), max_size=60), min_size=1, max_size=4), st.data())
def test_every_part_of_the_text_is_found_exactly(texts: list[str], data: st.DataObject) -> None:
    document = of(*(text.replace("\f", "") for text in texts))
    start = data.draw(st.integers(0, len(document.text)))
    end = data.draw(st.integers(start, min(start + 30, len(document.text))))
    quote = document.text[start:end]
    if quote.strip():
        assert ground(document, quote).kind == "exact"


def test_twenty_quotes_in_a_hundred_pages_are_looked_for_in_linear_time() -> None:
    sentence = "Section {}.{} binds party {}, its heirs and assigns.\n"
    pages = [" ".join(sentence.format(page, at, at * page) for at in range(60)) for page in range(100)]
    document = of(*pages)
    assert len(document.text) > 300_000
    quotes = [f"Section {at * 5}.{at} bindz parly {at * at * 5}, its heirs  and assigms." for at in range(1, 20)]
    quotes.append("nothing of this sort stands anywhere in these pages at all, not even nearly")
    began = time.process_time()
    found = [ground(document, quote) for quote in quotes]
    took = time.process_time() - began
    assert [one.kind for one in found] == ["fuzzy"] * 19 + ["none"]
    assert took < 5
