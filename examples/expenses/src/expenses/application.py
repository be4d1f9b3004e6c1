"""What this package brings to Interlock. The entry point in pyproject.toml names `registry`."""

from __future__ import annotations

from datetime import timedelta

from interlock import Application, Duty, Personal, Registry

from expenses import ledger, steps  # noqa: F401 - registers handlers and followers
from expenses.machine import receipt
from expenses.settings import ExpenseSettings

application = Application(
    "expenses",
    machines=[receipt],
    settings=ExpenseSettings,
    duties=[Duty("expenses_overdue", timedelta(hours=1), ledger.mark_overdue)],
    tables="expenses.tables:metadata",
    migrations="expenses.migrations",
    personal=[Personal("expenses_payment", ["employee", "account"], erase="empty")],
    views="expenses.pages:views",
    routers=["expenses.api:router", "expenses.pages:router"],
    commands="expenses.commands:app",
    demo="expenses.demo:parts",
    alerts="expenses.monitoring:rules",
    metrics="expenses.monitoring:metrics",
    docs="expenses.docs",
)
registry = Registry([application])
