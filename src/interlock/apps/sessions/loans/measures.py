"""Metrics and alert rules of sandboxes: `interlock_sessions_…` at `/metrics`, `sessions.…` in rules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

import sqlalchemy as sa

from interlock.apps.sessions.allocator import operations, pool, waiting_line
from interlock.apps.sessions.loans.reconciling import drifts
from interlock.apps.sessions.machine import STUCK, loan
from interlock.engine.application import instances
from interlock.store import Micros

MOST = 1000


def metrics(conn: sa.Connection, now: Micros) -> dict[str, float]:
    """Counts of all pools together; free + borrowed + in return + quarantined is always the total."""
    found = pool.all_counts(conn)
    return {
        **{
            f"sandboxes_{name}": float(sum(getattr(one, name) for one in found))
            for name in ("free", "borrowed", "in_return", "quarantined", "total")
        },
        "sandboxes_waited_for": float(waiting_line.waiting(conn)),
        "sandbox_drift": float(len(drifts(conn, now))),
        "loans_stuck": float(len(instances(conn, loan.name, states=(STUCK,), limit=MOST))),
        "sandbox_operations_pending": float(_pending(conn)),
    }


def _pending(conn: sa.Connection) -> int:
    by_status = operations.counted(conn)
    return by_status[operations.PENDING] + by_status[operations.IN_PROGRESS]


alerts: Sequence[Mapping[str, Any]] = (
    {"name": "sessions_sandbox_drift", "metric": "sessions.sandbox_drift", "op": ">", "threshold": 0},
    {
        "name": "sessions_sandboxes_quarantined",
        "metric": "sessions.sandboxes_quarantined",
        "op": ">",
        "threshold": 0,
        "for": timedelta(minutes=10),
    },
    {"name": "sessions_loans_stuck", "metric": "sessions.loans_stuck", "op": ">", "threshold": 0},
)
