"""Contracts that were written for measuring, as an evaluation takes them."""

from __future__ import annotations

import hashlib
from pathlib import Path

import yaml  # type: ignore[import-untyped]

from interlock.apps.contracts.fields.calibration import Table, shipped_table
from interlock.apps.contracts.fields.evaluate import Read, read_one, states
from interlock.apps.contracts.fields.judging import JudgedDocument
from interlock.apps.contracts.fields.measures import Report, summed
from interlock.apps.contracts.fields.vertical import Vertical, shipped
from interlock.apps.contracts.reading.document import Document, Page
from tests.apps.contracts.written.commercial import Written

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


def read_written(vertical: Vertical, written: list[Written]) -> list[Read]:
    """Each contract by the rules; those of one form share a hash, so that they are left out together."""
    columns = {column for one in written for column in one.answers}
    found = []
    for one in written:
        digest = hashlib.sha256((one.form or one.text).encode()).hexdigest()[:16]
        row = {f"{column}-Answer": one.answers.get(column, "") for column in columns}
        found.append(read_one(vertical, document(one.text), row, one.name, digest))
    return found


def judged(vertical: Vertical, written: list[Written], table: Table) -> list[JudgedDocument]:
    """Each contract against its answers, by the calibration without its form where that has it."""
    return states(vertical, read_written(vertical, written), table)


def measured(vertical: str, written: list[Written], table: Table | None = None) -> Report:
    definition = shipped()[vertical]
    table = table or shipped_table(vertical)
    return summed(definition, table.version, judged(definition, written, table))
