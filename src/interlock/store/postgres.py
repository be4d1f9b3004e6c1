"""PostgreSQL: any number of processes on any number of machines.

Each write is its own transaction on a pooled connection. After a deadlock, a serialization failure or a conflict on a
unique key the job runs again and sees the other transaction. A connection that broke before the commit is replaced. One
that broke during the commit raises StoreGone, because the outcome is unknown.

Hints use LISTEN/NOTIFY, at most 100 a second (20 if no work became ready), sent after the commit and not by a trigger.
Losing one does no harm: every loop polls as well. `wakeup = "poll"` turns them off, for pgbouncer in transaction mode.
"""

from __future__ import annotations

import contextlib
import random
import threading
import time
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, TypeVar
from uuid import UUID

import psycopg
import sqlalchemy as sa

from interlock.store import failpoints, futures
from interlock.store import postgres_bulk as bulk
from interlock.store.clock import SECOND, Micros
from interlock.store.database import NOTHING, Job, Store
from interlock.store.errors import (
    StoreBusy,
    StoreClosed,
    StoreGone,
    WrongIsolation,
    is_conflict,
    translated,
)

T = TypeVar("T")
CHANNEL = "interlock"
LEVEL = "READ COMMITTED"
REMEDY = "call conn.execution_options(isolation_level='READ COMMITTED') before its transaction begins"
NOTIFY = "SELECT pg_notify(%s, %s)"
TRIES = 5
URGENT, CALM = 0.01, 0.05
"""Seconds between two hints. Hints about ready work come more often than those about history."""


