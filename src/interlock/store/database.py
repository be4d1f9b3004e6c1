"""The interface of a database: open it, read, and write in one transaction."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar
from uuid import UUID

import sqlalchemy as sa

from interlock.machine.extras import require
from interlock.store.clock import Micros
from interlock.store.errors import StoreError

T = TypeVar("T")
Job = Callable[[sa.Connection], T]
Hint = Callable[[frozenset[str]], None]
NOTHING: Mapping[str, Any] = MappingProxyType({})
HISTORY = "*history"
"""The hint that history was written. It is sent like the name of a queue; no queue has it."""


class Store(ABC):
    """An open database."""

    dialect: str
    """For the store alone. Code above it asks for abilities of the database."""
    one_writer: bool
    """Whether only one transaction writes at a time, so that a writer needs no locks."""
    url: str

    def __init__(self) -> None:
        self._hints: list[Hint] = []
        self._hints_lock = threading.Lock()

    @abstractmethod
    def submit(self, job: Job[T], name: str = "write") -> Future[T]:
        """Run the job in a write transaction. The future is done after the commit. `name` is for `failpoints`."""

    @abstractmethod
    def read(self, job: Job[T]) -> T:
        """Run the job on a snapshot."""

    @abstractmethod
    def schema(self, job: Job[T]) -> T:
        """Run the job in a transaction that may change tables, one at a time."""

    @abstractmethod
    def join(self, conn: sa.Connection) -> None:
        """Check that the engine can write in the caller's transaction. Raises WrongIsolation."""

    @abstractmethod
    def clock_offset(self) -> Micros:
        """How far the database's clock is ahead of the system clock."""

    @abstractmethod
    def listen(self) -> None:
        """Start to receive hints from other processes. They may be lost, so loops poll as well."""

    @contextmanager
    def at_once(self, conn: sa.Connection) -> Iterator[None]:
        """Inside, `insert_many` and `update_many` may be sent together. At the end all of them are done."""
        yield

    @abstractmethod
    def insert_many(
        self,
        conn: sa.Connection,
        table: sa.Table,
        columns: Sequence[str],
        rows: Sequence[Sequence[Any]],
        *,
        same: Mapping[str, Any] = NOTHING,
    ) -> None:
        """Insert the rows in one statement, or one prepared statement run for each.

        `same` has more columns, with one value for all rows.
        """

    @abstractmethod
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
        """Set the columns of each row, which is found by `columns[0]`. A missing row is an error.

        `same` has more columns, with one value for all rows. With guards, each row ends with the expected values of
        these columns. Raises RowChanged if one differs.
        """

    @abstractmethod
    def take_lock(self, name: UUID) -> str | None:
        """Lock a file in this worker's name until the process ends. Returns its path; None if that is not possible."""

    @abstractmethod
    def drop_lock(self, path: str) -> None:
        """Release a lock that `take_lock` took."""

    def remove_lock(self, path: str) -> None:
        """Remove the lock file of a worker that is gone."""
        return

    @abstractmethod
    def is_dead(self, lock_file: str | None) -> bool:
        """Whether the lock proves that its process has ended. False proves nothing."""

    @abstractmethod
    def close(self) -> None: ...

    def write(self, job: Job[T], name: str = "write") -> T:
        """Run the job in one transaction and wait for its commit."""
        return self.submit(job, name).result()

    def vital(self, job: Job[T], name: str = "write") -> T:
        """Run a short write that must not wait for a free connection, such as the heartbeat."""
        return self.write(job, name)

    def subscribe(self, hint: Hint) -> Callable[[], None]:
        """Call `hint`, from any thread, when work in some queues may be ready; an empty set means any."""
        with self._hints_lock:
            self._hints.append(hint)

        def leave() -> None:
            with self._hints_lock:
                self._hints.remove(hint)

        return leave

    def hint(self, queues: Iterable[str] = (), *, local: bool = False) -> None:
        """Hint that work in these queues may be ready: to this process, and to the others unless `local`."""
        hinted = frozenset(queues)
        with self._hints_lock:
            listeners = tuple(self._hints)
        for listener in listeners:
            listener(hinted)
        if not local:
            self._hint_others(hinted)

    @abstractmethod
    def announce(self, conn: sa.Connection, queues: Iterable[str]) -> None:
        """Hint to the others on somebody else's connection. They get it when that transaction commits."""

    @abstractmethod
    def _hint_others(self, queues: frozenset[str]) -> None: ...

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def file_of(url: sa.URL) -> Path | None:
    """The file of an SQLite database; None for a server and for a database in memory."""
    return Path(url.database) if url.get_backend_name() == "sqlite" and url.database else None


def open_store(url: str, *, durability: str = "full", listen_url: str | None = None, wakeup: str = "listen") -> Store:
    """Open `sqlite:///file` or `postgresql://…`. It creates no tables; see `migrate.upgrade`."""
    if durability not in {"full", "normal"}:
        raise StoreError(f"durability {durability!r} is unknown; use full or normal")
    try:
        parsed = sa.make_url(url)
    except (sa.exc.ArgumentError, ValueError) as error:  # ValueError: its port is not a number
        raise StoreError(
            f"{url!r} is not a database address; use sqlite:///file.db or postgresql://host/name"
        ) from error
    kind = parsed.get_backend_name()
    if kind == "sqlite":
        from interlock.store.sqlite import SqliteStore

        if not parsed.database or parsed.database == ":memory:":
            raise StoreError(f"{url!r} is in memory and would be lost; name a file, such as sqlite:///interlock.db")
        return SqliteStore(Path(parsed.database), durability=durability)
    if kind == "postgresql":
        require("postgres", "psycopg")
        from interlock.store.postgres import PostgresStore

        return PostgresStore(parsed, durability=durability, listen_url=listen_url, wakeup=wakeup)
    raise StoreError(f"{kind!r} databases are not supported; use sqlite or postgresql")
