"""Machines to walk with, and the few words with which the tests add up."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import sqlalchemy as sa

from interlock.apps.contracts.machine import contract
from interlock.apps.jobs.autoapply.machine import application
from interlock.apps.jobs.finder.machine import listing
from interlock.engine import Engine
from interlock.machine import Failures, Machine, Rule, fixed
from interlock.store import open_store
from interlock.store import tables as t
from interlock.store.positions import START
from interlock.testing import VirtualClock
from interlock.watch import rollups
from tests.support.machines import LETTER, PARCEL, job
from tests.support.waiting import eventually

SOON = Rule((Exception,), retries=1, backoff=fixed(timedelta(minutes=5)))
JOB = job(Failures(state="failed", otherwise=SOON))
STUBBORN = job(Failures(state="failed", otherwise=Rule((Exception,), retries=0, then="given_up")))
STUCK = job(Failures(otherwise=SOON))
WALKS: dict[str, tuple[Machine, dict[str, Any]]] = {
    "stuck job": (STUCK, {}),
    "parcel": (PARCEL, {}),
    "letter": (LETTER, {}),
    "job": (JOB, {}),
    "stubborn job": (STUBBORN, {}),
    "contract": (contract, {}),
    "application": (application, {"user_id": "ann", "company": "acme"}),
    "listing": (listing, {}),
}


def roll_all(engine: Engine, limit: int = rollups.BATCH) -> None:
    """Until everything is added up. PostgreSQL holds back what came after any transaction of the whole server."""
    eventually(lambda: not engine.write(lambda unit: rollups.roll(unit, limit)) and engine.read(_at_the_end))


def _at_the_end(conn: sa.Connection) -> bool:
    H = t.history.c
    last = conn.execute(sa.select(H.xact, H.pos).order_by(H.xact.desc(), H.pos.desc()).limit(1)).first()
    return rollups.position(conn) == (tuple(last) if last else START)


@contextmanager
def engine_of(url: str, *machines: Machine) -> Iterator[Engine]:
    with open_store(url, durability="normal", wakeup="poll") as store:
        yield Engine(store, machines, clock=VirtualClock())
