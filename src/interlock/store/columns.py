"""The kinds of columns of all tables: equal on both databases, and supported by backups.

Applications declare their own tables with `new_metadata`, `id_`, `text`, `secret`, `at`, `number` and `binary`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID, SafeUUID

import sqlalchemy as sa
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement


def new_metadata() -> sa.MetaData:
    """Metadata for an application's tables, with the same names for keys and indexes as in the core."""
    return sa.MetaData(
        naming_convention={
            "pk": "pk_%(table_name)s",
            "uq": "uq_%(table_name)s_%(column_0_N_name)s",
            "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        }
    )


metadata = new_metadata()


SECRET = "secret"  # noqa: S105 - a kind of column


class Id(sa.Uuid[UUID]):
    """A UUID. On SQLite it is read without the parser of UUID, which takes four times as long (2.3 µs, not 0.6)."""

    cache_ok = True

    def result_processor(self, dialect: sa.Dialect, coltype: object) -> Callable[[Any], Any] | None:
        return read_id if dialect.name == "sqlite" else None  # psycopg returns UUIDs


class Reference(Id):
    """The id of another row. An invalid one, written by hand, is read as None; a row's own id must be valid."""

    cache_ok = True

    def result_processor(self, dialect: sa.Dialect, coltype: object) -> Callable[[Any], Any] | None:
        return read_reference if dialect.name == "sqlite" else None


UNKNOWN = SafeUUID.unknown  # looking it up in the enum takes as long as all the rest


def read_id(text: str | None) -> UUID | None:
    if text is None:
        return None
    made = object.__new__(UUID)
    object.__setattr__(made, "int", int(text, 16))
    object.__setattr__(made, "is_safe", UNKNOWN)
    return made


def read_reference(text: str | None) -> UUID | None:
    try:
        return read_id(text)
    except (ValueError, TypeError):
        return UUID(int=0)


def id_(name: str = "id", *, null: bool = False, primary: bool = False) -> sa.Column[object]:
    """A UUID."""
    return sa.Column(name, Id if primary else Reference, primary_key=primary, nullable=null)


def text(name: str, *, null: bool = False, primary: bool = False) -> sa.Column[object]:
    """A text of any length, also for JSON."""
    return sa.Column(name, sa.Text, nullable=null, primary_key=primary)


def secret(name: str, *, null: bool = False) -> sa.Column[object]:
    """A text that backups carry and exports hide, such as a token."""
    return sa.Column(name, sa.Text, nullable=null, info={SECRET: True})


def at(name: str, *, null: bool = False) -> sa.Column[object]:
    """A time, in microseconds since 1970 (UTC)."""
    return sa.Column(name, sa.BigInteger, nullable=null)


def number(name: str, *, null: bool = False, default: int | None = None) -> sa.Column[object]:
    """An integer of 64 bits."""
    return sa.Column(
        name, sa.BigInteger, nullable=null, server_default=None if default is None else sa.text(str(default))
    )


def binary(name: str, *, null: bool = False) -> sa.Column[object]:
    """Bytes."""
    return sa.Column(name, sa.LargeBinary, nullable=null)


class ThisTransaction(FunctionElement[int]):
    """The id of the transaction that writes a row. SQLite has one writer and needs none."""

    inherit_cache = True
    name = "this_transaction"


@compiles(ThisTransaction, "postgresql")
def _in_postgres(*_: Any, **__: Any) -> str:
    return "((pg_current_xact_id())::text)::bigint"


@compiles(ThisTransaction)
def _elsewhere(*_: Any, **__: Any) -> str:
    return "0"
