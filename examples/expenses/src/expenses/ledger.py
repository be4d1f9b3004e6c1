"""The ledger: the receipts that were paid, and what became of their audits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import sqlalchemy as sa
from interlock import Actor, Engine, Instance, OpenReview
from interlock.engine.application import SYSTEM_ACTOR, Unit, change, instances

from expenses.machine import PAID, receipt

DAY = 24 * 3600 * 1_000_000
PAGE = 500


@receipt.decided("audit")
def audited(unit: Unit, instance: Instance, review: OpenReview, actor: Actor) -> None:
    """Write down what the audit found, in the transaction of its decision."""
    change(unit, unit.lock(instance.id), {"audit": review.decision}, actor)


def mark_overdue(engine: Engine) -> bool:
    """Mark audits that nobody made in time. A duty calls it every hour."""
    days: int = engine.setting("expenses").audit_days

    def job(unit: Unit) -> None:
        for one in paid(unit.conn):
            if one.data.get("audit") == "open" and one.entered_at <= unit.now - days * DAY:
                change(unit, unit.lock(one.id), {"audit": "overdue"}, SYSTEM_ACTOR)

    engine.write(job, name="mark_overdue")
    return False


def paid(conn: sa.Connection, workspace: str | None = None) -> Iterator[Instance]:
    """The receipts that were paid, the oldest first."""
    page = instances(conn, receipt.name, workspace=workspace, states=[PAID], limit=PAGE)
    while page:
        yield from page
        page = instances(conn, receipt.name, workspace=workspace, states=[PAID], after=page[-1].id, limit=PAGE)


@dataclass(slots=True)
class Total:
    """What one employee was paid."""

    employee: str
    payments: int = 0
    cents: int = 0


def totals(conn: sa.Connection, workspace: str | None = None) -> list[Total]:
    """The sum of the payments to each employee, the largest first. Receipts that were erased are left out."""
    found: dict[str, Total] = {}
    for one in paid(conn, workspace):
        if not one.erased:
            total = found.setdefault(one.data["employee"], Total(one.data["employee"]))
            total.payments += 1
            total.cents += one.data["cents"]
    return sorted(found.values(), key=lambda total: -total.cents)


def audits(conn: sa.Connection) -> Counter[str]:
    """How many payments there are by what became of their audit."""
    return Counter(one.data["audit"] for one in paid(conn) if not one.erased)
