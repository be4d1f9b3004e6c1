"""The work in each state. A worker calls these functions; each returns the next move."""

from __future__ import annotations

from datetime import timedelta

from interlock import Ask, AsyncTask, Effect, Go, Outcome, Task

from expenses.machine import APPROVAL, ASK_CATEGORY, AUDIT, CHECKING, PAID, PAYING, REJECTED, receipt
from expenses.models import Receipt, money
from expenses.settings import ExpenseSettings


@receipt.work(CHECKING)
async def check(task: AsyncTask[Receipt]) -> Outcome:
    """Ask for the category if nobody named one, then apply the limits."""
    settings: ExpenseSettings = await task.setting("expenses")
    category = task.data.category
    if category is None and task.data.cents <= settings.refuse_above:
        answer = await task.ask(
            "category",
            ASK_CATEGORY,
            deadline=timedelta(hours=settings.answer_hours),
            default="answer",
            default_form={"category": "other"},
            evidence={"shop": task.data.shop, "cents": task.data.cents},
        )
        category = answer.form["category"]
    return checked(task.data.cents, category, settings)


def checked(cents: int, category: str | None, settings: ExpenseSettings) -> Outcome:
    """The rules: large receipts go to a person, very large ones nowhere."""
    if cents > settings.refuse_above:
        return Go(REJECTED, reason=f"above the limit of {money(settings.refuse_above)}")
    to = APPROVAL if cents > settings.approve_above else PAYING
    return Go(to, data={"category": category})


@receipt.work(PAYING)
def pay(task: Task[Receipt]) -> Outcome:
    """Pay the receipt at most once, also after a crash. Large payments are compared with the paper afterwards."""
    settings: ExpenseSettings = task.setting("expenses")
    data = task.data
    number = task.once("payment", {"account": data.account, "cents": data.cents}, transfer)
    asks = (Ask("audit", AUDIT, {"payment": number}),) if data.cents > settings.audit_above else ()
    return Go(PAID, data={"payment": number}, asks=asks)


def transfer(effect: Effect) -> str:
    """Order the payment. A real one calls the bank here, with `effect.key` as its idempotency key."""
    return f"P-{str(effect.id)[-8:]}"
