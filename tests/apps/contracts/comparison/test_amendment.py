"""Amendments over their base."""

from __future__ import annotations

import time
from datetime import date

import pytest

from interlock.apps.contracts.comparison import Source, compare_amendments, load
from interlock.apps.contracts.comparison.result import AmendmentComparison
from interlock.apps.contracts.comparison.text import PlainDocument

BASE = """DISTRIBUTOR AGREEMENT
This Distributor Agreement is made as of January 1, 1996 by and between Alpha Corp. and Beta Inc.
1. Term. This Agreement ends on January 1, 1998.
2. Liability. Alpha's total liability is limited to the fees paid.
3. Minimum. Beta buys goods for $1,000,000 a year.
4. Governing Law. This Agreement is governed by the laws of Texas."""

FIRST = """FIRST AMENDMENT TO DISTRIBUTOR AGREEMENT
This First Amendment is made and entered into as of January 1, 1999 by Alpha Corp. and Beta Inc.
1. Section 1 of the Distributor Agreement is hereby amended to read in its entirety as follows:
Section 1. Term. This Agreement ends on March 31, 2004.
2. The Distributor Agreement is hereby amended by adding the following sentence to the end of Section 2:
The limit does not hold for gross negligence.
3. Section 3 is hereby deleted.
4. All other terms remain unchanged."""

SECOND = """AMENDMENT NO. 2
This Amendment is entered into effective July 15, 2000 by Alpha Corp. and Beta Inc.
1. Section 1 of the Agreement is deleted and replaced in its entirety with the following:
"1. Term. This Agreement ends on December 31, 2010."
2. A new Section 5 is added to the Agreement: "5. Audit. Beta may audit Alpha once a year."
Except as amended here, all terms remain."""


def at(text: str, quote: str, value: str) -> dict[str, object]:
    start = text.index(quote)
    return {"value": value, "quote": quote, "page": 1, "start": start, "end": start + len(quote)}


def base() -> Source:
    return Source(
        "base.pdf",
        PlainDocument.of(BASE),
        {
            "agreement_date": at(BASE, "January 1, 1996", "1996-01-01"),
            "expiration_date": at(BASE, "January 1, 1998", "1998-01-01"),
            "cap_on_liability": at(BASE, "total liability is limited", "Yes"),
            "minimum_commitment": at(BASE, "$1,000,000", "Yes"),
            "governing_law": at(BASE, "laws of Texas", "Texas"),
        },
    )


def first() -> Source:
    fields = {
        "agreement_date": at(FIRST, "January 1, 1999", "1999-01-01"),
        "expiration_date": at(FIRST, "March 31, 2004", "2004-03-31"),
    }
    return Source("first.pdf", PlainDocument.of(FIRST), fields)


def second() -> Source:
    return Source(
        "second.pdf", PlainDocument.of(SECOND), {"expiration_date": at(SECOND, "December 31, 2010", "2010-12-31")}
    )


def controlling(comparison: AmendmentComparison) -> dict[str, tuple[str, object]]:
    return {field.name: (field.controlling, field.value.value if field.value else None) for field in comparison.fields}


def test_a_field_that_the_amendment_states_is_set_by_it() -> None:
    assert controlling(compare_amendments(base(), [first()]))["expiration_date"] == ("instrument-1", "2004-03-31")


def test_a_field_that_no_amendment_touches_is_set_by_the_base() -> None:
    assert controlling(compare_amendments(base(), [first()]))["governing_law"] == ("base", "Texas")


def test_the_date_of_an_amendment_is_not_that_of_the_base() -> None:
    comparison = compare_amendments(base(), [first()])
    assert controlling(comparison)["agreement_date"] == ("base", "1996-01-01")
    assert "has its own (1999-01-01)" in comparison.fields[0].verdict


def test_a_field_whose_section_was_deleted_has_no_value_and_is_to_check() -> None:
    comparison = compare_amendments(base(), [first()])
    field = next(field for field in comparison.fields if field.name == "minimum_commitment")
    assert (field.controlling, field.value, field.check) == ("instrument-1", None, True)
    assert field.verdict == "Minimum commitment: Amendment 1 deleted section 3, which held it, and states no new value."


