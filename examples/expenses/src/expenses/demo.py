"""The part of this application in the demo: people submit receipts, and two of them approve the large ones."""

from __future__ import annotations

import random
from uuid import UUID

from interlock import Engine, Instance
from interlock.demo import IVO, MARA, Part, Scene

from expenses.machine import APPROVAL, CHECKING, PAYING, receipt
from expenses.steps import checked, pay

SHOPS = (("Café Nord", "meals"), ("Harbour Hotel", "travel"), ("Paper & Pen", "equipment"), ("Night Train", "travel"))
EMPLOYEES = (("Bo Lind", "NO9386011117947"), ("Ada Moen", "NO8330001234567"), ("Kai Berg", "NO5015032080119"))


def begin(engine: Engine, rng: random.Random, fate: str) -> UUID:
    """Submit a receipt; the fate `large` is one that a person has to approve."""
    (employee, account), (shop, category) = rng.choice(EMPLOYEES), rng.choice(SHOPS)
    cents = rng.randint(200_00, 900_00) if fate == "large" else rng.randint(3_00, 160_00)
    data = {"employee": employee, "account": account, "shop": shop, "cents": cents, "category": category}
    return engine.create(receipt.name, data, actor=MARA).id


def react(engine: Engine, instance: Instance, rng: random.Random) -> None:
    """Decide what waits: most receipts are approved."""
    for review in engine.reviews.waiting(instance_id=instance.id):
        decision = "approve" if rng.random() < 0.9 else "reject"
        engine.reviews.decide(review.id, decision, actor=rng.choice((MARA, IVO)))


def parts() -> list[Part]:
    return [
        Part(
            "expenses",
            acts={
                receipt.name: {
                    CHECKING: lambda task, _: checked(task.data.cents, task.data.category, task.setting("expenses")),
                    PAYING: lambda task, _: pay(task),
                }
            },
            begin=begin,
            react=react,
            waiting={(receipt.name, APPROVAL): 2},
            scenes=(Scene("large", 5, left=True), Scene("large", 2)),
        )
    ]
