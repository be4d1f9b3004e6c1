"""Raw SQL doing the same writes as a worker: claim a batch, then move each row with a chained history row."""

from __future__ import annotations

import hashlib
import json
import sqlite3
import time
from collections.abc import Callable
from typing import Any
from uuid import uuid4

import psycopg
from uuid_utils.compat import uuid7

from interlock.store.arrays import array

PACKAGE = ""
BATCH = 1000
SETTINGS = f"batch {BATCH}, one connection a process, no handler, nothing but the writes"
FINISHED = "SELECT count(*) FROM raw_instance WHERE state = 'done'"
FAR = 1 << 60
TABLES = """
CREATE TABLE raw_instance (
  id {id} PRIMARY KEY, state text NOT NULL, seq bigint NOT NULL, head {bytes} NOT NULL, wake text, due_at bigint,
  holder {id}, fence bigint NOT NULL
);
CREATE INDEX ix_raw_ready ON raw_instance (due_at) WHERE wake = 'work';
CREATE TABLE raw_history (
  instance_id {id} NOT NULL, seq bigint NOT NULL, kind text NOT NULL, from_state text, to_state text,
  actor text NOT NULL, at bigint NOT NULL, payload text, hash {bytes} NOT NULL, PRIMARY KEY (instance_id, seq)
);
"""


def setup(url: str) -> None:
    if url.startswith("sqlite"):
        conn = _sqlite(url)
        conn.executescript(TABLES.format(id="text", bytes="blob"))
        conn.close()
        return
    with psycopg.connect(url, autocommit=True) as server:
        for statement in filter(str.strip, TABLES.format(id="uuid", bytes="bytea").split(";")):
            server.execute(statement.encode())


def enqueue(url: str, count: int) -> None:
    if url.startswith("sqlite"):
        conn = _sqlite(url)
        conn.execute("BEGIN")
        conn.executemany(
            "INSERT INTO raw_instance VALUES (?, 'new', 1, x'00', 'work', ?, NULL, 0)",
            [(uuid7().hex, n) for n in range(count)],
        )
        conn.execute("COMMIT")
        conn.close()
        return
    with psycopg.connect(url, autocommit=True) as server:
        server.execute(
            "INSERT INTO raw_instance SELECT unnest(%s::uuid[]), 'new', 1, '\\x00', 'work', 0, NULL, 0",
            (array(uuid7() for _ in range(count)),),
        )


def work(url: str, go: Callable[[], None], tick: Callable[[], None]) -> None:
    if url.startswith("sqlite"):
        on_sqlite(url, go, tick)
    else:
        on_postgres(url, go, tick)


def _sqlite(url: str) -> sqlite3.Connection:
    conn = sqlite3.connect(url.removeprefix("sqlite:///"), isolation_level=None, timeout=60)
    conn.execute("PRAGMA journal_mode = WAL")
    conn.execute("PRAGMA synchronous = FULL")
    return conn


def link(head: bytes, instance: str, seq: int, to: str, at: int) -> bytes:
    return hashlib.sha256(head + instance.encode() + json.dumps([seq, "moved", "new", to, at]).encode()).digest()


def _results(
    rows: list[tuple[Any, ...]], worker: str, tick: Callable[[], None]
) -> tuple[list[tuple[Any, ...]], list[tuple[Any, ...]]]:
    """The new rows for a batch of claims: everything that a worker knows afterwards."""
    now = time.time_ns() // 1000
    updates, history = [], []
    for instance, seq, head in rows:
        tick()
        new = link(bytes(head), str(instance), seq + 1, "done", now)
        updates.append(("done", seq + 1, new, instance))
        history.append((instance, seq + 1, "moved", "new", "done", worker, now, '{"step":"new"}', new))
    return updates, history


def on_sqlite(url: str, go: Callable[[], None], tick: Callable[[], None]) -> None:
    """synchronous=FULL; until nothing is left."""
    conn, worker = _sqlite(url), uuid4().hex
    go()
    while True:
        conn.execute("BEGIN IMMEDIATE")
        rows = conn.execute(
            "UPDATE raw_instance SET wake = 'lease', holder = ?, fence = fence + 1 WHERE id IN "
            "(SELECT id FROM raw_instance WHERE wake = 'work' AND due_at <= ? ORDER BY due_at LIMIT ?) "
            "RETURNING id, seq, head",
            (worker, FAR, BATCH),
        ).fetchall()
        conn.execute("COMMIT")
        if not rows:
            break
        updates, history = _results(rows, worker, tick)
        conn.execute("BEGIN IMMEDIATE")
        conn.executemany(
            "UPDATE raw_instance SET state = ?, seq = ?, head = ?, wake = NULL, due_at = NULL, holder = NULL "
            "WHERE id = ?",
            updates,
        )
        conn.executemany("INSERT INTO raw_history VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", history)
        conn.execute("COMMIT")
    conn.close()


def on_postgres(url: str, go: Callable[[], None], tick: Callable[[], None]) -> None:
    """synchronous_commit=on, arrays written by hand as the engine does; until nothing is left."""
    with psycopg.connect(url, autocommit=True) as conn:
        worker = str(uuid4())
        go()
        while True:
            rows = conn.execute(
                "UPDATE raw_instance SET wake = 'lease', holder = %s, fence = fence + 1 WHERE id = ANY(ARRAY("
                "SELECT id FROM raw_instance WHERE wake = 'work' AND due_at <= %s ORDER BY due_at LIMIT %s "
                "FOR UPDATE SKIP LOCKED)) RETURNING id, seq, head",
                (worker, FAR, BATCH),
                prepare=True,
                binary=True,
            ).fetchall()
            if not rows:
                break
            updates, history = _results(rows, worker, tick)
            with conn.pipeline(), conn.transaction():
                conn.execute(
                    "UPDATE raw_instance AS old SET state = new.state, seq = new.seq, head = new.head, wake = NULL, "
                    "due_at = NULL, holder = NULL FROM unnest(%s::text[], %s::bigint[], %s::bytea[], %s::uuid[]) "
                    "AS new (state, seq, head, id) WHERE old.id = new.id",
                    [array(column) for column in zip(*updates, strict=True)],
                    prepare=True,
                )
                conn.execute(
                    "INSERT INTO raw_history SELECT * FROM unnest(%s::uuid[], %s::bigint[], %s::text[], %s::text[], "
                    "%s::text[], %s::text[], %s::bigint[], %s::text[], %s::bytea[])",
                    [array(column) for column in zip(*history, strict=True)],
                    prepare=True,
                )