class PostgresStore(Store):
    """A PostgreSQL database."""

    dialect = "postgresql"
    one_writer = False

    def __init__(
        self,
        url: sa.URL,
        *,
        durability: str = "full",
        listen_url: str | None = None,
        wakeup: str = "listen",
        pool_size: int = 16,
    ) -> None:
        super().__init__()
        self.url = url.render_as_string(hide_password=False)
        self._address = sa.make_url(listen_url or self.url).set(drivername="postgresql")
        options = f"-c synchronous_commit={'on' if durability == 'full' else 'off'} -c TimeZone=UTC"
        how = {"options": options, "connect_timeout": 5, "application_name": "interlock"}
        address = url.set(drivername="postgresql+psycopg")
        # Set with each BEGIN, whatever the server's default is: with a snapshot from its beginning, a transaction that
        # waited for the lock of a limit would not see what others used meanwhile.
        self._engine = sa.create_engine(
            address, pool_size=pool_size, max_overflow=16, pool_use_lifo=True, connect_args=how, isolation_level=LEVEL
        )
        # For the heartbeat alone, which must not wait while handlers use all other connections.
        self._vital = sa.create_engine(address, pool_size=1, connect_args=how, isolation_level=LEVEL)
        # The statements of one read must see the same data; it costs 0.1 ms per read.
        self._snapshots = self._engine.execution_options(isolation_level="REPEATABLE READ")
        self._threads = ThreadPoolExecutor(pool_size, thread_name_prefix="interlock-write")
        self._wakeup = wakeup
        self._joined: weakref.WeakSet[sa.RootTransaction] = weakref.WeakSet()
        """Transactions of callers whose isolation level was checked."""
        self._pending = threading.local()
        """Updates of this thread that were sent and not checked yet."""
        self._closed = threading.Event()
        self._dirty = threading.Event()
        self._dirty_queues: set[str] = set()
        self._dirty_lock = threading.Lock()
        self._loops: list[threading.Thread] = []

    def submit(self, job: Job[T], name: str = "write") -> Future[T]:
        future: Future[T] = Future()
        try:
            self._threads.submit(self._run, job, name, future)
        except RuntimeError:
            raise StoreClosed(f"the store {self._address!r} is closed") from None
        return future

    def _run(self, job: Job[T], name: str, future: Future[T]) -> None:
        """Runs in a pool thread, which must survive errors in callbacks of the future."""
        if not futures.begin(future):
            return
        try:
            result = self.write(job, name)
        except BaseException as error:
            futures.settle(future, None, error)
        else:
            futures.settle(future, result)

    def write(self, job: Job[T], name: str = "write") -> T:
        return self._write(self._engine, job, name)

    def vital(self, job: Job[T], name: str = "write") -> T:
        return self._write(self._vital, job, name)

    def _write(self, engine: sa.Engine, job: Job[T], name: str) -> T:
        for attempt in range(TRIES):
            if self._closed.is_set():
                raise StoreClosed("the store is closed")
            committing = False
            try:
                with engine.connect() as conn, conn.begin() as transaction:
                    result = job(conn)
                    committing = True
                    failpoints.reach(f"{name}:before")
                    transaction.commit()
                    failpoints.reach(f"{name}:after")
                    return result
            except (sa.exc.DBAPIError, sa.exc.TimeoutError) as error:
                ours = translated(error)
                again = (
                    (isinstance(ours, StoreBusy) and not isinstance(error, sa.exc.TimeoutError))
                    or is_conflict(error)
                    or (isinstance(ours, StoreGone) and not committing and attempt == 0)
                )
                if not again or attempt == TRIES - 1:
                    if ours is None:
                        raise
                    raise ours from error
            if attempt:
                time.sleep(random.uniform(0.001, 0.01) * attempt)  # noqa: S311
        raise AssertionError("the last try returns or raises")

    def read(self, job: Job[T]) -> T:
        return self._read(self._snapshots, job)

    def _read(self, engine: sa.Engine, job: Job[T]) -> T:
        for attempt in range(2):
            if self._closed.is_set():  # a pool that was disposed of would open a connection that nobody closes
                raise StoreClosed("the store is closed")
            try:
                with engine.connect() as conn, conn.begin():
                    return job(conn)
            except (sa.exc.DBAPIError, sa.exc.TimeoutError) as error:
                ours = translated(error)
                if isinstance(ours, StoreGone) and attempt == 0:
                    continue  # a pooled connection from before a restart of the server
                if ours is None:
                    raise
                raise ours from error
        raise AssertionError("the last try returns or raises")

    def schema(self, job: Job[T]) -> T:
        def alone(conn: sa.Connection) -> T:
            conn.exec_driver_sql("SELECT pg_advisory_xact_lock(727001)")
            return job(conn)

        return self.write(alone)

    @contextmanager
    def at_once(self, conn: sa.Connection) -> Iterator[None]:
        """Sends all statements in one round trip: a round trip costs as much as a statement."""
        pending = self._pending.updates = []
        try:
            with sqlalchemy_errors(conn), _raw(conn).pipeline():
                yield
        except sa.exc.DBAPIError as error:
            # Later statements fail because rows of an earlier update had changed: report that.
            for cursor, table, count, guarded in pending:
                if guarded and 0 <= cursor.rowcount < count:
                    raise bulk.rows_changed(table, count, cursor.rowcount) from error
            raise
        finally:
            self._pending.updates = None
        for update in pending:
            bulk.check_count(*update)

    def insert_many(
        self,
        conn: sa.Connection,
        table: sa.Table,
        columns: Sequence[str],
        rows: Sequence[Sequence[Any]],
        *,
        same: Mapping[str, Any] = NOTHING,
    ) -> None:
        if len(rows) == 1:
            columns, values = (*columns, *same), [*rows[0], *same.values()]
            statement = bulk.insert_one(table, columns)
        else:
            given = list(zip(*rows, strict=True))
            once = bulk.same_for_all(given) if not same else (False,) * len(given)
            statement = bulk.insert_many(table, (*columns, *same), (*once, *[True] * len(same)))
            values = bulk.parameters(given, once, same)
        with sqlalchemy_errors(conn):
            _raw(conn).execute(statement, values, prepare=True)

    def update_many(
        self,
        conn: sa.Connection,
        table: sa.Table,
        columns: Sequence[str],
        rows: Sequence[Sequence[Any]],
        guards: Sequence[str] = (),
        *,
        same: Mapping[str, Any] = NOTHING,
    ) -> None:
        if len(rows) == 1:
            values = [*rows[0][1 : len(columns)], *same.values(), rows[0][0], *rows[0][len(columns) :]]
            statement = bulk.update_one(table.name, (*columns, *same), tuple(guards))
        else:
            given = list(zip(*rows, strict=True))
            once = bulk.same_for_all(given, len(guards)) if not same else (False,) * len(given)
            flags = (*once[: len(columns)], *[True] * len(same), *once[len(columns) :])
            statement = bulk.update_many(table, (*columns, *same), tuple(guards), flags)
            values = bulk.parameters(given, once, same)
        with sqlalchemy_errors(conn):
            cursor = _raw(conn).execute(statement, values, prepare=True)
        pending = getattr(self._pending, "updates", None)
        update = (cursor, table, len(rows), bool(guards))
        if pending is None:
            bulk.check_count(*update)
        else:
            pending.append(update)

    def join(self, conn: sa.Connection) -> None:
        """Checks the isolation level: with a snapshot from its beginning, limits would be counted wrongly."""
        transaction = conn.get_transaction()
        if transaction is not None and transaction in self._joined:
            return  # its level cannot change during the transaction
        if _raw(conn).autocommit:
            raise WrongIsolation("AUTOCOMMIT", "each statement commits by itself", REMEDY)
        level = str(conn.exec_driver_sql("SHOW transaction_isolation").scalar_one()).upper()
        if level != LEVEL:
            if transaction is None:
                conn.rollback()
            raise WrongIsolation(level, "it would not see limits and keys that others have changed", REMEDY)
        begun = conn.get_transaction()
        assert begun is not None, "a statement begins one"
        self._joined.add(begun)

    def clock_offset(self) -> Micros:
        def ask(conn: sa.Connection) -> Micros:
            before = time.time_ns() // 1000
            theirs = conn.exec_driver_sql("SELECT extract(epoch FROM clock_timestamp())").scalar_one()
            after = time.time_ns() // 1000
            return int(theirs * SECOND) - (before + after) // 2

        return self._read(self._vital, ask)

    # -- hints

    def listen(self) -> None:
        if self._wakeup == "listen" and not self._loops:
            for target in (self._hear, self._speak):
                thread = threading.Thread(target=target, name=f"interlock{target.__name__}", daemon=True)
                self._loops.append(thread)
                thread.start()

    def _hint_others(self, queues: frozenset[str]) -> None:
        if self._wakeup != "listen":
            return
        if not self._loops:
            self.listen()
        with self._dirty_lock:
            self._dirty_queues |= queues
        self._dirty.set()

    def announce(self, conn: sa.Connection, queues: Iterable[str]) -> None:
        if self._wakeup == "listen":
            conn.exec_driver_sql(NOTIFY, (CHANNEL, hint_payload(queues)))

    def _connection(self) -> psycopg.Connection[Any]:
        return psycopg.connect(self._address.render_as_string(hide_password=False), autocommit=True, connect_timeout=5)

    def _hear(self) -> None:
        wait = 0.05
        while not self._closed.is_set():
            try:
                with self._connection() as conn:
                    conn.execute(f"LISTEN {CHANNEL}")
                    wait = 0.05
                    self.hint(local=True)  # hints may have been missed while not connected
                    while not self._closed.is_set():
                        for note in conn.notifies(timeout=0.5, stop_after=1):
                            self.hint(filter(None, note.payload.split(",")), local=True)
            except psycopg.Error:
                self._closed.wait(wait)
                wait = min(wait * 2, 5.0)

    def _speak(self) -> None:
        wait = 0.05
        while not self._closed.is_set():
            try:
                with self._connection() as conn:
                    wait = 0.05
                    last = 0.0
                    while not self._closed.is_set():
                        if not self._dirty.wait(0.5):
                            continue
                        with self._dirty_lock:
                            urgent = any(not name.startswith("*") for name in self._dirty_queues)
                            left = last + (URGENT if urgent else CALM) - time.monotonic()
                            if left <= 0:
                                self._dirty.clear()
                                queues, self._dirty_queues = self._dirty_queues, set()
                        if left > 0:
                            self._closed.wait(min(left, URGENT))
                            continue
                        conn.execute(NOTIFY, (CHANNEL, hint_payload(queues)))
                        last = time.monotonic()
            except psycopg.Error:
                self._closed.wait(wait)
                wait = min(wait * 2, 5.0)

    # -- locks: across hosts, only the heartbeat shows that a worker is alive

    def take_lock(self, name: UUID) -> str | None:
        return None

    def drop_lock(self, path: str) -> None:
        return None

    def is_dead(self, lock_file: str | None) -> bool:
        return False

    def close(self) -> None:
        self._closed.set()
        self._dirty.set()
        for thread in self._loops:
            thread.join()
        self._threads.shutdown()
        with contextlib.suppress(sa.exc.SQLAlchemyError):
            self._engine.dispose()
            self._vital.dispose()


def _raw(conn: sa.Connection) -> psycopg.Connection[Any]:
    """The connection of the driver: for a single row, SQLAlchemy takes longer than the statement."""
    raw = conn.connection.dbapi_connection
    assert isinstance(raw, psycopg.Connection)
    return raw


@contextmanager
def sqlalchemy_errors(conn: sa.Connection) -> Iterator[None]:
    """Raises errors of the driver as SQLAlchemy would. A broken connection is not used again."""
    try:
        yield
    except psycopg.Error as error:
        gone = _raw(conn).closed
        wrapped = sa.exc.DBAPIError.instance(None, None, error, psycopg.Error, connection_invalidated=gone)
        if gone:
            conn.invalidate(error)
        raise wrapped from error


def hint_payload(queues: Iterable[str]) -> str:
    """The payload of a hint: the names of the queues, or nothing for all if they exceed 8,000 bytes."""
    names = sorted(queues)
    said = ",".join(names)
    return said if len(said.encode()) < 7000 and not any("," in name for name in names) else ""
