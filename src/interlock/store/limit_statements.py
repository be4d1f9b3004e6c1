"""Statements on limits, each for all keys of a batch at once."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa

from interlock.store import tables as t
from interlock.store.prepared import Prepared

K, U, S = t.limit_key.c, t.limit_use.c, t.limit_slot.c


def _given(dialect: str) -> str:
    """The keys of the statement (`one_of`) as rows."""
    return "unnest(CAST(:keys AS text[])) AS given (key)" if dialect == "postgresql" else "_given AS given"


def _with(dialect: str, text: str) -> str:
    named = "" if dialect == "postgresql" else "WITH _given (key) AS (SELECT value FROM json_each(:keys)) "
    return named + text


def _use_counts(dialect: str) -> Any:
    """One probe of the index for each key, whatever the statistics say: a subquery of a column is not joined."""
    mine = "FROM limit_use WHERE limit_use.key = given.key"
    text = f"SELECT given.key, (SELECT count(*) {mine} AND at > :since), (SELECT min(at) {mine}) FROM {_given(dialect)}"
    columns = U.key, sa.Column("used", sa.BigInteger), sa.Column("oldest", sa.BigInteger)
    return sa.text(_with(dialect, text)).columns(*columns)


def _uses(dialect: str) -> Any:
    if dialect == "postgresql":
        of_one = "LATERAL (SELECT at, instance_id FROM limit_use WHERE limit_use.key = given.key) AS one"
        text = f"SELECT given.key, one.at, one.instance_id FROM {_given(dialect)}, {of_one}"
    else:
        joined = "CROSS JOIN limit_use ON limit_use.key = given.key"
        text = f"SELECT given.key, limit_use.at, limit_use.instance_id FROM {_given(dialect)} {joined}"
    return sa.text(_with(dialect, text)).columns(U.key, U.at, U.instance_id)


def _holders(dialect: str) -> Any:
    if dialect == "postgresql":
        of_one = "LATERAL (SELECT instance_id FROM limit_slot WHERE limit_slot.key = given.key) AS one"
        text = f"SELECT given.key, one.instance_id FROM {_given(dialect)}, {of_one}"
    else:
        joined = "CROSS JOIN limit_slot ON limit_slot.key = given.key"
        text = f"SELECT given.key, limit_slot.instance_id FROM {_given(dialect)} {joined}"
    return sa.text(_with(dialect, text)).columns(S.key, S.instance_id)


def _waited_for(dialect: str) -> Any:
    waits = "FROM instance WHERE wake = 'blocked' AND blocked_on = given.key LIMIT 1"
    if dialect == "postgresql":
        text = f"SELECT given.key FROM {_given(dialect)}, LATERAL (SELECT 1 {waits}) AS one"
    else:
        text = f"SELECT given.key FROM {_given(dialect)} WHERE EXISTS (SELECT 1 {waits})"
    return sa.text(_with(dialect, text)).columns(K.key)


def _among(dialect: str, name: str, kind: str) -> str:
    if dialect == "postgresql":
        return f"= ANY(CAST(:{name} AS {kind}[]))"
    return f"IN (SELECT value FROM json_each(:{name}))"


def _free_slots(dialect: str) -> Any:
    which = _among(dialect, "ids", "uuid")
    return sa.text(f"DELETE FROM limit_slot WHERE instance_id {which} RETURNING key").columns(S.key)


def _old_uses(dialect: str) -> Any:
    return sa.text(f"DELETE FROM limit_use WHERE key {_among(dialect, 'keys', 'text')} AND at <= :since")


ADD_KEYS = Prepared(
    sa.text(f"INSERT INTO limit_key (key) SELECT key FROM {_given('postgresql')} ORDER BY key ON CONFLICT DO NOTHING")
)
"""Add those of the keys that are not there. For PostgreSQL: SQLite has one writer, and locks no keys."""
LOCK_KEYS = Prepared(
    sa.text("SELECT key FROM limit_key WHERE key = ANY(CAST(:keys AS text[])) ORDER BY key FOR UPDATE").columns(K.key)
)
"""Lock the keys in their order. For PostgreSQL."""
USE_COUNTS = Prepared(_use_counts)
"""Of each key: how many uses there are after `since`, and when the oldest of all was."""
USES = Prepared(_uses)
"""The uses of the keys."""
OLD_USES = Prepared(_old_uses)
"""Remove the uses of the keys up to `since`."""
HOLDERS = Prepared(_holders)
"""The instances that have slots of the keys."""
FREE_SLOTS = Prepared(_free_slots)
"""Remove the slots of the instances with these `ids` (`one_of`). Returns the key of each slot."""
WAITED_FOR = Prepared(_waited_for)
"""Those of the keys that an instance waits for."""
