"""Picking: which ready rows a claim takes, and in what order.

Each queue and each of four priorities is probed by its oldest row, which the ready index answers without passing
over anything: one ordered scan over two million rows takes 69 ms, four probes take 0.03 ms. One slot in eight goes
by age alone, so that the last priority is late but never starves. `wake` is written out in the statements, because a
bound value would hide the partial index from PostgreSQL's generic plans.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from interlock.engine.instance import COLUMNS, PLACES, columns
from interlock.store import Micros
from interlock.store.arrays import array
from interlock.store.prepared import Prepared
from interlock.store.service_tables import hold
from interlock.store.tables import instance

if TYPE_CHECKING:
    from interlock.engine.core import Core

PRIORITIES = range(4)
BY_AGE = 8
EVERY = ", ".join(COLUMNS)
EVERYTHING = "*"
"""The name under which all machines are held."""
HELD = Prepared(sa.select(hold.c.machine))
# The lock is on the table, too: see `holding`. It costs a claim 24 µs on SQLite, 100 on PostgreSQL.
HELD_BY_NOW = Prepared(sa.select(hold.c.machine).with_for_update(read=True, key_share=True))
_since = itemgetter(PLACES["due_at"])
_pair = columns("queue", "priority")
Pair = tuple[str, int]
"""A queue and a priority."""
READY = "wake = 'work' AND queue = {queue} AND priority = {priority} AND due_at <= :now AND ({served})"


def serving(served: Sequence[tuple[str, int]]) -> str:
    """The condition that a row is of one of these versions."""
    # Names of machines are identifiers, checked when declared, so they can stand in the text.
    return " OR ".join(f"(machine = '{name}' AND version = {version})" for name, version in served) or "1 = 0"


def waking(wake: str) -> sa.TextClause:
    """Rows with this wake. SQLite uses the index on due times only where its very condition stands in the statement."""
    return sa.text(f"wake IN ('lease', 'resume') AND wake = '{wake}'")


def statements(served: Sequence[tuple[str, int]], dialect: str) -> dict[str, Prepared]:
    """The statements for a process that serves these versions; made once, when they are known."""
    which = serving(served)
    one = sa.Column("one", sa.BigInteger)
    if dialect == "sqlite":
        ready = READY.format(queue=":queue", priority=":priority", served=which)
        probe = sa.text(f"SELECT {EVERY} FROM instance WHERE {ready} ORDER BY due_at LIMIT :count")
        first = sa.text(f"SELECT 1 FROM instance WHERE {ready} ORDER BY due_at LIMIT 1")
        return {"probe": Prepared(probe.columns(*instance.c)), "any": Prepared(first.columns(one))}
    ready = READY.format(queue="probe.queue", priority="probe.priority", served=which)
    probes = "unnest(CAST(:queues AS text[]), CAST(:priorities AS bigint[])) AS probe (queue, priority)"
    # The probes run in order and stop at the limit, so hardly more rows are locked than taken.
    lateral = (
        f"SELECT i.* FROM {probes}, LATERAL (SELECT {EVERY} FROM instance WHERE {ready} "
        "ORDER BY due_at LIMIT :count FOR UPDATE SKIP LOCKED) AS i"
    )
    # In order, or the generic plan hopes to meet a ready row early in the whole table.
    first = sa.text(
        f"SELECT 1 FROM {probes}, LATERAL (SELECT 1 FROM instance WHERE {ready} ORDER BY due_at LIMIT 1) AS i LIMIT 1"
    )
    return {
        "probe": Prepared(sa.text(f"{lateral} LIMIT :count").columns(*instance.c)),
        "oldest": Prepared(
            sa.text(f"SELECT * FROM ({lateral}) AS i ORDER BY due_at LIMIT :count").columns(*instance.c)
        ),
        "any": Prepared(first.columns(one)),
    }


def pick(
    core: Core, conn: sa.Connection, now: Micros, queues: Sequence[str], count: int, turn: int
) -> list[tuple[Any, ...]]:
    """Up to `count` ready rows, locked: the first priorities first, one in eight by age; none that is held."""
    held = frozenset(machine for (machine,) in HELD_BY_NOW.rows(conn))
    if EVERYTHING in held:
        return []
    statements = core.without(held)
    start = turn % len(queues)
    rotated = [*queues[start:], *queues[:start]]
    pairs = [(queue, priority) for priority in PRIORITIES for queue in rotated]
    rows = _probe(statements, conn, pairs, now, count)
    aged = count // BY_AGE or (1 if turn % BY_AGE == 0 else 0)
    if len(rows) < count or not aged:
        return rows  # all that is ready
    # Of the pairs that were reached, the oldest are at hand; the others are asked for theirs.
    unreached = pairs[pairs.index(_pair(rows[-1])) + 1 :]
    oldest = _oldest(statements, conn, unreached, now, aged) if unreached else []
    if not oldest:
        return rows
    first = sorted([*rows, *oldest], key=_since)[:aged]
    known = {row[0].int for row in first}  # to hash an id itself takes three times as long
    return [*first, *islice((row for row in rows if row[0].int not in known), count - len(first))]


def _probe(
    made: Mapping[str, Prepared], conn: sa.Connection, pairs: Sequence[Pair], now: Micros, count: int
) -> list[tuple[Any, ...]]:
    """So many rows, of one pair after the other."""
    if conn.dialect.name != "sqlite":
        return made["probe"].rows(conn, **_probes(pairs), now=now, count=count)
    rows: list[tuple[Any, ...]] = []
    for queue, priority in pairs:
        if len(rows) < count:
            rows += made["probe"].rows(conn, queue=queue, priority=priority, now=now, count=count - len(rows))
    return rows


def _oldest(
    made: Mapping[str, Prepared], conn: sa.Connection, pairs: Sequence[Pair], now: Micros, count: int
) -> list[tuple[Any, ...]]:
    """So many rows, the oldest of all pairs."""
    if conn.dialect.name != "sqlite":
        return made["oldest"].rows(conn, **_probes(pairs), now=now, count=count)
    rows = [row for pair in pairs for row in _probe(made, conn, [pair], now, count)]
    return sorted(rows, key=_since)[:count]


def _probes(pairs: Sequence[Pair]) -> dict[str, Any]:
    return {"queues": array([queue for queue, _ in pairs]), "priorities": array([priority for _, priority in pairs])}


def anything_ready(core: Core, conn: sa.Connection, now: Micros, queues: Sequence[str]) -> bool:
    """Whether a claim would find something; needs no lock."""
    held = frozenset(machine for (machine,) in HELD.rows(conn))
    if EVERYTHING in held:
        return False
    anything = core.without(held)["any"]
    pairs = [(queue, priority) for priority in PRIORITIES for queue in queues]
    if core.store.dialect == "sqlite":
        return any(anything.first(conn, queue=queue, priority=priority, now=now) for queue, priority in pairs)
    return anything.first(conn, **_probes(pairs), now=now) is not None
