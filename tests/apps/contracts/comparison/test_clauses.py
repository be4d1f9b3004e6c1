"""A document as clauses."""

from __future__ import annotations

import time

import pytest

from interlock.apps.contracts.comparison.clauses import clauses_of
from interlock.apps.contracts.comparison.labels import parts_of, roman, written
from interlock.apps.contracts.comparison.text import PlainDocument

LONG = "and the parties agree that this sentence goes on for as long as a line of a contract usually is, and on"


def numbers(*pages: str) -> list[str]:
    return [clause.number for clause in clauses_of(PlainDocument.of(*pages)).items]


def test_decimal_numbers_name_their_clauses() -> None:
    assert numbers("1. Scope\n1.1 First thing.\n1.2 Second thing.\n2. Fees\n2.1 A fee.") == [
        "1",
        "1.1",
        "1.2",
        "2",
        "2.1",
    ]


def test_letters_and_roman_numbers_are_parts_of_their_section() -> None:
    text = "2. Rights.\n(a) License. Text here.\ni. to use;\nii. to copy; and\n(b) Other. Text here."
    assert numbers(text) == ["2", "2(a)", "2(a)(i)", "2(a)(ii)", "2(b)"]


def test_an_i_after_an_h_is_a_letter() -> None:
    text = "1. List.\n" + "\n".join(f"({letter}) item {letter} of the list;" for letter in "abcdefghij")
    assert numbers(text)[-3:] == ["1(h)", "1(i)", "1(j)"]


@pytest.mark.parametrize(
    ("line", "number"),
    [
        ("ARTICLE IV", "4"),
        ("Article 4", "4"),
        ("Section 3.2 TERM. This is it.", "3.2"),
        ("§ 5 Laufzeit", "5"),
        ("3.2.1 Deep. Text.", "3.2.1"),
        ("Section 14.2(a) Default.", "14.2(a)"),
    ],
)
def test_every_style_of_number_is_read(line: str, number: str) -> None:
    assert numbers(line) == [number]


def test_the_heading_stands_apart_from_the_text() -> None:
    clauses = clauses_of(PlainDocument.of("1. Limitation of Liability. Nobody owes more than the fees.")).items
    assert (clauses[0].number, clauses[0].heading) == ("1", "Limitation of Liability")
    assert clauses[0].body == "Limitation of Liability. Nobody owes more than the fees."


def test_a_heading_on_the_line_below_the_article_belongs_to_it() -> None:
    clauses = clauses_of(PlainDocument.of("ARTICLE 1\nDEFINITIONS\n1.1 Customer means a person.")).items
    assert [(clause.number, clause.heading) for clause in clauses] == [("1", "DEFINITIONS"), ("1.1", "")]


def test_a_year_at_the_start_of_a_line_is_no_number() -> None:
    assert numbers(f"1. Term. {LONG} until March 31,\n2004. Upon its end it renews.") == ["1"]


def test_a_reference_at_the_start_of_a_line_is_no_number() -> None:
    assert numbers(f"1. Fees. {LONG} as stated in Section\n3.2 of this Agreement.") == ["1"]


def test_an_enumeration_inside_a_sentence_does_not_split_it() -> None:
    text = f"1. End. {LONG} if it (i) fails, {LONG}\n(ii) stops, or (iii) leaves."
    assert numbers(text) == ["1"]


def test_numbers_of_exhibits_do_not_mix_with_those_of_the_contract() -> None:
    assert numbers("1. Scope\nThe scope.\nEXHIBIT A\n1. Prices\nThe prices.") == ["1", "Exhibit A", "Exhibit A, 1"]


def test_the_number_of_an_exhibit_to_a_filing_opens_no_exhibit() -> None:
    assert numbers("EXHIBIT 10.16\n1. Scope\nThe scope.")[-1] == "1"


