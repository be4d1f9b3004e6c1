"""Instances by their keys, many at once.

The statements go from key to key, each one a probe of the unique index. Left to itself, a database whose statistics are
old, or that has none yet, goes through everything the workspace has.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa

from interlock.engine.instance import COLUMNS, Instance
from interlock.engine.text import hidden
from interlock.engine.unit import Unit
from interlock.store import tables as t
from interlock.store.prepared import Prepared, one_of

HERE = "workspace = :workspace AND machine = :machine AND {key} = given.{value}"


def _locked(dialect: str) -> Any:
    names = ", ".join(f"instance.{name}" for name in COLUMNS)
    if dialect == "postgresql":
        of_one = f"SELECT {names} FROM instance WHERE {HERE.format(key='unique_key', value='key')} FOR UPDATE"
        text = f"SELECT i.* FROM unnest(CAST(:keys AS text[])) AS given (key), LATERAL ({of_one}) AS i"
    else:
        here = HERE.format(key="unique_key", value="value")
        text = f"SELECT {names} FROM json_each(:keys) AS given CROSS JOIN instance ON {here}"
    return sa.text(text).columns(*t.instance.c)


def _taken(dialect: str) -> Any:
    """Keys that an instance has, or had when it was removed."""
    parts = []
    for table, column, keys in (("instance", "unique_key", ":keys"), ("kept_key", "key", ":kept")):
        if dialect == "postgresql":
            probe = f"SELECT 1 FROM {table} WHERE {HERE.format(key=column, value='key')} LIMIT 1"
            parts.append(f"SELECT given.key FROM unnest(CAST({keys} AS text[])) AS given (key), LATERAL ({probe}) AS i")
        else:
            here = HERE.format(key=f"{table}.{column}", value="value")
            parts.append(f"SELECT given.value FROM json_each({keys}) AS given CROSS JOIN {table} ON {here}")
    return sa.text(" UNION ALL ".join(parts)).columns(sa.Column("key", sa.Text))


LOCKED, TAKEN = Prepared(_locked), Prepared(_taken)


def locked(unit: Unit, workspace: str, machine: str, keys: Sequence[str]) -> list[Instance]:
    """Those who have these keys, locked in the order of the keys."""
    wanted = one_of(unit.conn, sorted(set(keys)))
    return unit.adopt(LOCKED.rows(unit.conn, workspace=workspace, machine=machine, keys=wanted))


def look_up(unit: Unit, workspace: str, machine: str, keys: Sequence[str]) -> set[str]:
    """Which of the keys are free; whoever creates an instance with one of them in this transaction need not ask."""
    wanted = set(keys)
    erased = {hidden(key): key for key in wanted}
    found = TAKEN.rows(
        unit.conn,
        workspace=workspace,
        machine=machine,
        keys=one_of(unit.conn, list(wanted)),
        kept=one_of(unit.conn, [*wanted, *erased]),
    )
    free = wanted - {erased.get(key, key) for (key,) in found}
    unit.vacant |= {(workspace, machine, key) for key in free}
    return free
