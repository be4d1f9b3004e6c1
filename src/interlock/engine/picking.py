"""Picking: which ready rows a claim takes, and in what order.

Each queue and each of four priorities is probed by its oldest row, which the ready index answers without passing
over anything: one ordered scan over two million rows takes 69 ms, four probes take 0.03 ms. One slot in eight goes
by age alone, so that the last priority is late but never starves. `wake` is written out in the statements, because a
bound value would hide the partial index from PostgreSQL's generic plans.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from interlock.store import Micros
from interlock.store.arrays import array
from interlock.store.prepared import Prepared
from interlock.store.service import hold
from interlock.store.tables import instance

if TYPE_CHECKING:
    from interlock.engine.core import Core

PRIORITIES = range(4)
BY_AGE = 8
COLUMNS = ", ".join(column.name for column in instance.c)
EVERYTHING = "*"
"""The name under which all machines are held."""
HELD = Prepared(sa.select(hold.c.machine))
# The lock is on the table, too: see `holding`. It costs a claim 24 µs on SQLite, 100 on PostgreSQL.
HELD_BY_NOW = Prepared(sa.select(hold.c.machine).with_for_update(read=True, key_share=True))
DUE = [column.name for column in instance.c].index("due_at")
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
        probe = sa.text(f"SELECT {COLUMNS} FROM instance WHERE {ready} ORDER BY due_at LIMIT :count")
        first = sa.text(f"SELECT 1 FROM instance WHERE {ready} ORDER BY due_at LIMIT 1")
        return {"probe": Prepared(probe.columns(*instance.c)), "any": Prepared(first.columns(one))}
    ready = READY.format(queue="probe.queue", priority="probe.priority", served=which)
    probes = "unnest(CAST(:queues AS text[]), CAST(:priorities AS bigint[])) AS probe (queue, priority)"
    # The probes run in order and stop at the limit, so hardly more rows are locked than taken.
    lateral = (
        f"SELECT i.* FROM {probes}, LATERAL (SELECT {COLUMNS} FROM instance WHERE {ready} "
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
    aged = count // BY_AGE or (1 if turn % BY_AGE == 0 else 0)
    probe = statements["probe"]
    if core.store.dialect == "sqlite":
        taken: list[tuple[Any, ...]] = []
        if aged:
            oldest = [
                row
                for queue, priority in pairs
                for row in probe.rows(conn, queue=queue, priority=priority, now=now, count=aged)
            ]
            taken = sorted(oldest, key=itemgetter(DUE))[:aged]
        for queue, priority in pairs:
            if len(taken) >= count:
                break
            # Rows taken by age come up again: ask for as many more.
            limit = count - len(taken) + aged
            taken = _joined(taken, probe.rows(conn, queue=queue, priority=priority, now=now, count=limit), count)
        return taken
    probes = {"queues": array([q for q, _ in pairs]), "priorities": array([p for _, p in pairs]), "now": now}
    oldest = statements["oldest"].rows(conn, **probes, count=aged) if aged else []
    # A row that this transaction has locked is not skipped, so those taken by age come up again here too.
    return _joined(oldest, probe.rows(conn, **probes, count=count + aged), count)


def _joined(first: list[tuple[Any, ...]], then: Iterable[tuple[Any, ...]], count: int) -> list[tuple[Any, ...]]:
    """The first ones, and of the others so many that they are `count`, none of them twice."""
    known = {row[0].int for row in first}  # to hash an id itself takes three times as long
    return [*first, *islice((row for row in then if row[0].int not in known), count - len(first))]


def anything_ready(core: Core, conn: sa.Connection, now: Micros, queues: Sequence[str]) -> bool:
    """Whether a claim would find something; needs no lock."""
    held = frozenset(machine for (machine,) in HELD.rows(conn))
    if EVERYTHING in held:
        return False
    anything = core.without(held)["any"]
    pairs = [(queue, priority) for priority in PRIORITIES for queue in queues]
    if core.store.dialect == "sqlite":
        return any(anything.first(conn, queue=queue, priority=priority, now=now) for queue, priority in pairs)
    probes = {"queues": array([q for q, _ in pairs]), "priorities": array([p for _, p in pairs]), "now": now}
    return anything.first(conn, **probes) is not None