def test_headers_footers_and_page_numbers_are_left_out_and_listed() -> None:
    pages = [
        f"ACME Corp. Confidential\n{n}.1 Clause {n} says something here.\n{n}\nSource: ACME, 8-K" for n in (1, 2, 3, 4)
    ]
    found = clauses_of(PlainDocument.of(*pages))
    assert "Confidential" not in found.text
    assert "Source" not in found.text
    assert set(found.ignored) == {"ACME Corp. Confidential", "1", "2", "3", "4", "Source: ACME, 8-K"}


def test_a_line_that_repeats_with_other_numbers_is_text() -> None:
    pages = [
        f"Lot {name}\nThe goods of this lot are sold as they are.\nPrice: {price} euros"
        for name, price in (("A", 10), ("B", 12), ("C", 9))
    ]
    found = clauses_of(PlainDocument.of(*pages))
    assert found.ignored == ()
    assert "Price: 12 euros" in found.text


def test_the_number_of_a_clause_at_the_top_of_a_page_is_no_page_number() -> None:
    found = clauses_of(
        PlainDocument.of("1. List.\n(a) One thing;\n(b) another thing;\n- 7 -", "(c)\nThe third thing.\niv")
    )
    assert found.text.endswith("(c) The third thing.")
    assert found.ignored == ("- 7 -", "iv")


def test_a_footer_that_counts_the_pages_is_left_out() -> None:
    pages = [
        f"Words of page {word} stand here.\nACME Agreement {n} of 12" for n, word in ((7, "x"), (8, "y"), (9, "z"))
    ]
    assert clauses_of(PlainDocument.of(*pages)).text == " ".join(f"Words of page {word} stand here." for word in "xyz")


def test_a_clause_over_a_page_break_has_a_place_on_both_pages() -> None:
    found = clauses_of(PlainDocument.of(f"1. Long. {LONG}", "goes on here."))
    assert len(found.items) == 1
    assert [(span.page, span.start) for span in found.items[0].spans] == [(1, 0), (2, 0)]


def test_the_place_of_a_clause_is_its_text_on_the_page() -> None:
    page = "1. One.\n  2. Two goes here.\n3. Three."
    second = clauses_of(PlainDocument.of(page)).items[1]
    assert page[second.start : second.end] == "2. Two goes here."


def test_typesetting_does_not_change_the_normal_text() -> None:
    one = clauses_of(
        PlainDocument.of("1. Use. The \u201cLicensee\u2019s\u201d non-exclusive use\nof it \u2014 all of it.")
    )
    other = clauses_of(
        PlainDocument.of('1.  Use. The "Licensee\'s" non-exclu\ufffesive\nuse of it - all\nof it. exclusive')
    )
    assert one.text == '1. Use. The "Licensee\'s" non-exclusive use of it - all of it.'
    assert other.text.startswith('1. Use. The "Licensee\'s" non-exclu')


def test_a_word_split_at_a_line_end_is_whole_again_if_it_stands_elsewhere() -> None:
    text = clauses_of(PlainDocument.of("The agree-\nment is the agreement of the\nnon-\nexclusive kind.")).text
    assert text == "The agreement is the agreement of the non-exclusive kind."


def test_a_document_without_text_has_no_clauses() -> None:
    assert clauses_of(PlainDocument.of("", "  \n ")).items == ()


def test_numbers_are_written_as_lawyers_do_and_read_back() -> None:
    assert written(("14", "2", "a", "2")) == "14.2(a)(2)"
    assert parts_of("14.2(a)(2)") == ("14", "2", "a", "2")


def test_roman_numbers_have_their_value() -> None:
    assert [roman(text) for text in ("i", "iv", "ix", "xiv", "xl", "abc", "iiii")] == [1, 4, 9, 14, 40, 0, 0]


@pytest.mark.parametrize(
    "hostile", ["_" * 200_000, "-" * 200_000, "a" * 200_000, "(a) " * 50_000, "1.1 " * 50_000, ". " * 100_000]
)
def test_hostile_text_takes_no_longer_than_it_is_long(hostile: str) -> None:
    started = time.process_time()
    clauses_of(PlainDocument.of(hostile, "\n".join([hostile[:200]] * 1000)))
    assert time.process_time() - started < 5
