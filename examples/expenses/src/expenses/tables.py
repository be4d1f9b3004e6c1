"""The table of this application: what was paid to whom."""

from __future__ import annotations

import sqlalchemy as sa
from interlock.store.columns import at, id_, new_metadata, number, text

metadata = new_metadata()
payment = sa.Table(
    "expenses_payment",
    metadata,
    id_("instance_id", primary=True),
    text("workspace"),
    text("employee"),
    text("account"),
    number("cents"),
    at("paid_at"),
    text("audit"),
    sa.Index("ix_expenses_payment_audit", "audit", "paid_at"),
)
"""`paid_at` is in microseconds since 1970, as Interlock keeps time. `audit`: none, open, agrees, differs or overdue."""
