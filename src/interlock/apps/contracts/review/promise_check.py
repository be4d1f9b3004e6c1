"""Compares the stated confidence of contracts approved without a person with the blind sample that people read.

An alert opens when the score says more than the last hundred samples allow: "stated 90 %, seen 76 % in the last 100".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

import sqlalchemy as sa

from interlock.apps.contracts.fields.calibration_errors import interval
from interlock.apps.contracts.fields.vertical import shipped
from interlock.apps.contracts.machine import contract
from interlock.apps.contracts.review.blind_sample import DONE, NAME
from interlock.apps.contracts.tables import contract_label as L
from interlock.engine import reviews
from interlock.engine.application import find
from interlock.watch.rules import Rule

LAST = 100
FEWEST = 20
"""The least number of samples for a statement."""

rules = [Rule(name="contracts_promise", metric="contracts.promise_gap", op=">", threshold=0)]


@dataclass(frozen=True, slots=True)
class PromiseCheck:
    """The last samples: how many, what their scores say together, and how many were right."""

    samples: int
    stated: float
    right: int

    @property
    def gap(self) -> float:
        """Percentage points by which the scores say more than the samples allow, nine times in ten; else 0."""
        if self.samples < FEWEST:
            return 0.0
        return max(100 * (self.stated - interval(self.right, self.samples)[1]), 0.0)

    def __str__(self) -> str:
        seen = self.right / self.samples if self.samples else 0.0
        return f"stated {100 * self.stated:.0f} %, seen {100 * seen:.0f} % in the last {self.samples}"


def last_samples(conn: sa.Connection) -> PromiseCheck:
    """The last blind samples whose required fields were all judged."""
    read = reviews.decided(conn, reviews.ReviewFilter(machine=contract.name, name=NAME, decision=DONE), limit=LAST)
    judged = _judged(conn, [one.instance_id for one in read])
    stated, right, samples = 0.0, 0, 0
    for one in read:
        instance = find(conn, one.instance_id, machine=contract.name)
        fields = judged.get(one.instance_id, {})
        if instance is None or instance.erased or instance.data.get("final_confidence") is None:
            continue
        vertical = shipped().get(instance.data["vertical"])
        required = [f.name for f in vertical.required] if vertical is not None else list(fields)
        if not required or any(name not in fields for name in required):
            continue  # not learned yet, or an answer was unclear
        samples += 1
        stated += instance.data["final_confidence"] / 100
        right += all(fields[name] for name in required)
    return PromiseCheck(samples, stated / samples if samples else 0.0, right)


def metrics(conn: sa.Connection, now: int) -> dict[str, float]:
    """The metrics `interlock_contracts_…`: the last blind samples, what was promised for them, and what was seen."""
    found = last_samples(conn)
    return {
        "promise_samples": float(found.samples),
        "promise_stated": found.stated,
        "promise_seen": found.right / found.samples if found.samples else 0.0,
        "promise_gap": found.gap,
    }


def _judged(conn: sa.Connection, ids: Sequence[UUID]) -> dict[UUID, dict[str, bool]]:
    rows = conn.execute(sa.select(L.c.instance_id, L.c.field, L.c.was_right).where(L.c.instance_id.in_(ids))).all()
    found: dict[UUID, dict[str, bool]] = {}
    for row in rows:
        found.setdefault(row.instance_id, {})[row.field] = bool(row.was_right)
    return found
