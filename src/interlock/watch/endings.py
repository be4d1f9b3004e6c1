"""Where instances rest: which states end a life, and which hold what was given up.

Taken from the definitions in the database, not from this process's code: whoever adds up the history adds up that
of every machine, also of those that only other processes serve.
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
    """States as `machine/state`."""

    final: frozenset[str]
    failed: frozenset[str]
    quiet: frozenset[str]
    """States for failures that nothing leaves by itself: whatever is sent there by hand rests."""


_KNOWN: dict[str, Mapping[str, tuple[str, bool]]] = {}  # by the digest of a definition, so it never gets old


def endings(conn: sa.Connection) -> Endings:
    rows = conn.execute(sa.select(D.c.machine, D.c.digest).order_by(D.c.version)).all()
    new = {row.digest for row in rows} - set(_KNOWN)
    if new:
        for digest, spec in conn.execute(sa.select(D.c.digest, D.c.spec).where(D.c.digest.in_(new))):
            _KNOWN[digest] = _read(readable(spec))
    kinds: dict[str, tuple[str, bool]] = {}
    for row in rows:  # a later version knows better
        kinds.update({f"{row.machine}/{state}": kind for state, kind in _KNOWN.get(row.digest, {}).items()})
    return Endings(
        frozenset(name for name, (kind, _) in kinds.items() if kind == "final"),
        frozenset(name for name, (kind, _) in kinds.items() if kind == "failed"),
        frozenset(name for name, (kind, retried) in kinds.items() if kind == "failed" and not retried),
    )


def _read(spec: Mapping[str, Any]) -> dict[str, tuple[str, bool]]:
    """The kind of each state, and whether the system tries again what is sent there."""
    try:
        failures = spec["failures"]
        retried = {
            way["from"]
            for way in spec["transitions"]
            if way["from"] == failures["state"] and way["event"] == failures["retry"] and "system" in way["by"]
        }
        return {state["name"]: (state["kind"], state["name"] in retried) for state in spec["states"]}
    except (KeyError, TypeError):  # a row that somebody edited; the other versions are known all the same
        return {}
