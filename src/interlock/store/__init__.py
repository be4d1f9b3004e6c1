"""The database: tables, migrations, and all that differs between SQLite and PostgreSQL.

Nothing above this package knows which of the two it runs on. A write is a function of a connection, run in one
transaction; the engine above is made of such functions. Moments are integers, JSON is text, ids are UUIDs, so that
both databases give equal answers. The history is append-only by triggers, in the database itself.
"""

from interlock.store.clock import SECOND, Clock, Micros, SystemClock, last_set, micros, moment, span
from interlock.store.database import Store, open_store
from interlock.store.errors import (
    RowChanged,
    SchemaMismatch,
    StoreBusy,
    StoreClosed,
    StoreError,
    StoreFull,
    StoreGone,
    WrongIsolation,
)

__all__ = [
    "SECOND",
    "Clock",
    "Micros",
    "RowChanged",
    "SchemaMismatch",
    "Store",
    "StoreBusy",
    "StoreClosed",
    "StoreError",
    "StoreFull",
    "StoreGone",
    "SystemClock",
    "WrongIsolation",
    "last_set",
    "micros",
    "moment",
    "open_store",
    "span",
]