def test_a_field_whose_section_was_extended_stays_and_is_to_check() -> None:
    comparison = compare_amendments(base(), [first()])
    field = next(field for field in comparison.fields if field.name == "cap_on_liability")
    assert (field.controlling, field.check) == ("base", True)


def test_sections_are_listed_with_what_was_done_and_the_new_words() -> None:
    sections = compare_amendments(base(), [first()]).sections
    assert [(section.section, section.action) for section in sections] == [
        ("1", "replaced"),
        ("2", "extended"),
        ("3", "deleted"),
    ]
    assert sections[0].new_text == "Section 1. Term. This Agreement ends on March 31, 2004."
    assert sections[1].new_text == "The limit does not hold for gross negligence."
    assert sections[0].target is not None
    assert sections[0].heading == "Term"


@pytest.mark.parametrize("reverse", [False, True])
def test_the_last_amendment_by_date_wins_in_whatever_order_they_come(reverse: bool) -> None:
    sources = [second(), first()] if reverse else [first(), second()]
    comparison = compare_amendments(base(), sources)
    assert [one.dated for one in comparison.instruments] == [None, date(1999, 1, 1), date(2000, 7, 15)]
    assert controlling(comparison)["expiration_date"] == ("instrument-2", "2010-12-31")
    field = next(field for field in comparison.fields if field.name == "expiration_date")
    assert [side.value for side in field.earlier] == ["1998-01-01", "2004-03-31"]


def test_a_new_section_is_added() -> None:
    sections = compare_amendments(base(), [second()]).sections
    assert [(section.section, section.action) for section in sections] == [("1", "replaced"), ("5", "added")]


def test_one_file_can_hold_two_amendments_and_repeat_one() -> None:
    both = Source("both.pdf", PlainDocument.of(FIRST, SECOND))
    comparison = compare_amendments(base(), [both, first()])
    assert [one.number for one in comparison.instruments] == [None, 1, 2]


def test_words_of_the_base_in_the_file_of_an_amendment_are_not_its_own() -> None:
    tail = "9. Governing Law. This Agreement is governed by the laws of Ohio."
    file = f"{tail}\n{FIRST}"
    source = Source("first.pdf", PlainDocument.of(file), {"governing_law": at(file, "laws of Ohio", "Ohio")})
    assert controlling(compare_amendments(base(), [source]))["governing_law"] == ("base", "Texas")


def test_a_section_of_another_agreement_is_not_taken_for_one_of_the_base() -> None:
    text = FIRST.replace("Section 1 of the Distributor Agreement", "Section 1 of the Commercial License")
    section = compare_amendments(base(), [Source("first.pdf", PlainDocument.of(text))]).sections[0]
    assert (section.other_agreement, section.target) == ("Commercial License", None)


def test_a_section_that_the_base_does_not_have_is_said_to_be_missing() -> None:
    text = FIRST.replace("3. Section 3 is", "3. Section 33 is")
    section = compare_amendments(base(), [Source("first.pdf", PlainDocument.of(text))]).sections[2]
    assert section.verdict == "Section 33 is deleted. The base has no section with this number."


def test_the_result_is_json_and_comes_back_the_same() -> None:
    comparison = compare_amendments(base(), [first(), second()])
    assert load(comparison.model_dump_json()) == comparison


def test_a_hostile_amendment_takes_bounded_time() -> None:
    text = "AMENDMENT " * 5_000 + "Section 1 is amended and Section 2, " * 2_500 + "is amended by " * 1_000
    started = time.process_time()
    comparison = compare_amendments(
        base(), [Source("x", PlainDocument.of(text, text.replace(" is", ". Section 3 is")))]
    )
    assert time.process_time() - started < 8
    assert len(comparison.sections) == 2000
    assert "Only the first 2000 changes of an amendment were read." in comparison.notes
