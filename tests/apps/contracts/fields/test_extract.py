"""What the rules find in contracts, and what they leave alone."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interlock.apps.contracts.fields.extract.pick import RULES
from interlock.apps.contracts.fields.extraction import answered, extract
from interlock.apps.contracts.fields.normalise.names import name_key
from interlock.apps.contracts.reading.document import Span
from tests.apps.contracts.fields.texts import COMMERCIAL, CONTRACT, ENERGY, FILLER, document, examples, read, value

OPENINGS = examples("openings.yaml")
LAWS = examples("laws.yaml")


@pytest.mark.parametrize("example", OPENINGS, ids=lambda example: example["parties"][0])
def test_an_opening_names_its_parties(example: dict[str, Any]) -> None:
    assert value(example["text"] + FILLER, "parties") == sorted(name_key(name) for name in example["parties"])


@pytest.mark.parametrize("example", OPENINGS, ids=lambda example: example["parties"][0])
def test_an_opening_has_its_date(example: dict[str, Any]) -> None:
    assert value(example["text"] + FILLER, "agreement_date") == example["date"]


@pytest.mark.parametrize("example", LAWS, ids=range(len(LAWS)))
def test_a_clause_names_the_law_that_governs(example: dict[str, Any]) -> None:
    assert value(FILLER + example["text"] + FILLER, "governing_law") == example["law"]


def test_a_whole_contract_is_read() -> None:
    found = {name: read.normalised for name, read in read(CONTRACT).fields.items()}
    assert found["document_name"] == "distribution agreement"
    assert found["parties"] == ["alderpumps", "birchmarine"]
    assert found["agreement_date"] == "2003-05-06"
    assert found["expiration_date"] == "2006-05-06"
    assert found["renewal_term"] == "P1Y"
    assert found["notice_period"] == "P90D"
    assert found["governing_law"] == "New York"
    for clause in ("license_grant", "exclusivity", "audit_rights", "cap_on_liability", "anti_assignment"):
        assert found[clause] == "yes"
    assert "source_code_escrow" not in found
    assert "insurance" not in found


@pytest.mark.parametrize("text", [CONTRACT, CONTRACT.replace(" ", "\n"), CONTRACT.replace("\n", "\n<page>\n")])
def test_every_quote_is_a_piece_of_its_page(text: str) -> None:
    paper = document(text)
    extraction = extract(paper, COMMERCIAL)
    assert extraction.fields
    for found in extraction.fields.values():
        assert found.quote
        assert paper.page(found.page).text[found.start : found.end] == found.quote
        for other in found.alternatives:
            assert paper.page(other.span.page).text[other.span.start : other.span.end] == other.quote


def test_rules_that_agree_are_distinguished_from_one_alone() -> None:
    both = read(CONTRACT).fields["governing_law"].signals
    assert both.agreement == "agree"
    assert set(both.extractors) >= {"law_clause", "law_heading"}
    alone = read(FILLER + "This Agreement is governed by the laws of Texas.").fields["governing_law"].signals
    assert alone.agreement == "single"


def test_a_law_that_is_only_mentioned_is_weak() -> None:
    text = FILLER + "Interest accrues at the rate that the laws of the State of Ohio allow." + FILLER
    assert read(text).fields["governing_law"].signals.agreement == "weak"


def test_rules_that_differ_are_said_to_and_the_other_value_is_kept() -> None:
    text = CONTRACT + "\n9. Jurisdiction. The laws of the State of Ohio shall govern this Agreement in all respects.\n"
    found = read(text).fields["governing_law"]
    assert found.signals.agreement == "split"
    assert {found.normalised, *(other.normalised for other in found.alternatives)} == {"New York", "Ohio"}


@pytest.mark.parametrize(
    ("text", "end"),
    [
        ("The term of this Agreement shall expire on December 31, 2005.", "2005-12-31"),
        ('This Agreement shall commence on the Effective Date and last for five (5) years (the "Term").', "2008-05-06"),
        ('This Agreement shall remain in effect until terminated by either party (the "Term").', "perpetual"),
        ('This Agreement will terminate on the third anniversary of the Effective Date (the "Term").', "2006-05-06"),
        ("The term of this Agreement shall begin on January 1, 2004 and continue for two (2) years.", "2005-12-31"),
        ("Licensee keeps its records for five (5) years after the expiration of the term of this Agreement.", None),
    ],
)
def test_the_end_is_written_or_worked_out(text: str, end: str | None) -> None:
    start = 'THIS AGREEMENT is made as of May 6, 2003 by and between ALDER, INC. ("A") and BIRCH LLC ("B").\nWHEREAS'
    assert value(f"{start}{FILLER}\n{text}\n{FILLER}", "expiration_date") == end


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ('dated June 1, 2020, effective as of July 1, 2020 (the "Effective Date")', "2020-07-01"),
        ('made as of June 1, 2020 (the "Effective Date")', "2020-06-01"),
        ("made as of June 1, 2020 and effective August 3, 2020,", "2020-08-03"),
    ],
)
def test_the_effective_date_is_distinguished_from_the_agreements(text: str, day: str) -> None:
    text = f'This Agreement, {text} is by and between ALDER, INC. ("A") and BIRCH LLC ("B").\nWHEREAS{FILLER}'
    assert value(text, "effective_date") == day
    assert value(text, "agreement_date") == "2020-06-01"


GERMAN = """Stromliefervertrag
Lieferant: Stadtwerke München
Tarif: Ökostrom Fix 24
Jahresverbrauch: 3.500 kWh
Arbeitspreis: 32,15 ct/kWh
Grundpreis: 12,50 €/Monat
Grundpreis: 150,00 €/Jahr
Lieferbeginn: 01.02.2026
Laufzeit: 24 Monate
Kündigungsfrist: 4 Wochen
Vertragsende: 31.01.2028
"""
ENGLISH = """Electricity supply contract
Supplier: British Gas
Tariff: Fixed Saver
Annual consumption: 3,500 kWh
Unit rate: 0.285 £/kWh
Start date: 1 February 2026
Contract length: 12 months
Notice period: 30 days
"""


def test_a_german_energy_contract_is_read() -> None:
    found = {name: field.normalised for name, field in read(GERMAN, ENERGY).fields.items()}
    assert found == {
        "provider": "stadtwerke münchen gmbh",
        "tariff": "ökostrom fix 24",
        "working_price": "0.3215 EUR",
        "base_price_month": "12.5 EUR",
        "base_price_year": "150 EUR",
        "consumption": "3500",
        "start_date": "2026-02-01",
        "end_date": "2028-01-31",
        "term": "P24M",
        "notice_period": "P4W",
    }


def test_an_english_energy_contract_is_read() -> None:
    found = {name: field.normalised for name, field in read(ENGLISH, ENERGY).fields.items()}
    assert found["provider"] == "british gas trading limited"
    assert found["consumption"] == "3500"
    assert found["working_price"] == "0.285 GBP"
    assert found["start_date"] == "2026-02-01"
    assert found["term"] == "P12M"
    assert found["notice_period"] == "P30D"


def test_a_text_of_another_kind_does_not_fit() -> None:
    assert read(GERMAN, ENERGY).fits
    assert not read(CONTRACT, ENERGY).fits
    assert read(CONTRACT).fits
    assert not read("A recipe for soup. Boil water, add salt.").fits


def test_a_models_answer_counts_as_one_more_rule() -> None:
    paper = document(CONTRACT)
    at = paper.text.index("laws of the State of\nNew York")
    span = Span(1, at, at + len("laws of the State of\nNew York"))
    model = answered(COMMERCIAL, "governing_law", "New York", paper.text[span.start : span.end], span)
    assert model is not None
    signals = extract(paper, COMMERCIAL, more={"governing_law": [model]}).fields["governing_law"].signals
    assert "model" in signals.extractors


def test_a_models_answer_of_the_wrong_type_is_none() -> None:
    assert answered(COMMERCIAL, "agreement_date", "soon", "soon", Span(1, 0, 4)) is None


def test_an_empty_document_has_no_fields() -> None:
    assert read("").fields == {}


NASTY = [
    " ",
    "a",
    "(",
    '"',
    "_ ",
    "1 ",
    " and A",
    "laws of ",
    "governed by ",
    "by and between X and ",
    '("A") ',
    "May 1, 2001 ",
    "the term of this agreement shall ",
    "*",
    "A, ",
    "This agreement ",
    "Foo, Inc., a ",
    "THIS ",
    ". ",
    ". A",
    "[ ",
    "-",
    "effective ",
    "Effective Date ",
    "a\n",
    "By:\n",
    "twenty ",
    "two thousand and ",
    "IN WITNESS WHEREOF ",
    "not ",
    "hereinafter referred to ",
    "$1 ",
    "AGREEMENT\n",
    "renew for ",
    "verbrauch ",
    "Agreement dated ",
    "\u201c",
    "'",
]


@pytest.mark.parametrize("piece", NASTY)
def test_no_text_makes_the_rules_slow(piece: str) -> None:
    paper = document(piece * (60_000 // len(piece)))
    begin = time.process_time()
    extract(paper, COMMERCIAL)
    extract(paper, ENERGY)
    # A real contract of this length takes a tenth of a second; what backtracks takes minutes.
    assert time.process_time() - begin < 6


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from(NASTY + CONTRACT.split()), max_size=80))
def test_no_text_makes_the_rules_fail(pieces: list[str]) -> None:
    paper = document(" ".join(pieces))
    for found in extract(paper, COMMERCIAL).fields.values():
        assert paper.page(found.page).text[found.start : found.end] == found.quote


def test_every_named_rule_exists() -> None:
    from interlock.apps.contracts.fields.extract.names import EXTRACTORS

    assert set(EXTRACTORS) == set(RULES)
