"""Finds ready work with probes of an index on queue, priority and due time.

A probe reads the oldest rows of one queue and priority, which the index returns without skipping any. SQLite gets one
statement per probe, PostgreSQL one for all of them. `wake` is a literal in the statements: with a parameter,
PostgreSQL's generic plans would not use the partial index.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from operator import itemgetter
from typing import Any

import sqlalchemy as sa

from interlock.store.arrays import array
from interlock.store.clock import Micros
from interlock.store.database import Store
from interlock.store.prepared import Prepared
from interlock.store.tables import instance

Pair = tuple[str, int]
"""A queue and a priority."""
Row = tuple[Any, ...]
COLUMNS = (
    *("id", "machine", "version", "state", "seq", "head", "data", "queue", "priority", "due_at", "fence"),
    *("unique_key", "entered_at", "updated_at", "key", "workspace", "trace_id"),
)
"""The columns of a ready row: what a claim and a plain move need. All columns take twice as long to read."""
USUAL: dict[str, Any] = {
    "due_event": None,
    "timer_at": None,
    "timer_no": 0,
    "failures": None,
    "blocked_on": None,
    "paused_at": None,
    "finished_at": None,
}
"""The values that most ready rows have in these columns. The last value of a ready row says whether it has them all."""
IS_USUAL = " AND ".join(f"{name} IS NULL" if usual is None else f"{name} = {usual}" for name, usual in USUAL.items())
WIDTH = len(COLUMNS) + 1
POSITIONS = {name: number for number, name in enumerate((*COLUMNS, "usual"))}
# Rows that are claimed in place stay in the index for a moment, and are passed over.
READY = (
    "wake = 'work' AND queue = {queue} AND priority = {priority} AND due_at <= :now AND taken_by IS NULL AND ({served})"
)
ONE = sa.Column("one", sa.BigInteger)
due_at = itemgetter(POSITIONS["due_at"])
EVERY = ", ".join((*COLUMNS, f"({IS_USUAL}) AS usual"))
READ = [*(instance.c[name] for name in COLUMNS), sa.Column("usual", sa.Boolean)]
WHOLE = ", ".join(f"instance.{column.name} AS whole_{column.name}" for column in instance.c)
READ_WHOLE = [*READ, *(sa.Column(f"whole_{column.name}", column.type) for column in instance.c)]


class Probes(ABC):
    """The probes for one condition on rows.

    They return ready rows. `whole` rows are ready rows followed by all columns of the table.
    """

    @abstractmethod
    def first(self, conn: sa.Connection, pairs: Sequence[Pair], now: Micros, count: int, *, whole: bool) -> list[Row]:
        """Up to `count` rows, locked, from one pair after the other."""

    @abstractmethod
    def oldest(self, conn: sa.Connection, pairs: Sequence[Pair], now: Micros, count: int, *, whole: bool) -> list[Row]:
        """Up to `count` rows, locked, the oldest of all pairs."""

    @abstractmethod
    def anything(self, conn: sa.Connection, pairs: Sequence[Pair], now: Micros) -> bool:
        """Whether there is a ready row. It takes no lock."""


class SeparateProbes(Probes):
    """A statement for each pair."""

    def __init__(self, served: str) -> None:
        ready = READY.format(queue=":queue", priority=":priority", served=served)

        def probe(columns: str, read: list[sa.Column[Any]]) -> Prepared:
            text = sa.text(f"SELECT {columns} FROM instance WHERE {ready} ORDER BY due_at LIMIT :count")
            return Prepared(text.columns(*read))

        self._probes = probe(EVERY, READ), probe(f"{EVERY}, {WHOLE}", READ_WHOLE)
        first = sa.text(f"SELECT 1 FROM instance WHERE {ready} ORDER BY due_at LIMIT 1")
        self._any = Prepared(first.columns(ONE))

    def first(self, conn: sa.Connection, pairs: Sequence[Pair], now: Micros, count: int, *, whole: bool) -> list[Row]:
        rows: list[Row] = []
        probe = self._probes[whole]
        for queue, priority in pairs:
            if len(rows) < count:
                rows += probe.rows(conn, queue=queue, priority=priority, now=now, count=count - len(rows))
        return rows

    def oldest(self, conn: sa.Connection, pairs: Sequence[Pair], now: Micros, count: int, *, whole: bool) -> list[Row]:
        rows = [row for pair in pairs for row in self.first(conn, [pair], now, count, whole=whole)]
        return sorted(rows, key=due_at)[:count]

    def anything(self, conn: sa.Connection, pairs: Sequence[Pair], now: Micros) -> bool:
        return any(self._any.first(conn, queue=queue, priority=priority, now=now) for queue, priority in pairs)


class CombinedProbes(Probes):
    """One statement for all pairs."""

    def __init__(self, served: str) -> None:
        ready = READY.format(queue="probe.queue", priority="probe.priority", served=served)
        probes = "unnest(CAST(:queues AS text[]), CAST(:priorities AS bigint[])) AS probe (queue, priority)"

        def lateral(columns: str) -> str:
            # The probes run in order and stop at the limit, so hardly more rows are locked than taken.
            return (
                f"SELECT i.* FROM {probes}, LATERAL (SELECT {columns} FROM instance WHERE {ready} "
                "ORDER BY due_at LIMIT :count FOR UPDATE SKIP LOCKED) AS i"
            )

        def probe(columns: str, read: list[sa.Column[Any]]) -> Prepared:
            return Prepared(sa.text(f"{lateral(columns)} LIMIT :count").columns(*read), binary=True)

        def oldest(columns: str, read: list[sa.Column[Any]]) -> Prepared:
            text = f"SELECT * FROM ({lateral(columns)}) AS i ORDER BY due_at LIMIT :count"
            return Prepared(sa.text(text).columns(*read), binary=True)

        every, whole = (EVERY, READ), (f"{EVERY}, {WHOLE}", READ_WHOLE)
        self._probes = probe(*every), probe(*whole)
        self._oldest = oldest(*every), oldest(*whole)
        # Ordered: otherwise a generic plan scans the table.
        first = f"SELECT 1 FROM instance WHERE {ready} ORDER BY due_at LIMIT 1"
        self._any = Prepared(sa.text(f"SELECT 1 FROM {probes}, LATERAL ({first}) AS i LIMIT 1").columns(ONE))

    def first(self, conn: sa.Connection, pairs: Sequence[Pair], now: Micros, count: int, *, whole: bool) -> list[Row]:
        return self._probes[whole].rows(conn, **_arrays(pairs), now=now, count=count)

    def oldest(self, conn: sa.Connection, pairs: Sequence[Pair], now: Micros, count: int, *, whole: bool) -> list[Row]:
        return self._oldest[whole].rows(conn, **_arrays(pairs), now=now, count=count)

    def anything(self, conn: sa.Connection, pairs: Sequence[Pair], now: Micros) -> bool:
        return self._any.first(conn, **_arrays(pairs), now=now) is not None


def _arrays(pairs: Sequence[Pair]) -> dict[str, Any]:
    return {"queues": array([queue for queue, _ in pairs]), "priorities": array([priority for _, priority in pairs])}


def serving(served: Sequence[tuple[str, int]]) -> str:
    """The condition that a row is of one of these machines and versions."""
    # Names of machines are checked identifiers, so they can be part of the text.
    return " OR ".join(f"(machine = '{name}' AND version = {version})" for name, version in served) or "1 = 0"


def probes(served: Sequence[tuple[str, int]], store: Store) -> Probes:
    """The probes for rows of these machines and versions."""
    return (SeparateProbes if store.dialect == "sqlite" else CombinedProbes)(serving(served))
