"""Two versions of a contract."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from interlock.apps.contracts.comparison import Source, accept_all, compare_versions, load, reject_all
from interlock.apps.contracts.comparison.clauses import clauses_of
from interlock.apps.contracts.comparison.text import PlainDocument

BEFORE = "1. Term. It runs for one year.\n2. Price. The price is ten euros.\n3. Law. German law applies here."
AFTER = "1. Term. It runs for two years.\n2. Price. The price is ten euros.\n4. Notice. Notice is in writing."

LINES = """1. Term. It runs for one year.|2. Price. Ten euros.|(a) first part;|(b) second part.|ARTICLE IV|EXHIBIT A
|the rest of a sentence that|and goes on here.|Page 3|3||non-|exclusive use|Some \u201cquoted\u201d words.
|1.1 Sub clause.|FIRST AMENDMENT|\u4e2d\u6587 text here|\ufffe|x\ufffey|. . . . . . 4"""
LINE = st.sampled_from(LINES.replace("\n", "").split("|")) | st.text(max_size=20)
PAGES = st.lists(st.lists(LINE, max_size=8).map("\n".join), max_size=4)


def source(*pages: str, **fields: dict[str, object]) -> Source:
    return Source("contract", PlainDocument.of(*pages), fields)


@settings(deadline=None, max_examples=150)
@given(PAGES, PAGES)
def test_taking_all_changes_gives_the_second_version_and_refusing_all_the_first(a: list[str], b: list[str]) -> None:
    comparison = compare_versions(source(*a), source(*b))
    assert accept_all(comparison) == clauses_of(PlainDocument.of(*b)).text
    assert reject_all(comparison) == clauses_of(PlainDocument.of(*a)).text


@settings(deadline=None, max_examples=60)
@given(PAGES)
def test_a_document_has_no_changes_against_itself(pages: list[str]) -> None:
    counts = compare_versions(source(*pages), source(*pages)).summary.counts
    assert (counts["changed"], counts["moved"], counts["added"], counts["removed"]) == (0, 0, 0, 0)


def test_places_are_counted_with_and_without_what_is_printed_around_the_text() -> None:
    pages = [f"{page}. Title. It says {page} things.\nAnd it says more of them." for page in (1, 2, 3)]
    before = [f"{text}\nSource: ACME, 8-K" for text in pages]
    after = [f"{text.replace('1 things', 'one thing')}\nSource: ACME, 10-K" for text in pages]
    comparison = compare_versions(source(*before), source(*after))
    counts = comparison.summary.counts
    assert 0 < counts["changed_blocks"] < counts["changed_blocks_as_printed"]
    wanted = f"{counts['changed_blocks']} places; with what is printed around them, in"
    assert any(wanted in note for note in comparison.notes)
    same = compare_versions(source(BEFORE), source(AFTER))
    assert same.summary.counts["changed_blocks"] == same.summary.counts["changed_blocks_as_printed"] > 0
    assert not any("places" in note for note in same.notes)


def test_clauses_are_counted_by_what_became_of_them() -> None:
    comparison = compare_versions(source(BEFORE), source(AFTER))
    counts = comparison.summary.counts
    assert (counts["same"], counts["changed"], counts["added"], counts["removed"]) == (1, 1, 1, 1)
    assert comparison.summary.verdict == "Clauses: 1 changed, 1 added, 1 removed, 1 the same. No field differs."


def test_a_clause_with_only_another_number_says_so() -> None:
    comparison = compare_versions(
        source("2. Price. The price is ten euros."), source("3. Price. The price is ten euros.")
    )
    assert comparison.clauses[0].renumbered
    assert comparison.clauses[0].verdict == "3 Price has only another number; it was 2."


def test_each_side_of_a_clause_has_its_place() -> None:
    change = compare_versions(source("", BEFORE), source(AFTER)).clauses[0]
    assert change.before is not None
    assert change.after is not None
    assert (change.before.places[0].page, change.after.places[0].page) == (2, 1)


def test_fields_stand_side_by_side_with_their_evidence() -> None:
    before = source(
        BEFORE, agreement_date={"value": "[]/[]/2015", "page": 1, "start": 3, "end": 9, "quote": "____, 2015"}
    )
    after = source(AFTER, agreement_date={"value": "12/21/15", "page": 2, "start": 4, "end": 8, "quote": "December 21"})
    change = compare_versions(before, after).fields[0]
    assert change.status == "changed"
    assert change.verdict == "Agreement date: []/[]/2015 → 12/21/15."
    assert change.before is not None
    assert change.before.evidence is not None
    assert change.before.evidence.quote == "____, 2015"


def test_fields_with_the_same_normal_form_are_the_same() -> None:
    before = source(BEFORE, start={"value": "1 May 2020", "normalised": "2020-05-01"})
    after = source(AFTER, start={"value": "05/01/20", "normalised": "2020-05-01"})
    assert compare_versions(before, after).fields[0].status == "same"


def test_a_field_that_only_one_version_has_is_added_or_removed() -> None:
    one = source(BEFORE, cap={"value": "Yes"}, audit={"value": None})
    other = source(AFTER, audit={"value": "Yes"})
    assert [(c.name, c.status) for c in compare_versions(one, other).fields] == [("cap", "removed"), ("audit", "added")]


def test_the_result_is_json_and_comes_back_the_same() -> None:
    comparison = compare_versions(source(BEFORE), source(AFTER))
    assert load(comparison.model_dump_json()) == comparison
    assert comparison.version == 1


def test_dates_are_shown_in_their_normal_form_and_other_values_as_they_are_written() -> None:
    before = source(
        BEFORE, end={"value": "1 May 2020", "normalised": "2020-05-01"}, law={"value": "Texas", "normalised": "texas"}
    )
    after = source(
        AFTER, end={"value": "2 May 2020", "normalised": "2020-05-02"}, law={"value": "Ohio", "normalised": "ohio"}
    )
    verdicts = [change.verdict for change in compare_versions(before, after).fields]
    assert verdicts == ["End: 2020-05-01 → 2020-05-02.", "Law: Texas → Ohio."]
