"""A consistent copy of all rows of a database, taken quickly and read later.

A long transaction would keep the database from removing old rows and slow down every queue. So the rows are copied
first, as they are: by SQLite's online backup, or by PostgreSQL's COPY of every table in one REPEATABLE READ
transaction. The slow part, encoding and compressing, then works on the copy.

The order of the feed is kept. On PostgreSQL it is by transaction number, which means nothing in another database: the
history is numbered again in its order, and the cursors of its readers are translated.
"""

from __future__ import annotations

import sqlite3
import struct
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import sqlalchemy as sa

from interlock.store import migrate, private, service_tables  # noqa: F401 - so that the metadata has every table
from interlock.store.application_tables import ApplicationTable, application_table, kind_of, known
from interlock.store.columns import SECRET, metadata
from interlock.store.database import Store
from interlock.store.errors import StoreError, translated

Row = list[Any]
FEED = frozenset({"rollup", "audit"})
"""Cursors that are positions in the feed."""
LATER = ("history", "cursor")
"""Tables that come last, in this order: the new positions are known when the history has been read."""
DERIVED = application_table.name
"""Not copied: it is written when the tables of applications are created."""


@dataclass(frozen=True, slots=True)
class Columns:
    """A table with the kinds of its columns: id, int, real, bytes, text or secret."""

    table: str
    names: tuple[str, ...]
    kinds: tuple[str, ...]

    @property
    def listed(self) -> str:
        """The columns for a statement, quoted because a name may be a keyword."""
        return ", ".join(f'"{name}"' for name in self.names)


@dataclass(frozen=True, slots=True)
class Part:
    """The rows of one table: their number, and a function that reads them. Ids are hexadecimal text."""

    columns: Columns
    count: int
    rows: Callable[[], Iterator[Row]]


@dataclass(frozen=True, slots=True)
class Owner:
    """An application with its revision and the names of its tables."""

    revision: str
    tables: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Snapshot:
    """All copied rows, also of applications that are not loaded."""

    parts: list[Part]
    applications: dict[str, Owner]


def tables(applied: Sequence[ApplicationTable] = ()) -> list[Columns]:
    """Every table of the core, and these of applications."""
    core = sorted(metadata.tables.keys() - {*LATER, DERIVED})
    return [
        *(_columns(metadata.tables[name]) for name in core),
        *(Columns(one.name, *zip(*one.columns, strict=True)) for one in applied),
        *(_columns(metadata.tables[name]) for name in LATER),
    ]


def _columns(table: sa.Table) -> Columns:
    return Columns(table.name, tuple(c.name for c in table.c), tuple(kind_of(c) for c in table.c))


def _owners(conn: sa.Connection, applied: Sequence[ApplicationTable]) -> dict[str, Owner]:
    return {
        name: Owner(str(revision), tuple(one.name for one in applied if one.application == name))
        for name, revision in migrate.applied(conn).items()
    }


def take(store: Store, folder: Path, progress: Callable[[str], None] = lambda _: None) -> Snapshot:
    """Put everything aside in this folder; the parts read from there."""
    if store.dialect == "sqlite":
        try:
            return _copied(Path(sa.make_url(store.url).database or ""), folder / "copy.db", progress)
        except sqlite3.Error as error:
            raise translated(error) or StoreError(f"the database cannot be copied: {error}") from error
    return store.read(lambda conn: _spooled(conn, folder, progress))


# -- SQLite


def _copied(source: Path, target: Path, progress: Callable[[str], None]) -> Snapshot:
    progress("copying")
    with closing(sqlite3.connect(private.file(target))) as copy:
        # In one step: the copy would start again whenever somebody else has written between two.
        with closing(sqlite3.connect(source)) as original:
            original.backup(copy)
        progress("checking the copy")
        found = [row[0] for row in copy.execute("PRAGMA integrity_check(5)")]
        if found != ["ok"]:
            problems = "; ".join(map(str, found))
            raise StoreError(f"the database {source} is damaged: {problems}; restore the last good backup")
        engine = sa.create_engine("sqlite://", creator=lambda: copy, poolclass=sa.StaticPool)
        with engine.connect() as conn:
            applied = known(conn)
            owners = _owners(conn, applied)
        parts = [
            Part(
                columns, copy.execute(f'SELECT count(*) FROM "{columns.table}"').fetchone()[0], _reader(target, columns)
            )
            for columns in tables(applied)
        ]
        return Snapshot(parts, owners)


