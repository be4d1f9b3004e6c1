"""Reads text in an SQLite file that is not valid UTF-8, so that other rows can be read as well.

SQLite stores any bytes as text, and sqlite3 raises an error for those that it cannot decode. Decoding in Python would
slow down every read, so it is done only after a job has met such bytes: then the job runs again.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

import sqlalchemy as sa


@contextmanager
def escaping(raw: sqlite3.Connection, wanted: bool = True) -> Iterator[None]:
    """Read invalid bytes as `\\xff`. The result is not valid JSON, so nobody works with it by mistake."""
    if not wanted:
        yield
        return
    raw.text_factory = _escaped
    try:
        yield
    finally:
        raw.text_factory = str


def _escaped(stored: bytes) -> str:
    return stored.decode("utf-8", "backslashreplace")


def failed(error: BaseException) -> bool:
    """Whether invalid bytes caused the error. sqlite3 has no error code for it."""
    cause = error.orig if isinstance(error, sa.exc.DBAPIError) else error
    return isinstance(cause, sqlite3.OperationalError) and str(cause).startswith("Could not decode to UTF-8")
