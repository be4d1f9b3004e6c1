"""Text in an SQLite file that is no UTF-8: a row that has some is read all the same, so that those beside it are.

SQLite stores any bytes as text, and sqlite3 gives up at the first that it cannot decode. To decode in Python would cost
every read of every text, so this is done only when a job has met such bytes: then it runs once more.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

import sqlalchemy as sa


@contextmanager
def spelled_out(raw: sqlite3.Connection, wanted: bool = True) -> Iterator[None]:
    """Bytes that are no UTF-8 are read as `\\xff`. That is no JSON, so nobody works with data that was made up here."""
    if not wanted:
        yield
        return
    raw.text_factory = _spelled
    try:
        yield
    finally:
        raw.text_factory = str


def _spelled(stored: bytes) -> str:
    return stored.decode("utf-8", "backslashreplace")


def failed(error: BaseException) -> bool:
    """Whether it was ended by such bytes; sqlite3 has no code of its own for that."""
    cause = error.orig if isinstance(error, sa.exc.DBAPIError) else error
    return isinstance(cause, sqlite3.OperationalError) and str(cause).startswith("Could not decode to UTF-8")
