"""What is removed: postings that were closed long ago, and raw answers that no posting was read from lately."""

from __future__ import annotations

from collections.abc import Iterator

import sqlalchemy as sa

from interlock.apps.jobs.claims import steps as claims
from interlock.apps.jobs.claims.machine import DISCOVERED, EXPIRED, REJECTED, job
from interlock.apps.jobs.finder.fetching import raw, shared_rate
from interlock.apps.jobs.finder.intake import settings_in
from interlock.apps.jobs.finder.records import lists, postings
from interlock.apps.jobs.finder.records.postings import PostingRow
from interlock.apps.jobs.finder.steps.duplicates import claim_name
from interlock.apps.jobs.tables import applied as A
from interlock.apps.jobs.tables import posting as P
from interlock.config.settings import length
from interlock.engine import Engine, Unreadable
from interlock.engine.application import SYSTEM_ACTOR, Unit, find_by_key, fire
from interlock.store import Micros, span

AT_ONCE = 100
"""Rows that one round removes."""
MOST_KEPT = 10_000
"""Old rows that one round looks at."""


def remove_old(engine: Engine) -> bool:
    """Remove old postings that nobody saved or applied for, and old raw answers."""
    settings = settings_in(engine.setting("jobs"))
    closed, answers = length(settings.keep_closed), length(settings.keep_answers)

    def work(unit: Unit) -> int:
        removed = _remove_closed(unit, unit.now - span(closed)) if closed is not None else 0
        if answers is not None:
            removed += raw.remove_unused(unit.conn, unit.now - span(answers), AT_ONCE)
            shared_rate.remove_free(unit.conn, unit.now)
        return removed

    return engine.write(work, name="remove_old") >= AT_ONCE


def _remove_closed(unit: Unit, before: Micros) -> int:
    """A match that an agent has claimed or applied for stays; the job of any other one expires with it."""
    gone = []
    for row in _old(unit.conn, before):
        if row.matched_at is not None and not _withdrawn(unit, row):
            continue
        gone.append(row.id)
        if len(gone) == AT_ONCE:
            break
    unit.conn.execute(sa.delete(P).where(P.c.id.in_(gone)))
    return len(gone)


def _old(conn: sa.Connection, before: Micros) -> Iterator[PostingRow]:
    unsaved = sa.or_(P.c.decision.is_(None), P.c.decision != lists.SAVED)
    applied = sa.exists().where(sa.or_(A.c.posting_id == P.c.id, A.c.opening_id == P.c.id))
    old = sa.select(P).where(P.c.state == postings.CLOSED, P.c.last_seen <= before, unsaved, ~applied)
    query, seen = old.order_by(P.c.id).limit(AT_ONCE), 0
    while rows := conn.execute(query).all():
        yield from map(PostingRow, rows)
        seen += len(rows)
        if len(rows) < AT_ONCE or seen >= MOST_KEPT:
            return
        query = old.where(P.c.id > rows[-1].id).order_by(P.c.id).limit(AT_ONCE)


def _withdrawn(unit: Unit, row: PostingRow) -> bool:
    """Whether nobody applies for the match: its job, if no agent has it, expires."""
    try:
        board, job_id = claim_name(row.posting)
    except Unreadable:
        return False
    offered = find_by_key(unit, row.workspace, job.name, claims.job_key(board, job_id))
    if offered is not None and offered.state == DISCOVERED:
        fire(unit, offered.id, "expire", SYSTEM_ACTOR, reason="its posting was closed long ago")
        return True
    return offered is None or offered.state in (EXPIRED, REJECTED)
