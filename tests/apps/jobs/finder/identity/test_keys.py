"""Keys of companies and titles: equal where the thing is, and different as soon as it may not be."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interlock.apps.jobs.finder.identity.keys import company_key, content_hash, fold, group_key, title_key, word_set


@pytest.mark.parametrize(
    "name",
    [
        "Müller Ölwerke",
        "MÜLLER ÖLWERKE GmbH",
        "Muller Olwerke GmbH & Co. KG",
        "Müller  Ölwerke, Inc.",
        "Müller Ölwerke Careers",
    ],
)
def test_a_company_has_one_key_however_its_name_is_written(name: str) -> None:
    assert company_key(name) == "muller olwerke"


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("nordlicht.io", "nordlicht"),
        ("Nordlicht S.p.A.", "nordlicht"),
        ("Nordlicht Sp. z o.o.", "nordlicht"),
        ("Fish & Chips Ltd", "fish and chips"),
        ("SE", "se"),
        ("Jobs AG", "jobs"),
        ("Careers", "careers"),
        ("3M Co", "3m"),
    ],
)
def test_legal_forms_domain_endings_and_board_words_do_not_count(name: str, key: str) -> None:
    assert company_key(name) == key


@pytest.mark.parametrize("name", [None, "", "  ", "—", "LinkedIn", "Indeed"])
def test_without_a_name_of_its_own_a_company_has_no_key(name: str | None) -> None:
    assert company_key(name) is None
    assert group_key(name, "Cook") is None


def test_different_companies_keep_different_keys() -> None:
    names = ["Nordlicht", "Nordlicht Labs", "Nordlicht Energie", "Coop", "Co op", "Sealand"]
    assert len({company_key(name) for name in names}) == len(names)


def test_words_of_a_title_that_tell_openings_apart_stay() -> None:
    titles = ["Cook (Kiel)", "Cook (Ulm)", "Senior Cook", "Cook", "C Developer", "C++ Developer", "C# Developer"]
    assert len({word_set(title) for title in titles}) == len(titles)


def test_the_group_does_not_see_the_order_of_words() -> None:
    assert group_key("Nordlicht AG", "Engineer, Backend (Go)") == group_key("nordlicht", "Backend Engineer [go]")
    assert group_key("Nordlicht AG", "Cook") != group_key("Südlicht AG", "Cook")


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=60))
def test_a_key_of_a_key_is_the_same_key(text: str) -> None:
    assert title_key(title_key(text)) == title_key(text)
    assert fold(fold(text)) == fold(text)
    key = company_key(text)
    assert key is None or company_key(key) == key


def test_a_hash_takes_what_utf8_cannot_write() -> None:
    assert len(content_hash("\ud800", ["\udfff"], "\ud800")) == 64
