"""The difference of two texts, word by word."""

from __future__ import annotations

import time

from hypothesis import given
from hypothesis import strategies as st

from interlock.apps.contracts.comparison.text import fold
from interlock.apps.contracts.comparison.words import (
    Piece,
    accepted,
    blocks,
    changed_blocks,
    difference,
    increasing,
    rejected,
    tokens,
)

TEXT = st.text(alphabet="abc AB.,'\"()-1中文é", max_size=80).map(fold)
ANY = st.text(max_size=60).map(fold)


@given(TEXT | ANY)
def test_tokens_put_together_are_the_text(text: str) -> None:
    assert "".join(tokens(text)) == text


@given(TEXT | ANY, TEXT | ANY)
def test_taking_all_changes_gives_the_second_text_and_refusing_all_the_first(before: str, after: str) -> None:
    pieces = difference(before, after)
    assert accepted(pieces) == after
    assert rejected(pieces) == before


@given(st.lists(st.sampled_from("abcd"), max_size=30), st.lists(st.sampled_from("abcd"), max_size=30))
def test_shared_runs_are_equal_and_in_order(a: list[str], b: list[str]) -> None:
    at_a = at_b = 0
    for i, j, size in blocks(a, b):
        assert a[i : i + size] == b[j : j + size]
        assert i >= at_a
        assert j >= at_b
        at_a, at_b = i + size, j + size


def test_one_changed_word_is_the_only_difference() -> None:
    assert difference("dated as of May 1, 2015.", "dated as of June 1, 2015.") == (
        Piece("same", " dated as of"),
        Piece("deleted", " May"),
        Piece("inserted", " June"),
        Piece("same", " 1, 2015."),
    )


def test_a_changed_phrase_reads_as_one_change() -> None:
    pieces = difference(
        "pay within thirty days of the invoice date now", "pay within ninety weeks of a delivery note now"
    )
    assert [piece.op for piece in pieces] == ["same", "deleted", "inserted", "same"]


def test_a_word_that_becomes_the_first_is_the_same_word() -> None:
    assert difference("FORM OF CONTRACT", "CONTRACT") == (Piece("deleted", " FORM OF"), Piece("same", " CONTRACT"))


def test_ideographs_are_compared_one_by_one() -> None:
    assert [piece.text for piece in difference("中国网络", "中国网站") if piece.op != "same"] == ["络", "站"]


def test_equal_texts_have_no_changed_place() -> None:
    assert changed_blocks("One. Two. Three.", "One. Two. Three.") == 0


def test_neighbouring_changed_sentences_are_one_place() -> None:
    assert changed_blocks("One. Two. Three. Four.", "One. 2. 3. Four. Five.") == 2


def test_the_longest_rising_run_is_found() -> None:
    assert increasing([5, 1, 2, 9, 3]) == [1, 2, 4]


def test_two_long_texts_that_share_no_unique_word_take_bounded_time() -> None:
    before, after = "a b " * 40_000 + "x", "b a a " * 30_000 + "y"
    started = time.process_time()
    pieces = difference(fold(before), fold(after))
    assert time.process_time() - started < 5
    assert accepted(pieces) == fold(after)
