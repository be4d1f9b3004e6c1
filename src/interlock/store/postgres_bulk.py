"""Statements that insert or update many rows on PostgreSQL, with their values as arrays."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import repeat
from operator import is_
from typing import Any

import psycopg
import sqlalchemy as sa

from interlock.store.binary_arrays import binary_array
from interlock.store.database import NOTHING
from interlock.store.errors import RowChanged, StoreGone

SAME_FROM = 16
"""From this number of rows on, columns with one value for all rows are sent once."""


def same_for_all(columns: Sequence[Sequence[Any]], guards: int = 0) -> tuple[bool, ...]:
    """Which columns have one value for all rows, compared by identity, which is fast. It is sent once.

    The first column, which identifies the row, and guards are never among them: the planner would search rows by them.
    """
    if len(columns[0]) < SAME_FROM:
        return (False,) * len(columns)
    sets = columns[1 : len(columns) - guards]
    return (False, *(all(map(is_, column, repeat(column[0]))) for column in sets), *(False,) * guards)


def parameters(columns: Sequence[Sequence[Any]], same: Sequence[bool], more: Mapping[str, Any] = NOTHING) -> list[Any]:
    """The parameters of the statement, in order: first the values for all rows, then the arrays."""
    once = [_text(column[0]) for column, one in zip(columns, same, strict=True) if one]
    return (
        once
        + [_text(value) for value in more.values()]
        + [binary_array(column) for column, one in zip(columns, same, strict=True) if not one]
    )


def _text(value: Any) -> str | None:
    """A value as text. As a Python number, its type in the statement would depend on its size."""
    if value is None or isinstance(value, str):
        return value
    return f"\\x{value.hex()}" if isinstance(value, bytes) else str(value)


@lru_cache(1000)
def insert_one(table: sa.Table, columns: tuple[str, ...]) -> bytes:
    return f"INSERT INTO {table.name} ({_quoted(columns)}) VALUES ({', '.join(['%s'] * len(columns))})".encode()


def _quoted(columns: Iterable[str]) -> str:
    return '"' + '", "'.join(columns) + '"'  # the name of a column may be a keyword


@lru_cache(1000)
def insert_many(table: sa.Table, columns: tuple[str, ...], same: tuple[bool, ...]) -> bytes:
    kinds = [kind_of(table, name) for name in columns]
    each = [f"%s::{kind}" if one else f'new."{name}"' for name, kind, one in zip(columns, kinds, same, strict=True)]
    arrays = ", ".join(f"%s::{kind}[]" for kind, one in zip(kinds, same, strict=True) if not one)
    names = _quoted(name for name, one in zip(columns, same, strict=True) if not one)
    rows = f"SELECT {', '.join(each)} FROM unnest({arrays}) AS new ({names})"
    return f"INSERT INTO {table.name} ({_quoted(columns)}) {rows}".encode()


@lru_cache(1000)
def update_one(table: str, columns: tuple[str, ...], guards: tuple[str, ...]) -> bytes:
    sets = ", ".join(f"{name} = %s" for name in columns[1:])
    where = " AND ".join(f"{name} = %s" for name in (columns[0], *guards))
    return f"UPDATE {table} SET {sets} WHERE {where}".encode()


@lru_cache(1000)
def update_many(table: sa.Table, columns: tuple[str, ...], guards: tuple[str, ...], same: tuple[bool, ...]) -> bytes:
    kinds = [kind_of(table, name) for name in (*columns, *guards)]
    names = (*columns, *(f"was_{name}" for name in guards))
    each = [f"%s::{kind}" if one else f"new.{name}" for name, kind, one in zip(names, kinds, same, strict=True)]
    sets = ", ".join(f"{name} = {value}" for name, value in zip(columns[1:], each[1:], strict=False))
    still = "".join(f" AND old.{name} = {value}" for name, value in zip(guards, each[len(columns) :], strict=True))
    arrays = ", ".join(f"%s::{kind}[]" for kind, one in zip(kinds, same, strict=True) if not one)
    varying = [name for name, one in zip(names, same, strict=True) if not one]
    # The arrays come from a subquery that the planner does not look into: if it sees two hundred values, it scans a
    # table of ten thousand rows.
    given = ", ".join(f"a{n}" for n in range(len(varying)))
    rows = f"(SELECT {arrays} OFFSET 0) AS given ({given}), LATERAL unnest({given}) AS new ({', '.join(varying)})"
    return (
        f"UPDATE {table.name} AS old SET {sets} FROM {rows} WHERE old.{columns[0]} = new.{columns[0]}{still}".encode()
    )


def rows_changed(table: sa.Table, count: int, found: int) -> RowChanged:
    return RowChanged(f"{count - found} of {count} rows of {table.name} were changed by others meanwhile")


def check_count(cursor: psycopg.Cursor[Any], table: sa.Table, count: int, guarded: bool) -> None:
    if cursor.rowcount != count and guarded:
        raise rows_changed(table, count, cursor.rowcount)
    if cursor.rowcount != count:
        raise StoreGone(f"{count} rows of {table.name} were to be updated, {cursor.rowcount} were there")


def kind_of(table: sa.Table, column: str) -> str:
    """The name of the column's type in PostgreSQL."""
    kind = table.c[column].type
    if isinstance(kind, sa.Uuid):
        return "uuid"
    if isinstance(kind, sa.Integer):
        return "bigint"
    if isinstance(kind, sa.Float):
        return "float8"
    if isinstance(kind, sa.LargeBinary):
        return "bytea"
    return "text"
