"""Real contracts with known answers; they are not part of the repository and the tests are skipped without them."""

from __future__ import annotations

import os
from datetime import date
from pathlib import Path

import pytest

from interlock.apps.contracts.comparison import Source, accept_all, compare_amendments, compare_versions, reject_all
from interlock.apps.contracts.comparison.clauses import clauses_of
from interlock.apps.contracts.fields.extraction import extract
from interlock.apps.contracts.fields.vertical import shipped
from interlock.apps.contracts.reading import read

PDFS = Path(os.environ.get("CUAD_PDFS", Path(__file__).parents[5] / "shared" / "data" / "cuad"))
pytestmark = pytest.mark.skipif(not PDFS.is_dir(), reason="CUAD_PDFS names no folder with the contracts")


def contract(part: str) -> Source:
    (path,) = [path for path in PDFS.iterdir() if part in path.name]
    return Source(path.name, read(path.read_bytes(), path.name))


def with_fields(part: str) -> Source:
    (path,) = [path for path in PDFS.iterdir() if part in path.name]
    document = read(path.read_bytes(), path.name)
    found = extract(document, shipped()["commercial"])
    return Source(path.name, document, {name: field.json() for name, field in found.fields.items()})


def test_the_form_and_the_signed_licence_differ_where_they_are_known_to() -> None:
    form, signed = contract("IdeanomicsInc_20151124"), contract("IdeanomicsInc_20160330")
    comparison = compare_versions(form, signed)
    counts = comparison.summary.counts
    assert (counts["changed"], counts["added"], counts["removed"], counts["same"]) == (22, 18, 5, 79)
    by_title = {change.title: change for change in comparison.clauses if change.status != "same"}
    assert by_title["2(e)(vi)"].status == "added"
    assert "books and records will be available for inspection" in by_title["2(e)(vi)"].words[0].text
    dated = next(change for change in comparison.clauses if "dated as of" in change.words[0].text)
    assert [piece.text for piece in dated.words if piece.op != "same"] == [" ___________", " December 21"]
    assert accept_all(comparison) == clauses_of(signed.document).text
    assert reject_all(comparison) == clauses_of(form.document).text


def test_the_fields_of_the_form_and_the_signed_licence_are_the_known_ones() -> None:
    comparison = compare_versions(with_fields("IdeanomicsInc_20151124"), with_fields("IdeanomicsInc_20160330"))
    fields = {field.name: field for field in comparison.fields}
    assert fields["agreement_date"].verdict == "Agreement date: 2015-XX-XX → 2015-12-21."
    assert fields["effective_date"].verdict == "Effective date: 2015-XX-XX → 2015-12-21."
    assert fields["expiration_date"].verdict == "Expiration date: 2035-XX-XX → 2035-12-21."
    assert fields["audit_rights"].status == "added"
    assert fields["governing_law"].status == "same"
    for side in (fields["agreement_date"].before, fields["agreement_date"].after):
        assert side is not None
        assert side.evidence is not None
        assert side.evidence.quote


def test_of_the_33_places_in_the_raw_text_16_are_only_footers() -> None:
    form, signed = contract("IdeanomicsInc_20151124"), contract("IdeanomicsInc_20160330")
    comparison = compare_versions(form, signed)
    counts = comparison.summary.counts
    assert (counts["changed_blocks_as_printed"], counts["changed_blocks"]) == (33, 17)
    assert any("17 places" in note and "in 33" in note for note in comparison.notes)


def test_the_equal_pair_has_no_change() -> None:
    one, other = contract("CONSULTING AGREEMENT(1).PDF"), contract("EX-10.7-CONSULTING AGREEMENT.PDF")
    comparison = compare_versions(one, other)
    assert {change.status for change in comparison.clauses} == {"same"}
    assert comparison.summary.verdict == "The two versions have the same text."


def test_the_two_amendments_of_a_distributor_agreement_are_found_once_each() -> None:
    files = [contract("AMENDMENT #2 TO THE DIST"), contract("AMENDMENT TO THE DISTRIBUTOR")]
    comparison = compare_amendments(contract("EX-10.16-DISTRIBUTOR AGREEMENT"), files)
    assert [one.dated for one in comparison.instruments[1:]] == [date(1996, 10, 1), date(1998, 7, 15)]
    assert [(section.section, section.heading) for section in comparison.sections] == [("2", "TERRITORY")] * 2


def test_an_amendment_sets_the_term_and_leaves_the_law_to_the_base() -> None:
    comparison = compare_amendments(with_fields("AGREEMENT_New"), [with_fields("AGREEMENT_Amendment")])
    fields = {field.name: field for field in comparison.fields}
    assert fields["expiration_date"].controlling == "instrument-1"
    assert fields["expiration_date"].verdict == "Expiration date: Amendment 1 sets it (2004-03-31)."
    assert (fields["governing_law"].controlling, fields["agreement_date"].controlling) == ("base", "base")
    assert fields["cap_on_liability"].check


def test_an_amendment_of_thirteen_sections_is_read_whole() -> None:
    comparison = compare_amendments(contract("AGREEMENT_New"), [contract("AGREEMENT_Amendment")])
    assert [(section.section, section.action) for section in comparison.sections] == [
        ("1", "extended"),
        ("3.1", "replaced"),
        ("3.2", "replaced"),
        ("14.1", "replaced"),
        ("14.2(b)", "deleted"),
        ("14.2(a)(2)", "replaced"),
        ("2.1", "amended"),
        ("2.2", "amended"),
        ("2.8", "amended"),
        ("13.1", "extended"),
        ("15.2", "amended"),
        ("15.11", "added"),
        ("15.12", "added"),
    ]
    assert all(section.target for section in comparison.sections if section.action != "added")
    term = next(section for section in comparison.sections if section.section == "14.1")
    assert "through and including March 31, 2004" in term.new_text


def test_two_amendments_and_a_second_agreement_in_one_file_are_separated() -> None:
    comparison = compare_amendments(contract("DEVELOPMENT AGREEMENT (1)"), [contract("First Amendment")])
    assert [one.dated for one in comparison.instruments[1:]] == [date(2011, 7, 5), date(2011, 10, 19)]
    assert [(section.section, section.action, section.other_agreement) for section in comparison.sections] == [
        ("2.2", "amended", ""),
        ("13.9", "extended", ""),
        ("13.10", "added", ""),
        ("5.9", "extended", "Commercial License"),
    ]
