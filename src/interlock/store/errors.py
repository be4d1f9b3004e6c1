"""What a database can do to us, as types that say whether trying again helps."""

from __future__ import annotations

import sqlite3

import sqlalchemy as sa

from interlock.machine import InterlockError


class StoreError(InterlockError):
    """The database did not do what it was asked."""

    retryable = False


class StoreBusy(StoreError):
    """Somebody else held the database for too long; trying again helps."""

    retryable = True


class StoreGone(StoreError):
    """The database cannot be reached, or went away; nothing is known of a commit that was under way."""

    retryable = True


class StoreFull(StoreError):
    """No room is left on the disk; nothing was written. Free some and try again."""

    retryable = True


class RowChanged(StoreError):
    """Rows are not as they were when they were last seen; nothing was written. Read them first, then try again."""

    retryable = True


class StoreClosed(StoreError):
    """The store was closed."""


class WrongIsolation(StoreError):
    """A connection of yours is at an isolation level, or in autocommit mode, under which the laws do not hold."""

    def __init__(self, level: str, why: str, remedy: str) -> None:
        self.level = level
        super().__init__(f"the connection is at {level}, where {why}; {remedy}")


class SchemaMismatch(StoreError):
    """The database's schema is not the one that this code was written for."""


class MigrationFailed(StoreError):
    """A migration of an application raised an error, or did not make what the application declares."""


# Serialization failure, deadlock, lock not available: the transaction was rolled back and may be run again.
RERUN = {"40001", "40P01", "55P03"}
# Connection trouble and shutdown: class 08, and 57P01..57P05.
GONE = ("08", "57P")
FULL = {"53100", "53200"}


def is_conflict(error: BaseException) -> bool:
    return isinstance(error, sa.exc.IntegrityError)


def sort(error: BaseException) -> StoreError | None:
    """The error as one of ours; None when it is a mistake in what was asked."""
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
        return StoreGone(f"the database file cannot be used: {cause}")
    if name == "SQLITE_NOTADB" or name.startswith("SQLITE_CORRUPT"):
        return StoreError(f"the database file is damaged, or is not a database: {cause}")
    # psycopg has no sqlstate when the connection never came about or broke in the middle.
    if isinstance(error, sa.exc.OperationalError) and not state and not isinstance(cause, sqlite3.Error):
        return StoreGone(f"the database cannot be reached: {cause}")
    return None
