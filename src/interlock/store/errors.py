"""Errors of the database. The type says whether trying again helps."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import sqlalchemy as sa

from interlock.machine import InterlockError


class StoreError(InterlockError):
    """The base class of database errors."""

    retryable = False


class StoreBusy(StoreError):
    """Another process locked the database for too long; trying again helps."""

    retryable = True


class StoreGone(StoreError):
    """The database cannot be reached, or the connection broke. The outcome of a running commit is unknown."""

    retryable = True


class StoreFull(StoreError):
    """The disk is full; nothing was written. Free some space and try again."""

    retryable = True


class RowChanged(StoreError):
    """Rows have changed since they were read; nothing was written. Read them again, then try again."""

    retryable = True


class StoreClosed(StoreError):
    """The store was closed."""


class WrongIsolation(StoreError):
    """The caller's connection has an isolation level, or is in autocommit mode, that the engine cannot work with."""

    def __init__(self, level: str, why: str, remedy: str) -> None:
        self.level = level
        super().__init__(f"the connection is at {level}, where {why}; {remedy}")


class SchemaMismatch(StoreError):
    """The schema of the database does not fit this code."""


class MigrationFailed(StoreError):
    """A migration of an application raised an error, or did not make the declared tables."""


# Serialization failure, deadlock, lock not available: the transaction was rolled back and may be run again.
RERUN = {"40001", "40P01", "55P03"}
# Connection trouble and shutdown: class 08, and 57P01..57P05.
GONE = ("08", "57P")
FULL = {"53100", "53200"}


def is_conflict(error: BaseException) -> bool:
    return isinstance(error, sa.exc.IntegrityError)


def translated(error: BaseException, file: Path | None = None) -> StoreError | None:
    """The error as a StoreError, which names the file of the database; None if the statement itself was wrong."""
    named = f" {file}" if file is not None else ""
    if isinstance(error, sa.exc.TimeoutError):
        return StoreBusy(f"every connection to the database is in use: {error}")
    cause = error.orig if isinstance(error, sa.exc.DBAPIError) else error
    state = getattr(cause, "sqlstate", None) or ""
    name = getattr(cause, "sqlite_errorname", "") or ""
    if state in RERUN or name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return StoreBusy(f"the database is locked: {cause}")
    if state in FULL or name == "SQLITE_FULL":
        return StoreFull(f"the database has no room left: {cause}; free some space, nothing was written")
    if state == "53300":
        return StoreBusy(f"the database takes no more connections: {cause}")
    if getattr(error, "connection_invalidated", False) or state.startswith(GONE):
        return StoreGone(f"the database went away: {cause}")
    if name in {"SQLITE_CANTOPEN", "SQLITE_IOERR", "SQLITE_READONLY"} or name.startswith("SQLITE_IOERR"):
        return StoreGone(f"the database file{named} cannot be used: {cause}")
    if name == "SQLITE_NOTADB" or name.startswith("SQLITE_CORRUPT"):
        return StoreError(f"the database file{named} is damaged, or is not a database: {cause}")
    # psycopg sets no sqlstate if the connection failed or broke.
    if isinstance(error, sa.exc.OperationalError) and not state and not isinstance(cause, sqlite3.Error):
        return StoreGone(f"the database cannot be reached: {cause}")
    return None
