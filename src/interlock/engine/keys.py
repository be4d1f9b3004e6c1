"""Finds and locks many instances by their keys."""

from __future__ import annotations

from collections.abc import Sequence

from interlock.engine.instance import Instance
from interlock.engine.text import erased_key
from interlock.engine.unit import Unit
from interlock.store.sql import LOCK_BY_KEY, TAKEN_KEYS, one_of


def lock_by_keys(unit: Unit, workspace: str, machine: str, keys: Sequence[str]) -> list[Instance]:
    """The instances with these keys, locked in the order of the keys."""
    wanted = one_of(unit.conn, sorted(set(keys)))
    return unit.adopt(LOCK_BY_KEY.rows(unit.conn, workspace=workspace, machine=machine, keys=wanted))


def find_free(unit: Unit, workspace: str, machine: str, keys: Sequence[str]) -> set[str]:
    """Which of the keys are free. Creating an instance with one of them in this transaction then needs no query."""
    wanted = set(keys)
    erased = {erased_key(key): key for key in wanted}
    found = TAKEN_KEYS.rows(
        unit.conn,
        workspace=workspace,
        machine=machine,
        keys=one_of(unit.conn, list(wanted)),
        kept=one_of(unit.conn, [*wanted, *erased]),
    )
    free = wanted - {erased.get(key, key) for (key,) in found}
    unit.free_keys |= {(workspace, machine, key) for key in free}
    return free
