"""Fills a database with millions of instances that rest, with statements that make the rows themselves."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from uuid import UUID

import psycopg
import sqlalchemy as sa

from bench.pages import beside
from interlock.engine import Engine
from interlock.machine import FINAL, USER, WAITING, Go, Machine, Outcome, State, Transition
from interlock.watch import rollups
from interlock.worker import Task

BATCH = 50_000
MONTH = 30 * 86_400_000_000
KINDS = ("waiting", "future", "paused")
SECOND_ROWS = {"waiting": ("moved", "work", "off", "worked"), "paused": ("paused", None, None, None)}
"""What happened after they were created: with that, each of the three has 5 rows of history together."""

thing = Machine(
    "thing",
    initial="work",
    states=[
        State("work"),
        State("off", WAITING, waits_for="a person"),
        State("on", WAITING, waits_for="a person"),
        State("done", FINAL),
    ],
    transitions=[
        Transition("work", "off", on="worked"),
        Transition("work", "done", on="finished"),
        Transition("off", "on", on="flip", by=USER),
        Transition("on", "off", on="flip", by=USER),
        Transition("on", "done", on="close", by=USER),
    ],
)


@thing.work("work")
def work(task: Task[dict[str, object]]) -> Outcome:
    return Go("done")


def number(kind: str, n: int) -> int:
    return KINDS.index(kind) * 1_000_000_000 + n


def moment(now: int, count: int, n: int) -> int:
    """When the n-th of them was created, spread over a month."""
    return now - (count - n) * (MONTH // count)


def identity(now: int, count: int, kind: str, n: int) -> UUID:
    """The id that the database made for the n-th of a kind: the same bits as `_series`."""
    made, serial = moment(now, count, n) // 1000, number(kind, n)
    return UUID(int=(made << 80) | (7 << 76) | ((serial & 0xFFF) << 64) | (8 << 60) | serial)


def _series(dialect: str, kind: str) -> str:
    """The numbers from :first to :last, with an id and a moment for each."""
    base = number(kind, 0)
    at = "(CAST(:now AS bigint) - (CAST(:count AS bigint) - n) * CAST(:step AS bigint))"
    if dialect == "postgresql":
        numbers = "SELECT n FROM generate_series(CAST(:first AS bigint), CAST(:last AS bigint)) AS n"
        made = (
            f"CAST(lpad(to_hex({at} / 1000), 12, '0') || '7' || lpad(to_hex(({base} + n) & 4095), 3, '0') || '8' || "
            f"lpad(to_hex({base} + n), 15, '0') AS uuid)"
        )
        plain = "replace(CAST(id AS text), '-', '')"
    else:
        numbers = (
            "WITH RECURSIVE up(n) AS (SELECT :first UNION ALL SELECT n + 1 FROM up WHERE n < :last) SELECT n FROM up"
        )
        made = f"printf('%012x7%03x8%015x', {at} / 1000, ({base} + n) & 4095, {base} + n)"
        plain = "id"
    return (
        f"(SELECT id, at, serial, {plain} AS trace FROM "
        f"(SELECT {made} AS id, {at} AS at, {base} + n AS serial FROM ({numbers}) AS numbers) AS made) AS made"
    )


def _instances(dialect: str, kind: str) -> str:
    zeros = "decode(repeat('00', 32), 'hex')" if dialect == "postgresql" else "zeroblob(32)"
    far = "CAST(:now AS bigint) + 1000000000000"
    values = {
        "id": "id",
        "machine": "'thing'",
        "version": "1",
        "workspace": "'default'",
        "key": "'k' || serial",
        "unique_key": "'k' || serial",
        "state": "'off'" if kind == "waiting" else "'work'",
        "previous": "'work'" if kind == "waiting" else "NULL",
        "seq": "2" if kind in SECOND_ROWS else "1",
        "head": zeros,
        "data": """'{"content":"thing ' || serial || '"}'""",
        "labels": """'{"shop":"north"}'""",
        "queue": "'thing'",
        "priority": "2",
        "wake": "'work'" if kind == "future" else "NULL",
        "due_at": far if kind == "future" else "NULL",
        "timer_no": "0",
        "fence": "0",
        "paused_at": "at" if kind == "paused" else "NULL",
        "paused_wake": "'work'" if kind == "paused" else "NULL",
        "paused_due": "at" if kind == "paused" else "NULL",
        "root": "id",
        "depth": "0",
        "trace_id": "trace",
        "created_at": "at",
        "entered_at": "at",
        "updated_at": "at",
    }
    return (
        f"INSERT INTO instance ({', '.join(values)}) SELECT {', '.join(values.values())} FROM {_series(dialect, kind)}"
    )


def _history(dialect: str, kind: str, seq: int) -> str:
    zeros = "decode(repeat('00', 32), 'hex')" if dialect == "postgresql" else "zeroblob(32)"
    what = ("created", None, "work", None) if seq == 1 else SECOND_ROWS[kind]
    spelled = ["NULL" if word is None else f"'{word}'" for word in what]
    values = {
        "instance_id": "id",
        "seq": str(seq),
        "kind": spelled[0],
        "from_state": spelled[1],
        "to_state": spelled[2],
        "event": spelled[3],
        "actor": "'user:bench'",
        "at": "at",
        "hash": zeros,
        "dwell": "1000" if what[0] == "moved" else "NULL",
    }
    return (
        f"INSERT INTO history ({', '.join(values)}) SELECT {', '.join(values.values())} FROM {_series(dialect, kind)}"
    )


def fill(engine: Engine, count: int, now: int, advance: Callable[[int], None]) -> None:
    """`count` of each kind, and five times as many rows of history; `advance` gets the number of rows made."""
    store, dialect = engine.store, engine.store.dialect

    def batch(conn: sa.Connection, first: int) -> int:
        last = min(first + BATCH, count) - 1
        values = {"first": first, "last": last, "count": count, "step": MONTH // count, "now": now}
        made = 0
        for kind in KINDS:
            statements = [_instances(dialect, kind), _history(dialect, kind, 1)]
            if kind in SECOND_ROWS:
                statements.append(_history(dialect, kind, 2))
            for statement in statements:
                conn.execute(sa.text(statement), values)
                made += last - first + 1
        return made

    for first in range(0, count, BATCH):
        advance(store.write(lambda conn, at=first: batch(conn, at)))
    store.write(lambda conn: beside(conn, now, "thing", waiting="off", failed="work"))
    while engine.write(lambda unit: rollups.roll(unit, 100_000)):
        advance(100_000)


def settle(url: str) -> None:
    """Statistics as they would be, and nothing left to be written or cleaned up while we measure."""
    if url.startswith("sqlite"):
        with closing(sqlite3.connect(url.removeprefix("sqlite:///"), timeout=60)) as file:
            file.execute("ANALYZE")
            file.commit()
            file.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    else:
        with psycopg.connect(url, autocommit=True) as conn:
            conn.execute("VACUUM ANALYZE")
            conn.execute("CHECKPOINT")
