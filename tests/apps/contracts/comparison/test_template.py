"""A contract against a standard."""

from __future__ import annotations

import time

import pytest

from interlock.apps.contracts.comparison import (
    BadTemplate,
    Source,
    Template,
    compare_template,
    load,
    load_template,
    shipped_template,
)
from interlock.apps.contracts.comparison.result import Finding
from interlock.apps.contracts.comparison.template import phrase_pattern
from interlock.apps.contracts.comparison.text import PlainDocument

CONTRACT = """1. Limitation of Liability. In no event is either party liable for indirect damages.
2. Term. This Agreement shall automatically renew for one year.
3. Confidentiality. Each party keeps the information secret."""

TEMPLATE = """
name: house
title: House rules
clauses:
  - {name: liability, title: Liability, phrases: [in no event ... liable], severity: high, why: Money.}
  - {name: secret, title: Secrecy, headings: [Confidentiality]}
  - {name: insurance, title: Insurance, headings: [Insurance], severity: high}
  - {name: renewal, title: Renewal, rule: forbidden, phrases: [automatically renew*]}
  - {name: penalty, title: Penalty, rule: forbidden, phrases: [contractual penalty]}
  - name: wording
    title: Wording
    headings: [Confidentiality]
    text: Confidentiality. Each party keeps all information secret.
fields:
  governing_law: {required: true, allowed: [New York, Delaware]}
  notice_period: {most: 90}
"""


def outcomes(template: Template, contract: str = CONTRACT, **fields: dict[str, object]) -> dict[str, Finding]:
    comparison = compare_template(Source("contract", PlainDocument.of(contract), fields), template)
    return {finding.rule: finding for finding in comparison.findings}


def test_an_expected_clause_is_found_by_its_words_with_evidence() -> None:
    finding = outcomes(load_template(TEMPLATE))["liability"]
    assert finding.outcome == "met"
    assert finding.evidence[0].page == 1
    assert "In no event" in finding.evidence[0].quote


def test_an_expected_clause_is_found_by_its_heading() -> None:
    assert outcomes(load_template(TEMPLATE))["secret"].verdict == "Secrecy: there (3 Confidentiality, page 1)."


def test_an_expected_clause_that_is_not_there_is_missing() -> None:
    assert outcomes(load_template(TEMPLATE))["insurance"].outcome == "missing"


def test_a_forbidden_clause_that_is_there_is_reported_and_one_that_is_not_is_fine() -> None:
    found = outcomes(load_template(TEMPLATE))
    assert (found["renewal"].outcome, found["penalty"].outcome) == ("forbidden", "met")


def test_other_words_than_the_standard_are_shown_as_a_difference() -> None:
    finding = outcomes(load_template(TEMPLATE))["wording"]
    assert finding.outcome == "deviates"
    assert [(piece.op, piece.text) for piece in finding.words if piece.op != "same"] == [
        ("deleted", " all"),
        ("inserted", " the"),
    ]


@pytest.mark.parametrize(
    ("value", "outcome"),
    [("New York", "met"), ("State of Delaware", "met"), ("Ohio", "not_allowed"), (None, "missing")],
)
def test_a_field_must_have_an_allowed_value(value: str | None, outcome: str) -> None:
    assert outcomes(load_template(TEMPLATE), governing_law={"value": value})["field:governing_law"].outcome == outcome


@pytest.mark.parametrize(
    ("value", "outcome"), [("30 days", "met"), ("120 days", "not_allowed"), ("soon", "not_allowed")]
)
def test_a_field_must_lie_within_its_limits(value: str, outcome: str) -> None:
    assert outcomes(load_template(TEMPLATE), notice_period={"value": value})["field:notice_period"].outcome == outcome


def test_another_document_can_be_the_standard() -> None:
    standard = Source("standard", PlainDocument.of(CONTRACT + "\n4. Notices. Notices are in writing."))
    contract = Source("contract", PlainDocument.of(CONTRACT.replace("secret", "safe")))
    comparison = compare_template(contract, standard)
    assert [finding.outcome for finding in comparison.findings] == ["met", "met", "deviates", "missing"]
    assert load(comparison.model_dump_json()) == comparison


def test_serious_points_are_counted() -> None:
    comparison = compare_template(Source("contract", PlainDocument.of(CONTRACT)), load_template(TEMPLATE))
    assert comparison.summary.counts == {
        "met": 4,
        "missing": 2,
        "forbidden": 1,
        "deviates": 1,
        "not_allowed": 0,
        "high": 1,
    }


@pytest.mark.parametrize("vertical", ["commercial", "energy"])
def test_each_vertical_has_a_template(vertical: str) -> None:
    template = shipped_template(vertical)
    assert template is not None
    assert template.vertical == vertical


@pytest.mark.parametrize("vertical", ["unknown", "../secret", "energy-offers/..", ""])
def test_a_vertical_without_a_template_has_none(vertical: str) -> None:
    assert shipped_template(vertical) is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: [", "is not YAML"),
        ("name: x", "title: Field required"),
        ("name: x\ntitle: y\nclauses: [{name: a, title: b, rule: maybe}]", "clauses.0.rule"),
        ("name: x\ntitle: y\nclauses: [{name: a, title: b}, {name: a, title: c}]", "two clauses are named 'a'"),
        ("!!python/object/apply:os.system [ls]", "is not YAML"),
    ],
)
def test_a_template_that_is_wrong_says_where(text: str, said: str) -> None:
    with pytest.raises(BadTemplate, match=said.replace("[", r"\[")):
        load_template(text, "mine.yaml")


def test_three_dots_stand_for_up_to_eight_words() -> None:
    pattern = phrase_pattern("may ... assign*")
    assert pattern.search("Neither party may without consent assigns it")
    assert not pattern.search("may one two three four five six seven eight nine assign")


def test_a_phrase_is_found_in_bounded_time() -> None:
    pattern = phrase_pattern("governed by ... laws ... of ... state")
    started = time.process_time()
    for hostile in (
        "governed by " * 20_000,
        "- " * 100_000,
        "governed by " + "-" * 100_000,
        "governed by laws of " * 10_000,
    ):
        pattern.search(hostile)
    assert time.process_time() - started < 5
