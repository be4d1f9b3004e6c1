"""SQLite: one writer thread that commits all jobs that were queued during the last commit, and concurrent readers.

There is no timer: a single job is committed at once, and under load a commit has many jobs. A job that fails is undone
alone, by a savepoint. `BEGIN IMMEDIATE` is retried here with a short random wait instead of SQLite's busy handler,
which starved one of two processes (10 against 24,970 commits; with this wait 12,560 against 13,650).
"""

from __future__ import annotations

import os
import random
import sqlite3
import stat
import threading
import time
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar
from uuid import UUID

import sqlalchemy as sa

from interlock.store import decoding, failpoints, futures, private
from interlock.store.clock import Micros
from interlock.store.database import NOTHING, Job, Store
from interlock.store.errors import RowChanged, StoreBusy, StoreClosed, StoreError, StoreGone, WrongIsolation, translated
from interlock.store.lock_files import LockFiles

T = TypeVar("T")
Queued = tuple[Job[Any], Future[Any], str]
GROUP = 512
PATIENCE = 30.0
NAP = (0.0003, 0.0015)
SQLITE = b"SQLite format 3\0"
"""How a database begins."""
LOOK_EVERY, LOOK_SELDOM, SILENCE = 0.01, 0.05, 2.0
"""Seconds between two checks for commits of other processes. They are longer after a silence, because waking up is what
costs an idle process its time."""


