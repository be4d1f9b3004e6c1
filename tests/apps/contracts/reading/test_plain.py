"""Plain text: encodings and pages."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.apps.contracts.reading import Limits, errors, read

TEXT = "K\u00fcndigungsfrist: drei Monate \u2013 29,90 \u20ac"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "cp1252"])
def test_text_is_read_in_the_usual_encodings(encoding: str) -> None:
    document = read(TEXT.encode(encoding), "contract.txt")
    assert document.text == TEXT
    assert document.media_type == "text/plain"
    assert document.pages[0].width == 0


def test_line_breaks_become_plain_ones() -> None:
    assert read(b"one\r\ntwo\rthree\nfour").text == "one\ntwo\nthree\nfour"


def test_form_feeds_are_pages() -> None:
    document = read(b"first\n\fsecond\f\fthird\f\n")
    assert [page.text for page in document.pages] == ["first\n", "second", "", "third"]


def test_a_long_text_is_cut_into_pages_at_empty_lines() -> None:
    paragraphs = [f"{at}. " + "word " * 100 for at in range(40)]
    document = read("\n\n".join(paragraphs).encode(), limits=Limits(text_page=2000))
    assert len(document.pages) > 8
    assert all(len(page.text) <= 2000 for page in document.pages)
    assert all(page.text.strip()[0].isdigit() for page in document.pages)


@given(st.text(st.characters(codec="utf-8", min_codepoint=32), min_size=1, max_size=300), st.integers(1, 40))
def test_no_letter_is_lost_where_pages_are_cut(text: str, size: int) -> None:
    try:
        document = read(text.encode(), limits=Limits(text_page=size, pages=1000))
    except errors.NotReadable:
        return
    if "\ufffd" not in document.text:
        assert "".join(document.text.split()) == "".join(text.lstrip("\ufeff").split())
    assert all(len(page.text) <= size for page in document.pages)


def test_a_few_control_characters_are_counted_and_not_kept() -> None:
    document = read(("word " * 1000 + "a\x01b").encode())
    assert sum(page.replaced for page in document.pages) == 1
    assert "\x01" not in document.text
    assert "a\ufffdb" in document.text


def test_too_many_characters_and_pages_are_refused() -> None:
    with pytest.raises(errors.TooLarge):
        read(b"word " * 100, limits=Limits(characters=100))
    with pytest.raises(errors.TooManyPages):
        read(b"a\fb\fc", limits=Limits(pages=2))
