"""Which clause is which."""

from __future__ import annotations

import time

from interlock.apps.contracts.comparison.align import align
from interlock.apps.contracts.comparison.clauses import clauses_of
from interlock.apps.contracts.comparison.text import PlainDocument

SCOPE = "1. Scope. The supplier delivers the goods that the annex lists to the customer in time."
PRICE = "2. Price. The customer pays ten euros for each of the goods within thirty days of the invoice."
LAW = "3. Governing Law. This contract is governed by the laws of Germany and by no other law at all."


def statuses(before: str, after: str) -> list[tuple[str, str, str]]:
    pairs = align(clauses_of(PlainDocument.of(before)), clauses_of(PlainDocument.of(after)))
    return [
        (pair.status, pair.before.number if pair.before else "", pair.after.number if pair.after else "")
        for pair in pairs
    ]


def test_equal_documents_have_only_equal_clauses() -> None:
    text = "\n".join([SCOPE, PRICE, LAW])
    assert statuses(text, text) == [("same", "1", "1"), ("same", "2", "2"), ("same", "3", "3")]


def test_a_clause_with_other_words_is_changed() -> None:
    after = "\n".join([SCOPE, PRICE.replace("ten", "twelve"), LAW])
    assert statuses("\n".join([SCOPE, PRICE, LAW]), after)[1] == ("changed", "2", "2")


def test_a_clause_put_in_between_is_added_and_the_rest_is_found_by_its_heading() -> None:
    new = "2. Insurance. The supplier holds an insurance of one million euros with a known company."
    after = "\n".join([SCOPE, new, PRICE.replace("2.", "3.", 1), LAW.replace("3.", "4.", 1)])
    assert statuses("\n".join([SCOPE, PRICE, LAW]), after) == [
        ("same", "1", "1"),
        ("added", "", "2"),
        ("changed", "2", "3"),
        ("changed", "3", "4"),
    ]


def test_a_clause_that_is_gone_is_removed_where_it_was() -> None:
    after = "\n".join([SCOPE, LAW.replace("3.", "2.", 1)])
    assert statuses("\n".join([SCOPE, PRICE, LAW]), after) == [
        ("same", "1", "1"),
        ("removed", "2", ""),
        ("changed", "3", "2"),
    ]


def test_a_clause_at_another_place_is_moved() -> None:
    first = [
        "Alpha clause about the delivery of all goods by ship.",
        "Beta clause about the price of all goods by weight.",
    ]
    last = "Gamma clause about the law of all parties by choice."
    before, after = "\n\n".join([*first, last]), "\n\n".join([last, *first])
    assert [status for status, _, _ in statuses(before, after)] == ["moved", "same", "same"]


def test_a_heading_that_is_nearly_the_same_is_the_same_clause() -> None:
    after = "\n".join([SCOPE, PRICE, LAW.replace("3. Governing Law", "4. Governing Laws").replace("Germany", "France")])
    assert statuses("\n".join([SCOPE, PRICE, LAW]), after)[2] == ("changed", "3", "4")


def test_similar_words_are_enough_without_number_and_heading() -> None:
    before = "The supplier shall deliver all of the goods to the customer within ten working days of each order."
    after = "The supplier shall deliver all of the goods to the customer within thirty working days of every order."
    assert [status for status, _, _ in statuses(before, after)] == ["changed"]


def test_another_line_break_is_no_change() -> None:
    before = "1. End. Either party may end it if the other:\n(i) is insolvent; or (ii) breaks it."
    after = "1. End. Either party may end it if the other: (i) is insolvent;\nor (ii) breaks it."
    assert {status for status, _, _ in statuses(before, after)} == {"same"}


def test_equal_words_are_the_same_clause_whatever_the_number_was_taken_for() -> None:
    before = "1. First. Words of it.\n(a) part\n\nA.\n\n2. Second. More words."
    after = "1. First. Words of it.\n(a) part\n\nA.\n2. Second. More words."
    assert {status for status, _, _ in statuses(before, after)} == {"same"}


def test_nothing_against_something_is_all_added() -> None:
    assert statuses("", SCOPE) == [("added", "", "1")]
    assert statuses(SCOPE, "") == [("removed", "1", "")]


def test_three_hundred_pages_take_seconds() -> None:
    def pages(word: str) -> PlainDocument:
        return PlainDocument.of(
            *(
                "\n".join(
                    f"{p}.{n} Clause number {p} {n} says {word if n == 7 else 'that'} the {p * n} goods."
                    for n in range(1, 40)
                )
                for p in range(1, 100)
            ),
            *(f"{word} page {n}. " + "The parties agree on all of it here. " * 60 for n in range(200)),
        )

    before, after = clauses_of(pages("that")), clauses_of(pages("how"))
    started = time.process_time()
    pairs = align(before, after)
    assert time.process_time() - started < 8
    assert sum(pair.status == "changed" for pair in pairs) >= 99


def test_the_same_words_everywhere_take_bounded_time() -> None:
    before = clauses_of(PlainDocument.of("\n\n".join(["The same words. " * (n % 5 + 1) + "end" for n in range(1500)])))
    after = clauses_of(PlainDocument.of("\n\n".join(["The same words. " * (n % 7 + 1) + "fin" for n in range(1500)])))
    started = time.process_time()
    align(before, after)
    assert time.process_time() - started < 8
