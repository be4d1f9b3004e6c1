"""Picking: which ready rows a claim takes, and in what order.

Each queue and each of four priorities is probed by its oldest row, which the ready index answers without passing
over anything: one ordered scan over two million rows takes 69 ms, four probes take 0.03 ms. One slot in eight goes
by age alone, so that the last priority is late but never starves. `wake` is written out in the statements, because a
bound value would hide the partial index from PostgreSQL's generic plans.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from uuid import UUID

import sqlalchemy as sa

from interlock.store import Micros
from interlock.store.service import hold
from interlock.store.tables import instance

if TYPE_CHECKING:
    from interlock.engine.core import Core

PRIORITIES = range(4)
BY_AGE = 8
COLUMNS = ", ".join(column.name for column in instance.c)
EVERYTHING = "*"
"""The name under which all machines are held."""
HELD = sa.select(hold.c.machine)
# The lock is on the table, too: see `holding`. It costs a claim 24 µs on SQLite, 100 on PostgreSQL.
HELD_BY_NOW = HELD.with_for_update(read=True, key_share=True)
READY = "wake = 'work' AND queue = {queue} AND priority = {priority} AND due_at <= :now AND ({served})"


def serving(served: Sequence[tuple[str, int]]) -> str:
    """The condition that a row is of one of these versions."""
    # Names of machines are identifiers, checked when declared, so they can stand in the text.
    return " OR ".join(f"(machine = '{name}' AND version = {version})" for name, version in served) or "1 = 0"


def waking(wake: str) -> sa.TextClause:
    """Rows with this wake. SQLite uses the index on due times only where its very condition stands in the statement."""
    return sa.text(f"wake IN ('lease', 'resume') AND wake = '{wake}'")


def statements(served: Sequence[tuple[str, int]], dialect: str) -> dict[str, sa.TextClause | sa.TextualSelect]:
    """The statements for a process that serves these versions; made once, when they are known."""
    which = serving(served)
    if dialect == "sqlite":
        ready = READY.format(queue=":queue", priority=":priority", served=which)
        probe = sa.text(f"SELECT {COLUMNS} FROM instance WHERE {ready} ORDER BY due_at LIMIT :count")
        return {
            "probe": probe.columns(*instance.c),
            "any": sa.text(f"SELECT 1 FROM instance WHERE {ready} ORDER BY due_at LIMIT 1"),
        }
    ready = READY.format(queue="probe.queue", priority="probe.priority", served=which)
    probes = "unnest(CAST(:queues AS text[]), CAST(:priorities AS bigint[])) AS probe (queue, priority)"
    # The probes run in order and stop at the limit, so hardly more rows are locked than taken.
    lateral = (
        f"SELECT i.* FROM {probes}, LATERAL (SELECT {COLUMNS} FROM instance WHERE {ready} "
        "ORDER BY due_at LIMIT :count FOR UPDATE SKIP LOCKED) AS i"
    )
    return {
        "probe": sa.text(f"{lateral} LIMIT :count").columns(*instance.c),
        "oldest": sa.text(f"SELECT * FROM ({lateral}) AS i ORDER BY due_at LIMIT :count").columns(*instance.c),
        # In order, or the generic plan hopes to meet a ready row early in the whole table.
        "any": sa.text(
            f"SELECT 1 FROM {probes}, "
            f"LATERAL (SELECT 1 FROM instance WHERE {ready} ORDER BY due_at LIMIT 1) AS i LIMIT 1"
        ),
    }


def pick(
    core: Core, conn: sa.Connection, now: Micros, queues: Sequence[str], count: int, turn: int
) -> list[sa.Row[Any]]:
    """Up to `count` ready rows, locked: the first priorities first, one in eight by age; none that is held."""
    held = frozenset(conn.execute(HELD_BY_NOW).scalars())
    if EVERYTHING in held:
        return []
    statements = core.without(held)
    start = turn % len(queues)
    rotated = [*queues[start:], *queues[:start]]
    pairs = [(queue, priority) for priority in PRIORITIES for queue in rotated]
    aged = count // BY_AGE or (1 if turn % BY_AGE == 0 else 0)
    taken: dict[UUID, sa.Row[Any]] = {}
    if core.store.dialect == "sqlite":
        probe = statements["probe"]
        if aged:
            oldest = [
                row
                for queue, priority in pairs
                for row in conn.execute(probe, {"queue": queue, "priority": priority, "now": now, "count": aged})
            ]
            taken = {row.id: row for row in sorted(oldest, key=lambda row: row.due_at)[:aged]}
        for queue, priority in pairs:
            if len(taken) >= count:
                break
            # Rows taken by age come up again: ask for as many more.
            limit = count - len(taken) + aged
            for row in conn.execute(probe, {"queue": queue, "priority": priority, "now": now, "count": limit}):
                if len(taken) < count:
                    taken.setdefault(row.id, row)
        return list(taken.values())
    probes = {"queues": [q for q, _ in pairs], "priorities": [p for _, p in pairs], "now": now}
    if aged:
        taken = {row.id: row for row in conn.execute(statements["oldest"], {**probes, "count": aged})}
    # A row that this transaction has locked is not skipped, so those taken by age come up again here too.
    for row in conn.execute(statements["probe"], {**probes, "count": count + aged}):
        if len(taken) < count:
            taken.setdefault(row.id, row)
    return list(taken.values())


def anything_ready(core: Core, conn: sa.Connection, now: Micros, queues: Sequence[str]) -> bool:
    """Whether a claim would find something; needs no lock."""
    held = frozenset(conn.execute(HELD).scalars())
    if EVERYTHING in held:
        return False
    anything = core.without(held)["any"]
    pairs = [(queue, priority) for priority in PRIORITIES for queue in queues]
    if core.store.dialect == "sqlite":
        return any(
            conn.execute(anything, {"queue": queue, "priority": priority, "now": now}).first()
            for queue, priority in pairs
        )
    probes = {"queues": [q for q, _ in pairs], "priorities": [p for _, p in pairs], "now": now}
    return conn.execute(anything, probes).first() is not None