class SqliteStore(Store):
    """A database in one file, for any number of processes on one machine."""

    dialect = "sqlite"
    one_writer = True

    def __init__(self, path: Path, *, durability: str = "full", patience: float = PATIENCE) -> None:
        super().__init__()
        self.path = path.absolute()
        self.url = f"sqlite:///{self.path}"
        self._patience = patience
        if self.path.is_dir():
            raise StoreError(f"{self.path} is a folder; name a file in it: sqlite:///{self.path / 'interlock.db'}")
        try:
            private.folder(self.path.parent)
        except OSError as error:
            raise StoreError(
                f"the folder of {self.path} cannot be created: {error.strerror}: {error.filename}; name another file"
            ) from error
        self._writer_engine = self._engine("BEGIN IMMEDIATE", durability, sa.pool.NullPool)
        self._reader_engine = self._engine("BEGIN", durability, sa.pool.QueuePool)
        self._queue: deque[Queued] = deque()
        self._wanted = threading.Condition()
        self._closed = False
        self._locks = LockFiles(self.path.with_name(f"{self.path.name}-workers"))
        self._file: tuple[int, int] | None = None
        self._file_lock = threading.Lock()
        self._watch: threading.Thread | None = None
        self._stop_watching = threading.Event()
        self._writer = threading.Thread(target=self._run, name="interlock-writer", daemon=True)
        self._writer.start()

    def _make_private(self, *_: object) -> None:
        """Create the file before SQLite does: its journal files get the same mode."""
        if _foreign(self.path):
            raise StoreError(f"{self.path} is not an SQLite database; name another file")
        private.file(self.path)
        for ending in ("-wal", "-shm"):
            private.tighten(self.path.with_name(self.path.name + ending))

    def _engine(self, begin: str, durability: str, pool: type[sa.Pool]) -> sa.Engine:
        kwargs: dict[str, Any] = {"pool_size": 8, "max_overflow": 24} if pool is sa.pool.QueuePool else {}
        engine = sa.create_engine(
            self.url, poolclass=pool, connect_args={"timeout": 0, "check_same_thread": False}, **kwargs
        )

        sa.event.listen(engine, "do_connect", self._make_private)

        @sa.event.listens_for(engine, "connect")
        def configure(dbapi: sqlite3.Connection, _: object) -> None:
            dbapi.isolation_level = None  # otherwise sqlite3 runs DDL outside the transaction
            patiently(dbapi, "PRAGMA journal_mode = WAL", self._patience)
            dbapi.execute(f"PRAGMA synchronous = {'FULL' if durability == 'full' else 'NORMAL'}")
            dbapi.execute("PRAGMA foreign_keys = ON")
            dbapi.execute("PRAGMA cache_size = -65536")
            dbapi.execute("PRAGMA temp_store = MEMORY")
            dbapi.execute("PRAGMA wal_autocheckpoint = 8000")

        @sa.event.listens_for(engine, "begin")
        def own_begin(conn: sa.Connection) -> None:
            conn.exec_driver_sql(begin)

        return engine

    # -- writing

    def submit(self, job: Job[T], name: str = "write") -> Future[T]:
        if threading.current_thread() is self._writer:
            raise StoreError("a write was started inside a write; use the connection of the job")
        future: Future[T] = Future()
        with self._wanted:
            if self._closed:
                raise StoreClosed(f"the store {self.url} is closed")
            self._queue.append((job, future, name))
            self._wanted.notify()
        return future

    def _run(self) -> None:
        conn: sa.Connection | None = None
        file = None
        while True:
            with self._wanted:
                while not self._queue and not self._closed:
                    self._wanted.wait()
                taken = [self._queue.popleft() for _ in range(min(len(self._queue), GROUP))]
            if not taken:
                break
            group = [one for one in taken if futures.begin(one[1])]
            if not group:
                continue
            try:
                if self._look_at_file() != file:
                    _discard(conn)
                    conn = None
                if conn is None:
                    conn = self._writer_engine.connect()
                    file = self._look_at_file()
                self._commit(conn, group)
            except BaseException as error:
                ours = _ours(error, self.path)
                for _, future, _ in group:
                    futures.settle(future, None, ours)
                _discard(conn)
                conn = None
        if conn is not None:
            conn.close()

    def _commit(self, conn: sa.Connection, group: list[Queued], *, leniently: bool = False) -> None:
        """Run the group in one transaction. If the database rolls it back, each job gets its own."""
        try:
            with decoding.escaping(self._raw(conn), leniently):
                done = self._transaction(conn, group)
        except (sa.exc.DBAPIError, sqlite3.Error) as error:
            conn.rollback()
            ours = _ours(error, self.path)
            if len(group) == 1 or isinstance(ours, StoreBusy):
                for _, future, _ in group:
                    futures.settle(future, None, ours)
                return
            for one in group:
                self._commit(conn, [one])
            return
        for one, (result, error_) in zip(group, done, strict=True):
            if error_ is not None and not leniently and decoding.failed(error_):
                self._commit(conn, [one], leniently=True)
            else:
                futures.settle(one[1], result, None if error_ is None else _ours(error_, self.path))

    def _transaction(self, conn: sa.Connection, group: list[Queued]) -> list[tuple[Any, BaseException | None]]:
        transaction = self._begin(conn)
        raw = self._raw(conn)
        done: list[tuple[Any, BaseException | None]] = []
        try:
            single = len(group) == 1  # no savepoint for a single job: it costs a copy of each page
            for job, _, _ in group:
                if not single:
                    raw.execute("SAVEPOINT job")
                try:
                    result = job(conn)
                except BaseException as error:
                    if not raw.in_transaction:  # disk full, I/O error: SQLite rolled everything back
                        raise
                    if single:
                        conn.rollback()
                        return [(None, error)]
                    raw.execute("ROLLBACK TO job")
                    done.append((None, error))
                else:
                    done.append((result, None))
                if not single:
                    raw.execute("RELEASE job")
            for _, _, name in group:
                failpoints.reach(f"{name}:before")
            transaction.commit()
            for _, _, name in group:
                failpoints.reach(f"{name}:after")
        except BaseException as error:
            conn.rollback()
            if isinstance(error, sa.exc.DBAPIError | sqlite3.Error):
                raise
            raise StoreGone(f"the outcome of the transaction is unknown: {error!r}") from error
        return done

    def _begin(self, conn: sa.Connection) -> sa.RootTransaction:
        deadline = time.monotonic() + self._patience
        while True:
            try:
                return conn.begin()
            except sa.exc.OperationalError as error:
                if not isinstance(translated(error), StoreBusy) or time.monotonic() > deadline:
                    raise
            time.sleep(random.uniform(*NAP))  # noqa: S311

    def schema(self, job: Job[T]) -> T:
        return self.write(job)

    # -- reading

    def read(self, job: Job[T]) -> T:
        deadline = time.monotonic() + self._patience
        leniently = False
        while True:
            self._look_at_file()
            try:
                with self._reader_engine.begin() as conn, decoding.escaping(self._raw(conn), leniently):
                    return job(conn)
            except (sa.exc.DBAPIError, sa.exc.TimeoutError, sqlite3.OperationalError) as error:
                if not leniently and decoding.failed(error):
                    leniently = True
                    continue
                # Readers wait only while another process recovers the file after a crash.
                ours = _ours(error, self.path)
                if not isinstance(ours, StoreBusy) or time.monotonic() > deadline:
                    raise ours from error
            time.sleep(random.uniform(*NAP))  # noqa: S311

    def _look_at_file(self) -> tuple[int, int] | None:
        """The identity of the file, in 2 µs. SQLite would go on with a deleted file and lose all data."""
        try:
            found = os.stat(self.path)
        except FileNotFoundError:
            if self._file is None:
                return None  # it will be created
            raise StoreGone(f"the database file {self.path} is gone; put it back, nothing was written") from None
        with self._file_lock:
            if self._file != (found.st_dev, found.st_ino):
                if self._file is not None:
                    self._reader_engine.dispose()
                self._file = (found.st_dev, found.st_ino)
            return self._file

    def insert_many(
        self,
        conn: sa.Connection,
        table: sa.Table,
        columns: Sequence[str],
        rows: Sequence[Sequence[Any]],
        *,
        same: Mapping[str, Any] = NOTHING,
    ) -> None:
        nulls, more = _split(same)
        statement = _insert(table, (*columns, *more), nulls)
        self._raw(conn).executemany(statement, plain(table, columns, rows, tuple(more.values())))

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
        nulls, more = _split(same)
        statement = _update(table, tuple(columns), tuple(guards), tuple(more), nulls)
        given = plain(table, (*columns, *guards), rows, tuple(more.values()))
        # Without its cursor, which an error would keep: a statement in use keeps the file open after the store closed.
        done = self._raw(conn).executemany(statement, given).rowcount
        if done != len(rows) and guards:
            raise RowChanged(f"{len(rows) - done} of {len(rows)} rows of {table.name} were changed meanwhile")
        if done != len(rows):
            raise StoreError(f"{len(rows)} rows of {table.name} were to be updated, {done} were there")

    @staticmethod
    def _raw(conn: sa.Connection) -> sqlite3.Connection:
        """The connection of the driver: for a single row, SQLAlchemy takes longer than the statement."""
        raw = conn.connection.dbapi_connection
        assert isinstance(raw, sqlite3.Connection)
        return raw

    def join(self, conn: sa.Connection) -> None:
        """Begin a transaction: sqlite3 begins none before a SAVEPOINT, and then its RELEASE would commit."""
        begun = None if conn.get_transaction() else conn.begin()
        raw = self._raw(conn)
        if not raw.in_transaction:
            # A caller with its own `begin` event in SQLAlchemy has begun the transaction already.
            if raw.isolation_level is None or getattr(raw, "autocommit", False) is True:
                if begun is not None:
                    begun.rollback()
                raise WrongIsolation(
                    "AUTOCOMMIT", "each statement commits by itself", "use one in SQLAlchemy's default mode"
                )
            patiently(raw, "BEGIN IMMEDIATE", self._patience)

    def clock_offset(self) -> Micros:
        return 0  # all processes of the file share the system clock

    # -- hints and locks

    def listen(self) -> None:
        if self._watch is None:
            self._watch = threading.Thread(target=self._look, name="interlock-data-version", daemon=True)
            self._watch.start()

    def announce(self, conn: sa.Connection, queues: Iterable[str]) -> None:
        """Nothing to do: other processes see the commit by its data_version."""

    def _hint_others(self, queues: frozenset[str]) -> None:
        """Nothing to do: other processes see the commit by its data_version."""

    def _look(self) -> None:
        """`PRAGMA data_version` changes when another connection commits. Reading it costs 4 µs."""
        seen, changed = -1, time.monotonic()
        while not self._stop_watching.wait(LOOK_EVERY):
            try:
                with self._reader_engine.connect() as conn:
                    raw = conn.connection.dbapi_connection
                    assert isinstance(raw, sqlite3.Connection)
                    while not self._stop_watching.wait(
                        LOOK_EVERY if time.monotonic() - changed < SILENCE else LOOK_SELDOM
                    ):
                        version = raw.execute("PRAGMA data_version").fetchone()[0]
                        if version != seen:
                            seen, changed = version, time.monotonic()
                            self.hint(local=True)
            except (sa.exc.DBAPIError, sqlite3.Error):
                seen = -1  # a new connection starts to count again

    def take_lock(self, name: UUID) -> str | None:
        return self._locks.take(name)

    def drop_lock(self, path: str) -> None:
        self._locks.drop(path)

    def remove_lock(self, path: str) -> None:
        self._locks.remove(path)

    def is_dead(self, lock_file: str | None) -> bool:
        return self._locks.is_dead(lock_file)

    def close(self) -> None:
        with self._wanted:
            if self._closed:
                return
            self._closed = True
            self._wanted.notify_all()
        self._stop_watching.set()
        if self._watch is not None:
            self._watch.join()
        self._writer.join()
        self._locks.drop_all()
        self._writer_engine.dispose()
        self._reader_engine.dispose()


