"""The ledger: one row for each payment, written in the transaction that makes the receipt paid."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa
from interlock import Actor, Edge, Engine, Instance, OpenReview
from interlock.engine.application import Unit

from expenses.machine import PAID, receipt
from expenses.tables import payment

DAY = 24 * 3600 * 1_000_000


@receipt.entering(PAID)
def enter(unit: Unit, instance: Instance, edge: Edge, actor: Actor) -> None:
    """Write the payment down."""
    data = instance.data
    audited = data["cents"] > unit.setting("expenses").audit_above
    unit.insert(
        payment,
        instance_id=instance.id,
        workspace=instance.workspace,
        employee=data["employee"],
        account=data["account"],
        cents=data["cents"],
        paid_at=unit.now,
        audit="open" if audited else "none",
    )


@receipt.decided("audit")
def audited(unit: Unit, instance: Instance, review: OpenReview, actor: Actor) -> None:
    """Write down what the audit found."""
    mine = payment.c.instance_id == instance.id
    unit.conn.execute(sa.update(payment).where(mine).values(audit=review.decision))


def mark_overdue(engine: Engine) -> bool:
    """Mark audits that nobody made in time. A duty calls it every hour."""
    days: int = engine.setting("expenses").audit_days

    def job(unit: Unit) -> int:
        late = sa.and_(payment.c.audit == "open", payment.c.paid_at <= unit.now - days * DAY)
        return unit.conn.execute(sa.update(payment).where(late).values(audit="overdue")).rowcount

    engine.write(job, name="mark_overdue")
    return False


def totals(conn: sa.Connection, workspace: str | None = None) -> Sequence[sa.Row[Any]]:
    """The sum of the payments to each employee, the largest first."""
    total = sa.func.sum(payment.c.cents)
    query = sa.select(payment.c.employee, sa.func.count().label("payments"), total.label("cents"))
    if workspace is not None:
        query = query.where(payment.c.workspace == workspace)
    return conn.execute(query.group_by(payment.c.employee).order_by(total.desc())).all()


def audits(conn: sa.Connection) -> dict[str, int]:
    """How many payments there are by what became of their audit."""
    query = sa.select(payment.c.audit, sa.func.count().label("payments")).group_by(payment.c.audit)
    return {row.audit: row.payments for row in conn.execute(query)}
