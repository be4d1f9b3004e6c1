"""A sample of automatically approved contracts is read by a person who does not see the machine's values.

Otherwise only hard cases would be counted. The contract does not wait for it; the answers are labels like those of a
review.
"""

from __future__ import annotations

import hashlib
import logging
from functools import partial
from typing import Any
from uuid import UUID

import sqlalchemy as sa
from pydantic import BaseModel, ConfigDict, Field, create_model

from interlock.apps.contracts.fields import calibration_store
from interlock.apps.contracts.fields.normalise import normalise
from interlock.apps.contracts.fields.vertical import Vertical
from interlock.apps.contracts.ingest import stored
from interlock.apps.contracts.machine import SAMPLE_WINDOW, contract
from interlock.apps.contracts.tables import contract_label as L
from interlock.engine import Engine, reviews
from interlock.engine.application import Unit
from interlock.machine import Actor, Ask, Review

log = logging.getLogger(__name__)
NAME = "blind_sample"
DONE, UNREADABLE = "done", "unreadable"
MOST = 10_000


def chosen(id: UUID, share: float) -> bool:
    """Choose by the id alone, so that a repeated step chooses the same."""
    return int.from_bytes(hashlib.sha256(id.bytes).digest()[:8]) < share * 2**64


def ask(vertical: Vertical) -> Ask:
    """A question for each required field, without the machine's values."""
    return Ask(
        NAME,
        Review(
            "A sample: what does this contract say?",
            decisions={DONE: "", UNREADABLE: ""},
            form=_form(vertical),
            due=SAMPLE_WINDOW,
        ),
    )


def _form(vertical: Vertical) -> type[BaseModel]:
    asked: dict[str, Any] = {
        one.name: (
            str,
            Field(
                "",
                max_length=2000,
                title=one.label,
                description=f"{one.help} Empty: the contract does not say.".strip(),
            ),
        )
        for one in vertical.required
    }
    made: type[BaseModel] = create_model(f"Sample{vertical.name}", __config__=ConfigDict(extra="forbid"), **asked)
    return made


def learn(engine: Engine) -> int:
    """Turn answers to samples into labels; returns the number of new contracts."""
    read = reviews.ReviewFilter(machine=contract.name, name=NAME, decision=DONE, not_of=sa.select(L.c.instance_id))
    found = engine.read(lambda conn: reviews.decided(conn, read, limit=MOST))
    return sum(engine.write(partial(_learn, review_id=one.id), name="calibrate") for one in found)


def _learn(unit: Unit, review_id: UUID) -> bool:
    from interlock.apps.contracts.steps import DEFAULTS, vertical_of  # only contracts have samples

    review = reviews.get(unit.conn, review_id)
    instance = unit.lock(review.instance_id)  # another process may run at the same time
    if unit.conn.execute(sa.select(L.c.id).where(L.c.instance_id == instance.id).limit(1)).first() is not None:
        return False
    vertical = vertical_of(instance.data["vertical"], unit.core.settings.get("contracts") or DEFAULTS)
    read = stored.fields(unit.conn, instance.id, instance.data)
    answer = review.answer or {}
    learnt = False
    for definition in vertical.required:
        machine, text = read.get(definition.name) or {}, str(answer.get(definition.name) or "").strip()
        meant = normalise(definition.type, text, vertical.locale) if text else None
        if "signals" not in machine or (text and meant is None):
            continue  # nothing was read, or the answer is unclear
        calibration_store.learn(
            unit,
            instance.id,
            vertical.name,
            definition.name,
            machine["signals"],
            meant == machine["normalised"],
            Actor.parse(str(review.decided_by)),
        )
        learnt = True
    return learnt


def calibrate(engine: Engine) -> bool:
    """The duty: learn from new answers, say if the promise is broken, and learn the calibrations again."""
    from interlock.apps.contracts.review import promise_check  # it names this module's samples

    if learn(engine) and (now := engine.read(promise_check.last_samples)).gap > 0:
        log.warning("contracts approved without a person are right less often than their score says: %s", now)
    return calibration_store.recount(engine)