# Computed once for each set of columns: a claim writes four tables, and this took a fifth of its time.
@lru_cache(1000)
def _insert(table: sa.Table, columns: tuple[str, ...], nulls: tuple[str, ...] = ()) -> str:
    names = '", "'.join((*columns, *nulls))  # the name of a column may be a keyword
    values = ["?"] * len(columns) + ["NULL"] * len(nulls)
    return f'INSERT INTO {table.name} ("{names}") VALUES ({", ".join(values)})'


@lru_cache(1000)
def _update(
    table: sa.Table,
    columns: tuple[str, ...],
    guards: tuple[str, ...],
    more: tuple[str, ...] = (),
    nulls: tuple[str, ...] = (),
) -> str:
    sets = [f"{name} = ?{n}" for n, name in enumerate(columns[1:], 2)]
    sets += [f"{name} = ?{n}" for n, name in enumerate(more, len(columns) + len(guards) + 1)]
    sets += [f"{name} = NULL" for name in nulls]
    still = "".join(f" AND {name} = ?{n}" for n, name in enumerate(guards, len(columns) + 1))
    return f"UPDATE {table.name} SET {', '.join(sets)} WHERE {columns[0]} = ?1{still}"


def _split(same: Mapping[str, Any]) -> tuple[tuple[str, ...], dict[str, Any]]:
    """The columns that are null in all rows, and those with another value."""
    nulls = tuple(name for name, value in same.items() if value is None)
    return nulls, {name: value for name, value in same.items() if value is not None}


