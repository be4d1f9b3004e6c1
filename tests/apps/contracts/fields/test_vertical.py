"""Verticals are data, and a mistake in one is reported with its file and key."""

from __future__ import annotations

from pathlib import Path

import pytest

from interlock.apps.contracts.fields.errors import BadVertical
from interlock.apps.contracts.fields.vertical import load_verticals, parse_vertical
from tests.apps.contracts.fields.texts import COMMERCIAL, ENERGY, read

LEASE = """
name: lease
label: Lease
signs: [lease, tenant]
signs_needed: 1
fields:
  - {name: tenant, label: Tenant, type: text, required: true, extractors: [label], labels: [Tenant, Lessee]}
  - name: rent
    label: Rent per month
    type: money
    required: true
    range: {min: 100, max: 20000}
    extractors: [label, pattern]
    labels: [Rent]
    patterns: ['rent of (?P<value>\\$[\\d,]{1,12})']
  - {name: start, label: Start, type: date, extractors: [label], labels: [Start]}
  - {name: end, label: End, type: date, extractors: [label], labels: [End]}
rules:
  - {rule: order, first: start, then: end}
"""


def test_two_verticals_are_shipped() -> None:
    assert [field.name for field in COMMERCIAL.required] == ["parties", "agreement_date", "governing_law"]
    assert {field.name for field in ENERGY.required} == {"provider", "working_price", "start_date"}
    assert len([field for field in COMMERCIAL.fields if field.type == "clause"]) == 33


def test_a_user_adds_one_with_a_file(tmp_path: Path) -> None:
    (tmp_path / "lease.yaml").write_text(LEASE)
    verticals = load_verticals(tmp_path)
    assert set(verticals) == {"commercial", "energy", "lease"}
    text = "Lease\nTenant: Jo Alder\nRent: $1,200.00\nStart: May 6, 2003\nEnd: 5/6/2004\n"
    found = {name: field.normalised for name, field in read(text, verticals["lease"]).fields.items()}
    assert found == {"tenant": "jo alder", "rent": "1200 USD", "start": "2003-05-06", "end": "2004-05-06"}


def test_a_pattern_finds_what_has_no_label(tmp_path: Path) -> None:
    vertical = parse_vertical(LEASE, "lease.yaml")
    assert read("The tenant pays a rent of $900 each month.", vertical).fields["rent"].normalised == "900 USD"


def test_a_file_of_the_same_name_replaces_the_shipped_one(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text(LEASE.replace("name: lease", "name: energy"))
    assert load_verticals(tmp_path)["energy"].label == "Lease"


def test_two_files_of_one_name_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(LEASE)
    (tmp_path / "b.yaml").write_text(LEASE)
    with pytest.raises(BadVertical, match="both describe 'lease'"):
        load_verticals(tmp_path)


def test_a_missing_folder_is_reported(tmp_path: Path) -> None:
    with pytest.raises(BadVertical, match="does not exist"):
        load_verticals(tmp_path / "none")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("type: text", "type: colour"), r"lease.yaml: fields\[tenant\].type"),
        (("extractors: [label], labels: [Tenant, Lessee]", "extractors: [magic]"), "there is no rule 'magic'"),
        (("labels: [Tenant, Lessee]", "labels: []"), "needs 'labels'"),
        (("first: start", "first: begin"), "names the field 'begin'"),
        (("name: end,", "name: start,"), "named twice: start"),
        (("min: 100", "min: 30000"), "is above max"),
        (("label: Lease", "label: Lease\nsize: 3"), "lease.yaml: size"),
        (("rent of (?P<value>", "rent of ((?P<value>"), "not a regular expression"),
        (("[\\d,]{1,12}", "([\\d]+,?)+"), "repeats a repetition"),
        (("rule: order", "rule: chaos"), r"lease.yaml: rules\[0\]"),
    ],
)
def test_a_mistake_is_reported_with_its_key(change: tuple[str, str], message: str) -> None:
    text = LEASE.replace(*change)
    assert text != LEASE
    with pytest.raises(BadVertical, match=message):
        parse_vertical(text, "lease.yaml")


@pytest.mark.parametrize("text", ["a: [", "- 1", "", "!!python/object/apply:os.system ['true']"])
def test_what_is_no_mapping_is_refused(text: str) -> None:
    with pytest.raises(BadVertical, match=r"x\.yaml"):
        parse_vertical(text, "x.yaml")


def test_a_field_that_is_not_there_is_named() -> None:
    with pytest.raises(KeyError, match="has no field 'colour'"):
        COMMERCIAL.field("colour")
