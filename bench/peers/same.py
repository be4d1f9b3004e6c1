"""Raw SQL into Interlock's own tables: the same rows, all their columns and indexes, nothing decided in between.

Against `raw`, whose tables have only what a claim needs, it tells what the width of the tables costs; against
Interlock, what the engine costs.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any
from uuid import UUID, uuid4

import psycopg

from bench.peers import interlock
from bench.peers.raw import BATCH, FAR, _sqlite
from interlock.engine.audit import chain
from interlock.store.arrays import array
from interlock.store.columns import read_id

PACKAGE = ""
SETTINGS = f"batch {BATCH}, one connection a process, no handler, nothing but the writes; history with its chain"
FINISHED, setup, enqueue, verify = interlock.FINISHED, interlock.setup, interlock.enqueue, interlock.verify
READY = "wake = 'work' AND queue = 'trivial' AND priority = 2 AND due_at <= {now}"
TAKEN = "SET wake = 'lease', due_at = {until}, holder = {holder}, claimed_at = {now}, fence = fence + 1"
DONE = (
    "state = 'done', previous = 'new', wake = NULL, due_at = NULL, holder = NULL, claimed_at = NULL, "
    "seq = {seq}, head = {head}, entered_at = {at}, updated_at = {at}, finished_at = {at}"
)
HISTORY = "instance_id, seq, kind, from_state, to_state, event, actor, at, payload, digest, hash, dwell, waited"
KINDS = (
    "uuid",
    "bigint",
    "text",
    "text",
    "text",
    "text",
    "text",
    "bigint",
    "text",
    "bytea",
    "bytea",
    "bigint",
    "bigint",
)
PAYLOAD = '{"step":"new","took":1000}'
DIGEST = chain.digest(PAYLOAD)

Rows = list[tuple[Any, ...]]


def work(url: str, go: Callable[[], None], tick: Callable[[], None]) -> None:
    (on_sqlite if url.startswith("sqlite") else on_postgres)(url, go, tick)


def _results(rows: Rows, actor: str, tick: Callable[[], None]) -> tuple[Rows, Rows]:
    now = time.time_ns() // 1000
    updates, history = [], []
    for given, seq, head, entered in rows:
        tick()
        instance = given if isinstance(given, UUID) else read_id(given)
        assert instance is not None
        new = chain.link(bytes(head), instance, seq + 1, "moved", "new", "done", "do", actor, now, DIGEST)
        updates.append((seq + 1, new, now, given))
        history.append(
            (given, seq + 1, "moved", "new", "done", "do", actor, now, PAYLOAD, DIGEST, new, now - entered, 1000)
        )
    return updates, history


def on_sqlite(url: str, go: Callable[[], None], tick: Callable[[], None]) -> None:
    conn, worker = _sqlite(url), uuid4()
    claim = (
        f"UPDATE instance {TAKEN.format(until='?2', holder='?1', now='?3')} WHERE id IN (SELECT id FROM instance "
        f"WHERE {READY.format(now='?2')} ORDER BY due_at LIMIT ?4) RETURNING id, seq, head, entered_at"
    )
    finish = f"UPDATE instance SET {DONE.format(seq='?1', head='?2', at='?3')} WHERE id = ?4"
    go()
    while True:
        conn.execute("BEGIN IMMEDIATE")
        rows = conn.execute(claim, (worker.hex, FAR, time.time_ns() // 1000, BATCH)).fetchall()
        conn.execute("COMMIT")
        if not rows:
            break
        updates, history = _results(rows, f"worker:{worker}", tick)
        conn.execute("BEGIN IMMEDIATE")
        conn.executemany(finish, updates)
        conn.executemany(f"INSERT INTO history ({HISTORY}) VALUES ({', '.join('?' * len(KINDS))})", history)
        conn.execute("COMMIT")
    conn.close()


def on_postgres(url: str, go: Callable[[], None], tick: Callable[[], None]) -> None:
    worker = uuid4()
    claim = (
        f"UPDATE instance {TAKEN.format(until='%s', holder='%s', now='%s')} WHERE id = ANY(ARRAY(SELECT id "
        f"FROM instance WHERE {READY.format(now='%s')} ORDER BY due_at LIMIT %s FOR UPDATE SKIP LOCKED)) "
        "RETURNING id, seq, head, entered_at"
    ).encode()
    arrays = ", ".join(f"%s::{kind}[]" for kind in ("bigint", "bytea", "bigint", "uuid"))
    finish = (
        f"UPDATE instance AS old SET {DONE.format(seq='new.seq', head='new.head', at='new.at')} FROM (SELECT {arrays} "
        "OFFSET 0) AS given (a, b, c, d), LATERAL unnest(a, b, c, d) AS new (seq, head, at, id) WHERE old.id = new.id"
    ).encode()
    rows_of = ", ".join(f"%s::{kind}[]" for kind in KINDS)
    past = f"INSERT INTO history ({HISTORY}) SELECT * FROM unnest({rows_of})".encode()
    with psycopg.connect(url, autocommit=True) as conn:
        go()
        while True:
            now = time.time_ns() // 1000
            rows = conn.execute(claim, (FAR, worker, now, FAR, BATCH), prepare=True, binary=True).fetchall()
            if not rows:
                break
            updates, history = _results(rows, f"worker:{worker}", tick)
            with conn.pipeline(), conn.transaction():
                conn.execute(finish, [array(column) for column in zip(*updates, strict=True)], prepare=True)
                conn.execute(past, [array(column) for column in zip(*history, strict=True)], prepare=True)