@lru_cache(1000)
def _ids(table: sa.Table, columns: tuple[str, ...]) -> tuple[int, ...]:
    return tuple(n for n, name in enumerate(columns) if isinstance(table.c[name].type, sa.Uuid))


def plain(
    table: sa.Table, columns: Sequence[str], rows: Sequence[Sequence[Any]], more: tuple[Any, ...] = ()
) -> list[tuple[Any, ...]]:
    """The rows as SQLite stores them: ids as hexadecimal text. Each ends with `more`, which has no ids."""
    ids = _ids(table, tuple(columns))
    if not ids:
        return [(*row, *more) for row in rows]
    if ids == (0,):  # the usual case, in a third of the time
        return [(row[0].hex, *row[1:], *more) for row in rows]
    plain_rows = []
    for row in rows:
        values = list(row)
        for n in ids:
            if values[n] is not None:
                values[n] = values[n].hex
        plain_rows.append((*values, *more))
    return plain_rows


def _foreign(file: Path) -> bool:
    """Whether others can read the file and it is no database: its mode is not ours to change."""
    try:
        found = file.stat()
    except OSError:
        return False
    if not found.st_mode & private.OTHERS or not stat.S_ISREG(found.st_mode) or not found.st_size:
        return False  # a database of ours is not opened: closing it would drop the locks of this process
    with file.open("rb") as opened:
        return opened.read(len(SQLITE)) != SQLITE


def patiently(dbapi: sqlite3.Connection, statement: str, patience: float) -> None:
    deadline = time.monotonic() + patience
    while True:
        try:
            dbapi.execute(statement)
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
        time.sleep(random.uniform(*NAP))  # noqa: S311


def _ours(error: BaseException, file: Path) -> BaseException:
    if isinstance(error, sa.exc.DBAPIError | sa.exc.TimeoutError | sqlite3.Error):
        return translated(error, file) or error
    return error


def _discard(conn: sa.Connection | None) -> None:
    if conn is not None:
        try:
            conn.invalidate()
            conn.close()
        except (sa.exc.SQLAlchemyError, sqlite3.Error):
            return
