"""Metrics of this application, and the alert rules that use them."""

from __future__ import annotations

import sqlalchemy as sa
from interlock.watch.rules import Rule

from expenses import ledger


def metrics(conn: sa.Connection, now: int) -> dict[str, float]:
    """The metrics `interlock_expenses_…` of /metrics; alert rules name them `expenses.…`."""
    audits = ledger.audits(conn)
    return {
        "paid_cents": sum(one.cents for one in ledger.totals(conn)),
        "audits_open": audits.get("open", 0),
        "audits_overdue": audits.get("overdue", 0),
    }


rules = [Rule(name="expenses_audits_overdue", metric="expenses.audits_overdue", op=">", threshold=0)]
