"""Arrays that we write ourselves: whatever is in them, PostgreSQL reads the same."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from interlock.store.arrays import array
from interlock.store.binary_arrays import BigintArray, ByteaArray, UuidArray, binary_array

TEXTS = st.text(st.characters(exclude_characters="\0", exclude_categories=("Cs",)), max_size=8)
HARD = ["", " ", '"', "\\", '","', "NULL", "null", "{}", "{", ",", "\n", '\\"', '"",""', "a\\", "ü€"]


def read_back(url: str, kind: str, values: list[Any]) -> list[Any]:
    with psycopg.connect(url) as conn:
        both = array(values), binary_array(values)
        row = conn.execute(f"SELECT %s::{kind}[], %s::{kind}[]".encode(), both).fetchone()
    assert row is not None
    found: list[Any] = row[0]
    assert row[1] == found
    return found


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        ("text", HARD),
        ("text", ["plain", "words"]),
        ("text", [None, "one", None]),
        ("text", [None, None]),
        ("text", []),
        ("bigint", [1, -2, 1 << 62]),
        ("bigint", [None, 7]),
        ("uuid", [UUID(int=1), UUID(int=(1 << 128) - 1)]),
        ("uuid", [UUID(int=1), None]),
        ("bytea", [b"", b"\0\\x", bytes(range(256))]),
        ("bytea", [b"a", None]),
        ("bytea", [b"ab", b"cd"]),
        ("bytea", [b"", b""]),
        ("bigint", [-(1 << 63), (1 << 63) - 1]),
        ("float8", [0.5, -1e300]),
    ],
)
def test_an_array_says_what_was_put_in(postgres_url: str, kind: str, values: list[Any]) -> None:
    assert read_back(postgres_url, kind, values) == values


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(values=st.lists(st.one_of(TEXTS, st.sampled_from(HARD)), max_size=6))
def test_any_texts_stay_themselves_and_apart(postgres_url: str, values: list[str]) -> None:
    assert read_back(postgres_url, "text", values) == values


def test_ids_numbers_and_hashes_are_sent_binary_and_the_rest_as_text() -> None:
    columns: list[list[Any]] = [[UUID(int=1)], [1, 2], [b"ab", b"cd"], [b"a", b"bc"], ["a"], [1, None], [True], []]
    kinds = [type(binary_array(column)) for column in columns]
    assert kinds == [UuidArray, BigintArray, ByteaArray, str, str, str, str, str]


def test_a_number_that_is_too_big_is_refused_by_the_database(postgres_url: str) -> None:
    with pytest.raises(psycopg.errors.NumericValueOutOfRange):
        read_back(postgres_url, "bigint", [1 << 63])
