"""The same opening is one match, whatever boards show it; the employer's own system stands for it."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256
from uuid import UUID

import sqlalchemy as sa

from interlock.apps.jobs.claims import steps as claims
from interlock.apps.jobs.claims.machine import DISCOVERED, EXPIRED, job
from interlock.apps.jobs.finder.identity.dedupe import RANKS, openings, posting_key
from interlock.apps.jobs.finder.identity.urls import registered_domain
from interlock.apps.jobs.finder.postings.posting import Posting
from interlock.apps.jobs.finder.records import postings, sources
from interlock.apps.jobs.finder.records.postings import PostingRow
from interlock.apps.jobs.tables import applied as A
from interlock.apps.jobs.tables import job_index as J
from interlock.apps.jobs.tables import posting as P
from interlock.engine.application import SYSTEM_ACTOR, Unit, find, find_by_key, fire


def duplicate_of(conn: sa.Connection, row: PostingRow) -> tuple[str, UUID] | None:
    """Why the posting need not be looked at, and the one that was: the same opening is shown once."""
    if row.outcome == postings.MATCHED and row.matched_at and row.scored_at and row.matched_at >= row.scored_at:
        return "it is saved as a match already", row.id
    for one, evidence in _same_openings(conn, row):
        if not _gives_way(conn, one, row):
            return f"it is the same opening as {one.url or one.id}: {evidence}", one.opening_id or one.id
    return None


def take_over(unit: Unit, row: PostingRow) -> None:
    """The match stands for its opening from now on, in place of what only repeats the employer's system."""
    for one, evidence in _same_openings(unit.conn, row):
        if not _gives_way(unit.conn, one, row):
            continue
        reason = f"it is the same opening as {row.url or row.id}: {evidence}"
        repeated = sa.or_(P.c.id == one.id, P.c.opening_id == one.id)
        unit.conn.execute(sa.update(P).where(repeated, P.c.id != row.id).values(opening_id=row.id))
        postings.update(unit, one.id, outcome=postings.SKIPPED, reason=reason)
        postings.update(unit, row.id, opening_id=None, digested_at=one.digested_at)
        board, job_id = claim_name(one.posting)
        offered = find_by_key(unit, one.workspace, job.name, claims.job_key(board, job_id))
        if offered is not None and offered.state == DISCOVERED:
            fire(unit, offered.id, "expire", SYSTEM_ACTOR, reason=reason)


def _same_openings(conn: sa.Connection, row: PostingRow) -> Iterator[tuple[PostingRow, str]]:
    """Matches of the same opening, with what shows that."""
    lists = sources.page(conn, row.workspace, company=row.company_id, limit=100) if row.company_id else []
    own = frozenset(one.id for one in lists)
    for one in postings.matches_of(conn, row.workspace, row.company_key):
        if one.id == row.id:
            continue
        employers = [seen.posting_key for seen in (row, one) if seen.source_id in own]
        for opening in openings([row.posting, one.posting], employers=employers):
            if len(opening.sightings) > 1:
                yield one, opening.links[0].evidence


def _gives_way(conn: sa.Connection, old: PostingRow, new: PostingRow) -> bool:
    """Whether a match gives way to one of the employer's own system. Not once somebody has done something with it."""
    if RANKS.get(new.posting.ats, 0) >= RANKS.get(old.posting.ats, 0) or old.decision is not None:
        return False
    applied = sa.select(A.c.id).where(sa.or_(A.c.posting_id == old.id, A.c.opening_id == old.id)).limit(1)
    if conn.execute(applied).first() is not None:
        return False
    board, job_id = claim_name(old.posting)
    mine = sa.select(J.c.instance_id).where(J.c.workspace == old.workspace, J.c.board == board, J.c.job_id == job_id)
    offered = conn.execute(mine).scalar()
    found = find(conn, offered, machine=job.name) if offered is not None else None
    return found is None or found.state in (DISCOVERED, EXPIRED)


def claim_name(posting: Posting) -> tuple[str, str]:
    """The name of a posting for claims: board and number, the same whoever asks."""
    if posting.external_id is not None and posting.board:
        return f"{posting.ats}-{posting.board}".replace(":", "-"), posting.external_id
    key = posting.url_key or posting_key(posting) or posting.url or ""
    return registered_domain(posting.url) or posting.ats, sha256(key.encode("utf-8", "replace")).hexdigest()[:16]
