"""Raw SQL doing the same writes as a worker: claim a batch, then move each row with a chained history row."""

from __future__ import annotations

import hashlib
import json
import sqlite3
import time
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg
from uuid_utils.compat import uuid7

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


def link(head: bytes, instance: str, seq: int, to: str, at: int) -> bytes:
    return hashlib.sha256(head + instance.encode() + json.dumps([seq, "moved", "new", to, at]).encode()).digest()


def _results(rows: list[tuple[Any, ...]], worker: str) -> tuple[list[tuple[Any, ...]], list[tuple[Any, ...]]]:
    """The new rows for a batch of claims: everything that a worker knows afterwards."""
    now = time.time_ns() // 1000
    updates, history = [], []
    for instance, seq, head in rows:
        new = link(bytes(head), str(instance), seq + 1, "done", now)
        updates.append(("done", seq + 1, new, instance))
        history.append((instance, seq + 1, "moved", "new", "done", worker, now, '{"step":"new"}', new))
    return updates, history


def sqlite(path: Path, items: int, batch: int) -> float:
    """Items per second on SQLite, synchronous=FULL."""
    conn = sqlite3.connect(path, isolation_level=None)
    conn.execute("PRAGMA journal_mode = WAL")
    conn.execute("PRAGMA synchronous = FULL")
    conn.executescript(TABLES.format(id="text", bytes="blob"))
    conn.execute("BEGIN")
    conn.executemany(
        "INSERT INTO raw_instance VALUES (?, 'new', 1, x'00', 'work', ?, NULL, 0)",
        [(uuid7().hex, n) for n in range(items)],
    )
    conn.execute("COMMIT")
    worker, done, begun = uuid4().hex, 0, time.perf_counter()
    while True:
        conn.execute("BEGIN IMMEDIATE")
        rows = conn.execute(
            "UPDATE raw_instance SET wake = 'lease', holder = ?, fence = fence + 1 WHERE id IN "
            "(SELECT id FROM raw_instance WHERE wake = 'work' AND due_at <= ? ORDER BY due_at LIMIT ?) "
            "RETURNING id, seq, head",
            (worker, items, batch),
        ).fetchall()
        conn.execute("COMMIT")
        if not rows:
            break
        updates, history = _results(rows, worker)
        conn.execute("BEGIN IMMEDIATE")
        conn.executemany(
            "UPDATE raw_instance SET state = ?, seq = ?, head = ?, wake = NULL, due_at = NULL, holder = NULL "
            "WHERE id = ?",
            updates,
        )
        conn.executemany("INSERT INTO raw_history VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", history)
        conn.execute("COMMIT")
        done += len(rows)
    rate = done / (time.perf_counter() - begun)
    conn.close()
    assert done == items
    return rate


def postgres(url: str, items: int, batch: int) -> float:
    """Items per second on PostgreSQL, synchronous_commit=on, one connection."""
    with psycopg.connect(url, autocommit=True) as conn:
        for statement in filter(str.strip, TABLES.format(id="uuid", bytes="bytea").split(";")):
            conn.execute(statement.encode())
        conn.execute(
            "INSERT INTO raw_instance SELECT unnest(%s::uuid[]), 'new', 1, '\\x00', 'work', 0, NULL, 0",
            ([uuid7() for _ in range(items)],),
        )
        worker, done, begun = str(uuid4()), 0, time.perf_counter()
        while True:
            rows = conn.execute(
                "UPDATE raw_instance SET wake = 'lease', holder = %s, fence = fence + 1 WHERE id = ANY(ARRAY("
                "SELECT id FROM raw_instance WHERE wake = 'work' AND due_at <= %s ORDER BY due_at LIMIT %s "
                "FOR UPDATE SKIP LOCKED)) RETURNING id, seq, head",
                (worker, items, batch),
            ).fetchall()
            if not rows:
                break
            updates, history = _results(rows, worker)
            with conn.transaction():
                conn.execute(
                    "UPDATE raw_instance AS old SET state = new.state, seq = new.seq, head = new.head, wake = NULL, "
                    "due_at = NULL, holder = NULL FROM unnest(%s::text[], %s::bigint[], %s::bytea[], %s::uuid[]) "
                    "AS new (state, seq, head, id) WHERE old.id = new.id",
                    [list(column) for column in zip(*updates, strict=True)],
                )
                conn.execute(
                    "INSERT INTO raw_history SELECT * FROM unnest(%s::uuid[], %s::bigint[], %s::text[], %s::text[], "
                    "%s::text[], %s::text[], %s::bigint[], %s::text[], %s::bytea[])",
                    [list(column) for column in zip(*history, strict=True)],
                )
            done += len(rows)
        rate = done / (time.perf_counter() - begun)
    assert done == items
    return rate
