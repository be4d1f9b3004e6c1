"""Rows of other tables are inserted together: by the driver where it takes the values as they are."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime
from enum import Enum
from typing import Any
from uuid import UUID, uuid4

import pytest
import sqlalchemy as sa

from interlock.engine import Engine
from interlock.engine.unit import Unit
from interlock.machine import Registry
from interlock.store import Store
from interlock.store.plain_rows import has_uuid, is_plain

META = sa.MetaData()


class Colour(Enum):
    RED = 1


numbered = sa.Table(
    "numbered",
    META,
    sa.Column("id", sa.BigInteger().with_variant(sa.Integer, "sqlite"), primary_key=True),
    sa.Column("small", sa.SmallInteger),
    sa.Column("order", sa.Integer),
    sa.Column("share", sa.Float),
    sa.Column("word", sa.String(20), server_default="none"),
    sa.Column("other", sa.Uuid),
    sa.Column("content", sa.LargeBinary),
)
typed = sa.Table(
    "typed",
    META,
    sa.Column("id", sa.Uuid, primary_key=True),
    sa.Column("day", sa.Date),
    sa.Column("at", sa.DateTime(timezone=True)),
    sa.Column("things", sa.JSON),
    sa.Column("colour", sa.Enum(Colour)),
    sa.Column("open", sa.Boolean),
)
defaulted = sa.Table(
    "defaulted", META, sa.Column("id", sa.Integer, primary_key=True), sa.Column("word", sa.Text, default=lambda: "said")
)


@pytest.fixture
def engine(store: Store) -> Iterator[Engine]:
    store.schema(META.create_all)
    yield Engine(store, Registry([]))
    store.schema(META.drop_all)


def rows(engine: Engine, table: sa.Table) -> list[dict[str, Any]]:
    found = engine.read(lambda conn: conn.execute(sa.select(table)).all())
    return [dict(row._mapping) for row in found]


@pytest.mark.parametrize("count", [1, 40])
def test_rows_of_plain_columns_are_as_they_were_given(engine: Engine, count: int) -> None:
    other = uuid4()

    def job(unit: Unit) -> None:
        for n in range(count):
            unit.insert(numbered, order=n, small=-n, share=n / 4, word='a "quoted" {word}', other=other, content=b"\0")

    engine.write(job)
    found = sorted(rows(engine, numbered), key=lambda row: row["order"])
    assert [row["order"] for row in found] == list(range(count))
    assert len({row["id"] for row in found}) == count
    last = found[-1]
    assert (last["small"], last["share"], last["word"]) == (1 - count, (count - 1) / 4, 'a "quoted" {word}')
    assert (last["other"], last["content"]) == (other, b"\0")


def test_rows_with_different_columns_leave_the_others_to_the_database(engine: Engine) -> None:
    def job(unit: Unit) -> None:
        unit.insert(numbered, order=1)
        unit.insert(numbered, order=2, word="given")
        unit.insert(numbered, word=None)

    engine.write(job)
    found = {(row["order"], row["word"]) for row in rows(engine, numbered)}
    assert found == {(1, "none"), (2, "given"), (None, None)}


def test_values_that_a_driver_does_not_know_go_through_sqlalchemy(engine: Engine) -> None:
    at = datetime(2026, 1, 2, tzinfo=UTC)
    given = {"day": date(2026, 1, 2), "at": at, "things": {"a": [1]}, "colour": Colour.RED, "open": True}

    def job(unit: Unit) -> list[UUID]:
        unit.insert(defaulted)
        return [unit.insert(typed, **given) for _ in range(3)]

    made = engine.write(job)
    found = rows(engine, typed)
    assert {row["id"] for row in found} == set(made)
    assert [(row["day"], row["things"], row["colour"], row["open"]) for row in found] == [
        (date(2026, 1, 2), {"a": [1]}, Colour.RED, True)
    ] * 3
    assert [row["word"] for row in rows(engine, defaulted)] == ["said"]


def test_which_rows_are_plain() -> None:
    assert has_uuid(typed)
    assert not has_uuid(numbered)
    assert is_plain(numbered, ("small", "order", "share", "word", "other", "content"))
    assert not is_plain(numbered, ())
    for column in ("day", "at", "things", "colour", "open"):
        assert not is_plain(typed, ("id", column)), column
    assert not is_plain(defaulted, ())
    assert is_plain(defaulted, ("word",))
    keyword = sa.Table("order", sa.MetaData(), sa.Column("n", sa.Integer))
    elsewhere = sa.Table("plain", sa.MetaData(), sa.Column("n", sa.Integer), schema="elsewhere")
    assert not is_plain(keyword, ("n",))
    assert not is_plain(elsewhere, ("n",))
