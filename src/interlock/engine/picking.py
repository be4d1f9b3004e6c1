"""Picking: which ready rows a claim takes, and in what order.

Each queue and each of four priorities is probed by its oldest row, which the ready index answers without passing
over anything: one ordered scan over two million rows takes 69 ms, four probes take 0.03 ms. One slot in eight goes
by age alone, so that the last priority is late but never starves.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from interlock.store import Micros
from interlock.store.prepared import Prepared
from interlock.store.ready import POSITIONS, due_at
from interlock.store.service_tables import halt

if TYPE_CHECKING:
    from interlock.engine.core import Core

PRIORITIES = range(4)
BY_AGE = 8
EVERYTHING = "*"
"""The name under which all machines are halted."""
HALTED = Prepared(sa.select(halt.c.machine))
# The lock is on the table, too: see `halting`. It costs a claim 24 µs on SQLite, 100 on PostgreSQL.
HALTED_LOCKED = Prepared(sa.select(halt.c.machine).with_for_update(read=True, key_share=True))
_pair = itemgetter(POSITIONS["queue"], POSITIONS["priority"])


def wake_is(wake: str) -> sa.TextClause:
    """The condition on `wake`. SQLite uses the index on due times only if the statement has its exact condition."""
    return sa.text(f"wake IN ('lease', 'resume') AND wake = '{wake}'")


def pick(
    core: Core, conn: sa.Connection, now: Micros, queues: Sequence[str], count: int, turn: int, *, whole: bool = False
) -> list[tuple[Any, ...]]:
    """Up to `count` ready rows of machines that are not halted, locked: by priority, one in eight by age.

    `whole` rows have all columns after those of a ready row.
    """
    halted = frozenset(machine for (machine,) in HALTED_LOCKED.rows(conn))
    if EVERYTHING in halted:
        return []
    probes = core.probes_without(halted)
    start = turn % len(queues)
    rotated = [*queues[start:], *queues[:start]]
    pairs = [(queue, priority) for priority in PRIORITIES for queue in rotated]
    rows = probes.first(conn, pairs, now, count, whole=whole)
    aged = count // BY_AGE or (1 if turn % BY_AGE == 0 else 0)
    if len(rows) < count or not aged:
        return rows  # all that is ready
    # Of the pairs that were reached, the oldest are at hand; the others are asked for theirs.
    unreached = pairs[pairs.index(_pair(rows[-1])) + 1 :]
    oldest = probes.oldest(conn, unreached, now, aged, whole=whole) if unreached else []
    if not oldest:
        return rows
    first = sorted([*rows, *oldest], key=due_at)[:aged]
    known = {row[0].int for row in first}  # to hash an id itself takes three times as long
    return [*first, *islice((row for row in rows if row[0].int not in known), count - len(first))]


def anything_ready(core: Core, conn: sa.Connection, now: Micros, queues: Sequence[str]) -> bool:
    """Whether a claim would find something; needs no lock."""
    halted = frozenset(machine for (machine,) in HALTED.rows(conn))
    if EVERYTHING in halted:
        return False
    pairs = [(queue, priority) for priority in PRIORITIES for queue in queues]
    return core.probes_without(halted).anything(conn, pairs, now)