def _reader(file: Path, columns: Columns) -> Callable[[], Iterator[Row]]:
    def rows() -> Iterator[Row]:
        order = " ORDER BY pos" if columns.table == "history" else ""
        with closing(sqlite3.connect(file)) as conn:
            for row in conn.execute(f'SELECT {columns.listed} FROM "{columns.table}"{order}'):
                yield list(row)

    return rows


# -- PostgreSQL


def _spooled(conn: sa.Connection, folder: Path, progress: Callable[[str], None]) -> Snapshot:
    raw = conn.connection.dbapi_connection
    import psycopg

    assert isinstance(raw, psycopg.Connection)
    spooled: dict[str, tuple[Columns, int, Path]] = {}
    applied = known(conn)
    for columns in tables(applied):
        progress(f"copying {columns.table}")
        file = folder / f"{columns.table}.copy"
        order = " ORDER BY xact, pos" if columns.table == "history" else ""
        query = f'COPY (SELECT {columns.listed} FROM "{columns.table}"{order}) TO STDOUT (FORMAT BINARY)'
        with private.write_bytes(file) as out, raw.cursor() as cursor:
            with cursor.copy(query.encode()) as copy:
                for block in copy:
                    out.write(block)
            spooled[columns.table] = columns, cursor.rowcount, file
    positions = _Positions(*spooled["cursor"][::2])
    parts = [Part(columns, count, _unspooled(columns, file, positions)) for columns, count, file in spooled.values()]
    return Snapshot(parts, _owners(conn, applied))


def _unspooled(columns: Columns, file: Path, positions: _Positions) -> Callable[[], Iterator[Row]]:
    def rows() -> Iterator[Row]:
        found = binary_rows(file, columns.kinds)
        if columns.table == "history":
            return positions.numbered(found, columns)
        return positions.translated() if columns.table == "cursor" else found

    return rows


class _Positions:
    """The history numbered in the feed's order, and the positions in it."""

    def __init__(self, columns: Columns, file: Path) -> None:
        self._rows = list(binary_rows(file, columns.kinds))
        self._name, self._xact, self._pos = (columns.names.index(name) for name in ("name", "xact", "pos"))
        self._reached = dict.fromkeys(FEED, 0)

    def numbered(self, rows: Iterator[Row], columns: Columns) -> Iterator[Row]:
        xact, pos = columns.names.index("xact"), columns.names.index("pos")
        ends = {row[self._name]: (row[self._xact], row[self._pos]) for row in self._rows if row[self._name] in FEED}
        for number, row in enumerate(rows, 1):
            for name, end in ends.items():
                if (row[xact], row[pos]) <= end:
                    self._reached[name] = number
            row[xact], row[pos] = 0, number
            yield row

    def translated(self) -> Iterator[Row]:
        for row in self._rows:
            if row[self._name] in FEED:
                row = [*row]
                row[self._xact], row[self._pos] = 0, self._reached[row[self._name]]
            yield row


HEADER = b"PGCOPY\n\xff\r\n\x00"


def binary_rows(file: Path, kinds: Sequence[str]) -> Iterator[Row]:
    """PostgreSQL's binary COPY as rows: the length of each value, then the value."""
    readers: dict[str, Callable[[bytes], Any]] = {
        "id": bytes.hex,
        "int": lambda value: int.from_bytes(value, "big", signed=True),
        "real": lambda value: struct.unpack("!d", value)[0],
        "bytes": bytes,
        "text": bytes.decode,
        SECRET: bytes.decode,
    }
    read = [readers[kind] for kind in kinds]
    with file.open("rb", buffering=1 << 20) as source:
        if _exactly(source, len(HEADER)) != HEADER:
            raise StoreError(f"{file} is not what PostgreSQL's COPY writes")
        _exactly(source, int.from_bytes(_exactly(source, 8)[4:], "big"))  # flags, and an extension that none has yet
        while (count := int.from_bytes(_exactly(source, 2), "big", signed=True)) >= 0:
            row: Row = []
            for number in range(count):
                length = int.from_bytes(_exactly(source, 4), "big", signed=True)
                row.append(None if length < 0 else read[number](_exactly(source, length)))
            yield row


def _exactly(source: BinaryIO, length: int) -> bytes:
    found = source.read(length)
    if len(found) != length:
        raise StoreError(f"{source.name} ends too soon; was the disk full?")
    return found
