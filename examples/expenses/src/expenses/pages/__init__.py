"""How receipts look to people: the page of all payments, and what a reviewer sees of one receipt."""

from __future__ import annotations

from dataclasses import dataclass

import sqlalchemy as sa
from fastapi import APIRouter
from fastapi.responses import Response
from interlock.dashboard.site import Reader, bring, render
from interlock.dashboard.views import Block, View, ViewContext
from interlock.engine import Instance, OpenReview

from expenses.machine import receipt
from expenses.models import Receipt, money
from expenses.tables import payment

bring("expenses", "expenses.pages", static=None)
router = APIRouter(include_in_schema=False)


@dataclass(frozen=True, slots=True)
class ReceiptView(View):
    """A receipt on the pages of the dashboard."""

    def title(self, instance: Instance) -> str:
        return f"{instance.data['shop']}, {money(instance.data['cents'])}"

    def summary(self, review: OpenReview, instance: Instance) -> str:
        return f"{instance.data['employee']} spent {money(instance.data['cents'])} at {instance.data['shop']}"

    def links(self, instance: Instance) -> list[tuple[str, str]]:
        return [("All payments", "/ui/expenses")]

    def evidence(self, context: ViewContext) -> list[Block]:
        data = Receipt.model_validate(context.instance.data)
        rows = [
            ("employee", data.employee, None),
            ("shop", data.shop, None),
            ("amount", money(data.cents), None),
            ("category", data.category or "not known yet", None),
            ("payment", data.payment or "not paid yet", None),
        ]
        return [Block("Receipt", rows=rows)]


views = {receipt.name: ReceiptView()}


@router.get("/ui/expenses")
async def payments(v: Reader) -> Response:
    """The newest payments of the workspaces that the reader may see."""
    query = (
        sa.select(payment)
        .where(payment.c.workspace.in_(sorted(v.workspaces)))
        .order_by(payment.c.paid_at.desc())
        .limit(100)
    )
    rows = await v.service.read(lambda conn: conn.execute(query).all())
    return await render(v, "expenses/payments.html", payments=rows, money=money)
