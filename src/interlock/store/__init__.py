"""The database: tables, migrations, and all that differs between SQLite and PostgreSQL.

Code above this package does not depend on the kind of database: what the two write differently is in `sql`. A write is
a function of a connection that runs in one transaction; the engine is made of such functions. Times are integers, JSON
is text and ids are UUIDs, so that both databases return equal values. Triggers in the database keep the history
append-only.
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
