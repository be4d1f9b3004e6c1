"""What this package brings to Interlock. The entry point in pyproject.toml names `registry`."""

from __future__ import annotations

from datetime import timedelta

from interlock import Application, Duty, PageLink, Personal, Registry

from expenses.machine import receipt
from expenses.scopes import READ, SUBMIT
from expenses.settings import ExpenseSettings

application = Application(
    "expenses",
    machines=[receipt],
    handlers=["expenses.steps", "expenses.ledger"],
    settings=ExpenseSettings,
    duties=[Duty("expenses_overdue", timedelta(hours=1), "expenses.ledger:mark_overdue")],
    scopes=[SUBMIT, READ],
    tables="expenses.tables:metadata",
    migrations="expenses.migrations",
    personal=[Personal("expenses_payment", ["employee", "account"], erase="empty")],
    views="expenses.pages:views",
    routers=["expenses.api:router", "expenses.pages:router"],
    pages=[PageLink("Payments", "/ui/expenses")],
    starts=[PageLink("Submit a receipt", "/ui/machines/receipt/new", "member")],
    checks="expenses.host:checks",
    commands="expenses.commands:app",
    programs={"check-iban": "expenses.iban:check"},
    demo="expenses.demo:parts",
    alerts="expenses.monitoring:rules",
    metrics="expenses.monitoring:metrics",
    docs="expenses.docs",
)
registry = Registry([application])
