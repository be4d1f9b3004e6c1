"""Which rows go to the driver as they are, and which SQLAlchemy has to prepare."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql

from interlock.store.database import Store

PLAIN = (sa.Integer, sa.Float, sa.String, sa.LargeBinary)
_names = postgresql.dialect().identifier_preparer  # type: ignore[no-untyped-call]


def insert(
    store: Store, conn: sa.Connection, rows: Iterable[tuple[sa.Table, dict[str, Any]]]
) -> list[tuple[sa.Table, list[dict[str, Any]]]]:
    """Insert rows, one statement for all of a table with the same columns. Returns those left for SQLAlchemy."""
    groups: dict[tuple[sa.Table, tuple[str, ...]], list[dict[str, Any]]] = {}
    for table, row in rows:
        groups.setdefault((table, tuple(row)), []).append(row)
    typed = []
    for (table, columns), given in groups.items():
        if is_plain(table, columns):
            store.insert_many(conn, table, columns, [tuple(row.values()) for row in given])
        else:
            typed.append((table, given))
    return typed


@lru_cache(1000)
def has_uuid(table: sa.Table) -> bool:
    """Whether the table has a column `id` that is a UUID."""
    return "id" in table.c and isinstance(table.c.id.type, sa.Uuid)


@lru_cache(1000)
def is_plain(table: sa.Table, columns: tuple[str, ...]) -> bool:
    """Whether these columns of a row can be passed to the driver without SQLAlchemy, which is faster.

    It cannot if SQLAlchemy converts a value (a date, JSON), or adds one that is not given (a default in Python).
    """
    given = [table.c[name] for name in columns]
    if not given or _names.format_table(table) != table.name:
        return False
    if any(not _as_it_is(column.type) for column in given):
        return False
    return all(column.default is None or column.name in columns for column in table.c)


def _as_it_is(kind: sa.types.TypeEngine[object]) -> bool:
    if isinstance(kind, sa.Uuid):
        return bool(kind.as_uuid)
    return isinstance(kind, PLAIN) and not isinstance(kind, sa.Enum)
