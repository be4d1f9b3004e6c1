"""Contracts: scans of agreements, read by something that is sometimes unsure, and checked by people."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any
from uuid import UUID

from interlock.ai.calls import Ended, Question, note
from interlock.ai.prices import nanos
from interlock.apps.contracts.errors import NotRetryable
from interlock.apps.contracts.machine import (
    COMPARING,
    COMPLETED,
    EXTRACTING,
    PARSING_PDF,
    REVIEW_REQUIRED,
    VALIDATED,
    VALIDATING,
    contract,
)
from interlock.apps.contracts.models import Contract
from interlock.apps.demo import papers
from interlock.apps.demo.part import IVO, MARA, Pace, Part, Scene
from interlock.engine import Engine, Instance
from interlock.machine import USER, Actor, Go, Message, Outcome, WorkError
from interlock.store import SECOND
from interlock.worker import Task

SUPPLIERS = ("Nordwind Energie GmbH", "Aurora Power Ltd", "Rheinstrom AG", "Solveig Kraft AS", "Tidewater Gas plc")
CUSTOMERS = ("Bakery Lindqvist", "Harbour Cold Storage", "Atelier Moreau", "Kessler Printing", "Olive & Thyme Ltd")
FIRMS = ("Brightwater Systems", "Castell Logistics", "Dunmore Analytics", "Ferro Castings", "Granite Law LLP")
LAWS = ("Germany", "England and Wales", "the State of New York", "France", "Denmark")
INBOX = Actor(USER, "owner")
SURE = 80


class ScanUnreadable(WorkError):
    """No words were found on the pages."""


class ModelBusy(WorkError):
    """The model did not take the question; it may the next time."""


@dataclass(frozen=True, slots=True)
class Terms:
    """What an agreement says; the same at every step."""

    fields: dict[str, str]
    quotes: dict[str, str]

    @property
    def lines(self) -> list[str]:
        return ["AGREEMENT", "", *self.quotes.values(), "", "Signed by both parties."]


def terms(contract_id: UUID, vertical: str) -> Terms:
    luck = random.Random(contract_id.int)  # noqa: S311 - only the demo's
    signed = date(2025, 1, 6) + timedelta(days=luck.randrange(400))
    if vertical == "energy":
        supplier, customer = luck.choice(SUPPLIERS), luck.choice(CUSTOMERS)
        price, volume = f"{luck.uniform(0.11, 0.31):.4f} EUR/kWh", f"{luck.randrange(20, 900)} MWh"
        return Terms(
            {"supplier": supplier, "customer": customer, "unit_price": price, "annual_volume": volume,
             "start_date": signed.isoformat()},
            {"supplier": f'between {supplier} ("the Supplier")', "customer": f'and {customer} ("the Customer")',
             "unit_price": f"The price for each unit is {price}, without taxes.",
             "annual_volume": f"The Customer takes about {volume} in each year.",
             "start_date": f"Supply begins on {signed:%d %B %Y}."},
        )  # fmt: skip
    first, second = luck.sample(FIRMS, 2)
    law, fee = luck.choice(LAWS), f"EUR {luck.randrange(8, 240)},000"
    return Terms(
        {"parties": f"{first}; {second}", "agreement_date": signed.isoformat(), "governing_law": law, "fee": fee},
        {"parties": f"This Agreement is made between {first} and {second}",
         "agreement_date": f"and is dated {signed:%d %B %Y}.",
         "governing_law": f"It is governed by the laws of {law}.", "fee": f"The fee for the first year is {fee}."},
    )  # fmt: skip


def begin(engine: Engine, luck: random.Random, fate: str) -> UUID:
    number = luck.randrange(36**5)
    vertical = "energy" if luck.random() < 0.45 else "commercial"
    names = {"unreadable": "scan-unreadable", "huge": "data-room-everything", "unsure": f"handwritten-{vertical}"}
    name = names.get(fate, f"{vertical}-agreement")
    return engine.create(
        contract.name,
        {"filename": f"{name}-{number % 1000:03}.pdf", "vertical": vertical, "compare_with": f"{vertical}-standard"},
        key=f"C-{number:08}",
        labels={"vertical": vertical},
        actor=INBOX,
    ).id


def parse(task: Task[Contract], luck: random.Random) -> Outcome:
    if "everything" in task.data.filename:
        raise NotRetryable(f"{task.data.filename} has 61 MB; at most 50 MB are read")
    if "unreadable" in task.data.filename or (luck.random() < 0.03 and task.attempt == 1):
        raise ScanUnreadable(f"no words were found on page {luck.randint(1, 3)} of {task.data.filename}")
    agreed = terms(task.id, task.data.vertical)
    kept = task.keep(task.data.filename, papers.pdf(agreed.lines), media_type="application/pdf")
    text = task.keep("text.txt", "\n".join(agreed.lines).encode(), media_type="text/plain")
    return Go(EXTRACTING, data={"pdf": kept, "text": text})


def extract(task: Task[Contract], luck: random.Random) -> Outcome:
    if luck.random() < 0.04:
        raise ModelBusy("the model answered 529: overloaded", retry_after=timedelta(seconds=20))
    agreed = terms(task.id, task.data.vertical)
    doubtful = luck.choice(list(agreed.fields)) if _by_hand(task.data) or luck.random() < 0.3 else ""

    def answer() -> dict[str, Any]:
        sure = {name: luck.uniform(*(0.52, 0.74) if name == doubtful else (0.965, 0.998)) for name in agreed.fields}
        return {
            name: {"value": value, "quote": agreed.quotes[name], "page": 1, "confidence": round(sure[name], 3)}
            for name, value in agreed.fields.items()
        }

    asked = {"filename": task.data.filename, "fields": sorted(agreed.fields)}
    tokens = 900 + 40 * len(task.data.filename)
    call: dict[str, Any] = task.once(
        "model_call",
        asked,
        lambda _: {
            "model": "demo-model", "input_tokens": tokens, "output_tokens": 240, "cost": round(tokens * 3e-6, 5),
            "output": answer(),
        },
    )  # fmt: skip
    asked_for = Question(
        task.id, task.workspace, None, task.trace_id, "extract", "demo", "strong", "demo", "demo-model", 1, "", None
    )
    task.write(
        note,
        asked_for,
        Ended(
            "demo-model", input_tokens=call["input_tokens"], output_tokens=call["output_tokens"],
            cost=nanos(call["cost"]), took=tokens * SECOND // 500,
        ),
    )  # fmt: skip
    read = call["output"]
    task.keep("fields.json", json.dumps(read, indent=2).encode(), media_type="application/json")
    return Go(VALIDATING, data={"fields": read, "calibration": "demo"})


def _by_hand(data: Contract) -> bool:
    return data.filename.startswith("handwritten")


def validate(task: Task[Contract], luck: random.Random) -> Outcome:
    sure = 1.0
    for one in task.data.fields.values():
        sure *= one.confidence or 0.0
    problems = ["the end date lies before the start date"] if luck.random() < 0.06 else []
    found = {"final_confidence": round(100 * sure), "problems": problems}
    if round(100 * sure) >= SURE and not problems:
        return Go(VALIDATED, data=found)
    told = Message(
        "mail", "mara@demo.invalid", f"{task.data.filename} waits for you", {"contract": task.key or str(task.id)}
    )
    return Go(REVIEW_REQUIRED, data=found, reason=f"{round(100 * sure)} % sure, {SURE} % are needed", messages=(told,))


def compare(task: Task[Contract], luck: random.Random) -> Outcome:
    rows = [
        {"field": name, "standard": "as usual", "here": str(one.corrected or one.value), "differs": luck.random() < 0.2}
        for name, one in task.data.fields.items()
    ]
    kept = task.keep("comparison.json", json.dumps(rows, indent=2).encode(), media_type="application/json")
    told = Message("webhook", "ledger", "contract completed", {"contract": task.key or str(task.id)})
    return Go(COMPLETED, data={"comparison": kept}, messages=(told,) if luck.random() < 0.25 else ())


def react(engine: Engine, instance: Instance, luck: random.Random) -> None:
    fields: dict[str, Any] = instance.data["fields"]
    for review in engine.reviews.waiting(instance_id=instance.id):
        decision = luck.choices(("approve", "correct", "reject"), (6, 3, 1))[0]
        doubtful = min(fields, key=lambda name: fields[name]["confidence"] or 0.0)
        answers: dict[str, dict[str, Any]] = {
            "approve": {},
            "correct": {"corrections": {doubtful: f"{fields[doubtful]['value']} (as signed)"}},
            "reject": {"review_note": "this is an offer, nobody has signed it"},
        }
        engine.reviews.decide(review.id, decision, actor=luck.choice((MARA, IVO)), answer=answers[decision])


CONTRACTS = Part(
    "contracts",
    acts={contract.name: {PARSING_PDF: parse, EXTRACTING: extract, VALIDATING: validate, COMPARING: compare}},
    begin=begin,
    react=react,
    waiting={(contract.name, REVIEW_REQUIRED): 6},
    share=16,
    minutes=40,
    scenes=(
        Scene("unreadable", 7),
        Scene("huge", 3),
        Scene("unsure", 21, left=True),
        Scene("unsure", 13, left=True),
        Scene("unsure", 2, left=True),
    ),
    paces={
        (contract.name, PARSING_PDF): Pace(0.5, 2.0, ("reading the pages", "finding the words")),
        (contract.name, EXTRACTING): Pace(1.0, 3.0, ("asking the model", "reading its answer", "looking for quotes")),
    },
)
