"""The states in which instances end or stay as failed.

Read from the definitions in the database, not from this process's code: the roller adds up the history of every
machine, including those that only other processes serve.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from interlock.engine.values import readable
from interlock.store.tables import definition as D


@dataclass(frozen=True, slots=True)
class Endings:
    """Sets of states, each written `machine/state`."""

    final: frozenset[str]
    failed: frozenset[str]
    quiet: frozenset[str]
    """Failure states that the system never leaves: an instance moved there by hand stays."""


_KNOWN: dict[str, Mapping[str, tuple[str, bool]]] = {}  # by the definition's digest, so never stale


def endings(conn: sa.Connection) -> Endings:
    rows = conn.execute(sa.select(D.c.machine, D.c.digest).order_by(D.c.version)).all()
    new = {row.digest for row in rows} - set(_KNOWN)
    if new:
        for digest, spec in conn.execute(sa.select(D.c.digest, D.c.spec).where(D.c.digest.in_(new))):
            _KNOWN[digest] = _read(readable(spec))
    kinds: dict[str, tuple[str, bool]] = {}
    for row in rows:  # a later version overrides an earlier one
        kinds.update({f"{row.machine}/{state}": kind for state, kind in _KNOWN.get(row.digest, {}).items()})
    return Endings(
        frozenset(name for name, (kind, _) in kinds.items() if kind == "final"),
        frozenset(name for name, (kind, _) in kinds.items() if kind == "failed"),
        frozenset(name for name, (kind, retried) in kinds.items() if kind == "failed" and not retried),
    )


def _read(spec: Mapping[str, Any]) -> dict[str, tuple[str, bool]]:
    """The kind of each state, and whether the system retries instances in it."""
    try:
        failures = spec["failures"]
        retried = {
            way["from"]
            for way in spec["transitions"]
            if way["from"] == failures["state"] and way["event"] == failures["retry"] and "system" in way["by"]
        }
        return {state["name"]: (state["kind"], state["name"] in retried) for state in spec["states"]}
    except (KeyError, TypeError):  # an edited row; the other versions are still usable
        return {}
