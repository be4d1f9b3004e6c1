"""Contracts that were written for measuring, as an evaluation takes them."""

from __future__ import annotations

import hashlib
from datetime import date
from pathlib import Path

import yaml  # type: ignore[import-untyped]

from interlock.apps.contracts.fields.calibration import Calibration, Table, shipped_table
from interlock.apps.contracts.fields.confidence import assess
from interlock.apps.contracts.fields.evaluate import JudgedDocument, Report, judge, summed
from interlock.apps.contracts.fields.vertical import Vertical, shipped
from interlock.apps.contracts.reading.document import Document, Page
from tests.apps.contracts.written.commercial import Written

LATER = date(2100, 1, 1)
ANSWERS = {
    "parties": "Parties",
    "agreement": "Agreement Date",
    "effective": "Effective Date",
    "expiration": "Expiration Date",
    "law": "Governing Law",
}


def apart() -> list[Written]:
    """Contracts in the untidy ways of real ones; what they found wrong at first is written in their file."""
    found = yaml.safe_load((Path(__file__).parent / "apart.yaml").read_text("utf-8"))
    return [
        Written(one["name"], one["text"].replace("\n<page>\n", "\f"), {ANSWERS[k]: one[k] for k in ANSWERS})
        for one in found
    ]


def document(text: str) -> Document:
    return Document("text/plain", tuple(Page(number, page) for number, page in enumerate(text.split("\f"), 1)))


def judged(vertical: Vertical, written: list[Written], table: Table) -> list[JudgedDocument]:
    """Each contract against its answers, by the table without it where the table has it."""
    columns = {column for one in written for column in one.answers}
    found = []
    for one in written:
        digest = hashlib.sha256((one.form or one.text).encode()).hexdigest()[:16]
        read = document(one.text)
        own = Calibration(table.without(digest) if table.knows(digest) else table)
        row = {f"{column}-Answer": one.answers.get(column, "") for column in columns}
        found.append(judge(vertical, assess(read, vertical, today=LATER, calibration=own), row, read, one.name, digest))
    return found


def measured(vertical: str, written: list[Written], table: Table | None = None) -> Report:
    definition = shipped()[vertical]
    table = table or shipped_table(vertical)
    return summed(definition, table.version, judged(definition, written, table))
