"""Duties of the allocator: continue operations, and end borrows whose time is over."""

from __future__ import annotations

import logging
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from functools import partial
from uuid import UUID

from interlock.apps.sessions.allocator import cleaning, lending, operations, subscribers
from interlock.apps.sessions.allocator.transactions import EngineTransactions
from interlock.apps.sessions.settings import settings_in
from interlock.engine import Engine
from interlock.engine.application import error_summary, must_raise
from interlock.store import span

log = logging.getLogger("interlock.sessions")
AT_ONCE = 8
"""Operations that one process works on at the same time: most of their time they wait for subscribers."""
KEPT = timedelta(days=7)
"""How long operations and borrows that have ended are kept."""


def carry_on(engine: Engine) -> bool:
    """Work on the operations that are due: new ones, those to be polled, and those that a crash left behind."""
    due = engine.read(partial(operations.due, now=engine.clock.now(), limit=AT_ONCE))
    if not due:
        return False
    with ThreadPoolExecutor(len(due), thread_name_prefix="interlock-subscribers") as threads:
        for done in [threads.submit(_one, engine, one) for one in due]:
            done.result()
    return len(due) == AT_ONCE


def _one(engine: Engine, operation_id: UUID) -> None:
    try:
        subscribers.work(EngineTransactions(engine), settings_in(engine.setting("sessions")).allocator, operation_id)
    except BaseException as error:
        if must_raise(error):
            raise
        log.error("the operation %s cannot be carried on: %s", operation_id, error_summary(error))


def expire(engine: Engine) -> bool:
    """Put items into quarantine that their borrowers neither returned nor renewed in time."""
    found = engine.read(partial(lending.expired, now=engine.clock.now()))
    for borrow_id in found:
        engine.write(partial(lending.expire, borrow_id=borrow_id), name="expire")
    return len(found) == 100


def clean_up(engine: Engine) -> bool:
    """Delete operations and borrows that ended long ago."""
    before = engine.clock.now() - span(KEPT)
    return engine.write(partial(cleaning.remove_old, before=before), name="remove_old") > 0
