"""Applications as lists, limits and numbers read them. Followers keep a row with its instance."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any
from uuid import UUID

import sqlalchemy as sa

from interlock.apps.jobs.tables import applied as T
from interlock.engine.application import Unit
from interlock.store import Micros

BY_RULE, BY_PERSON, IMPORTED = "rule", "person", "import"
ENDED = ("submitted", "withdrawn", "interview_requested")
"""States in which nothing is sent any more."""
GIVEN_UP = ("retries_exhausted", "invalid_url")
"""Reasons for a withdrawal that the user did not choose, and that say nothing about the job."""


@dataclass(frozen=True, slots=True)
class ApplicationRow:
    """An application: one of ours, or one that was made elsewhere (without an instance)."""

    id: UUID
    instance_id: UUID | None
    workspace: str
    user_id: str
    rule_id: UUID | None
    posting_id: UUID | None
    opening_id: UUID | None
    origin: str
    board: str
    job_id: str
    title: str
    company: str
    company_key: str | None
    url: str | None
    url_key: str | None
    source: str | None
    tier: str | None
    score: int | None
    status: str
    review_reason: str | None
    withdraw_reason: str | None
    paused_by: str | None
    attempt_count: int
    last_error: str | None
    scheduled_for: Micros | None
    trace_id: str
    packet_hash: str | None
    created_at: Micros
    processed_at: Micros | None
    status_at: Micros
    sent_at: Micros | None
    submitted_at: Micros | None

    @property
    def is_open(self) -> bool:
        return self.status not in ENDED


def add(unit: Unit, **values: Any) -> None:
    """Add a row; what is not named is empty."""
    row = dict.fromkeys(T.c.keys())
    given = {"attempt_count": 0, "status_at": unit.now, "created_at": unit.now, "trace_id": "", **values}
    unit.conn.execute(sa.insert(T).values({**row, **given}))


def update(unit: Unit, instance_id: UUID, **values: Any) -> None:
    unit.conn.execute(sa.update(T).where(T.c.instance_id == instance_id).values(values))


def find(conn: sa.Connection, workspace: str, application_id: UUID) -> ApplicationRow | None:
    row = conn.execute(sa.select(T).where(T.c.id == application_id, T.c.workspace == workspace)).first()
    return ApplicationRow(**row._mapping) if row is not None else None


def page(
    conn: sa.Connection,
    workspace: str,
    *,
    statuses: Sequence[str] | None = None,
    rule: UUID | None = None,
    posting: UUID | None = None,
    q: str | None = None,
    after: UUID | None = None,
    limit: int = 100,
) -> list[ApplicationRow]:
    """The newest first. `after` is the id of the last row of the page before; `q` are words of title and company."""
    query = sa.select(T).where(T.c.workspace == workspace)
    if statuses:
        query = query.where(T.c.status.in_(list(statuses)))
    if rule is not None:
        query = query.where(T.c.rule_id == rule)
    if posting is not None:
        query = query.where(sa.or_(T.c.posting_id == posting, T.c.opening_id == posting))
    for word in (q or "").lower().split()[:10]:
        text = sa.func.lower(T.c.title + " " + T.c.company)
        query = query.where(text.contains(word, autoescape=True))
    if after is not None:
        query = query.where(T.c.id < after)
    return _rows(conn, query.order_by(T.c.id.desc()).limit(limit))


def given_up(conn: sa.Connection, workspace: str, since: Micros, limit: int) -> list[ApplicationRow]:
    """What was given up since then, the latest first."""
    query = sa.select(T).where(
        T.c.workspace == workspace,
        T.c.status == "withdrawn",
        T.c.withdraw_reason.in_(GIVEN_UP),
        T.c.status_at > since,
    )
    return _rows(conn, query.order_by(T.c.status_at.desc()).limit(limit))


def counts(conn: sa.Connection, workspace: str) -> dict[str, int]:
    """How many applications there are in each status."""
    query = sa.select(T.c.status, sa.func.count()).where(T.c.workspace == workspace).group_by(T.c.status)
    return {row[0]: row[1] for row in conn.execute(query.order_by(T.c.status))}


def counts_by_rule(conn: sa.Connection, workspace: str) -> dict[UUID, dict[str, int]]:
    """Rule → how many of its applications there are in each status."""
    query = sa.select(T.c.rule_id, T.c.status, sa.func.count()).where(
        T.c.workspace == workspace, T.c.rule_id.is_not(None)
    )
    found: dict[UUID, dict[str, int]] = {}
    for rule, status, many in conn.execute(query.group_by(T.c.rule_id, T.c.status)):
        found.setdefault(rule, {})[status] = many
    return found


def that_count(conn: sa.Connection, workspace: str, since: Micros) -> list[ApplicationRow]:
    """Applications that limits count: open ones, and those that were sent since then.

    One that a person has paused does not count: it may stay paused forever.
    """
    is_open = sa.and_(
        T.c.status.not_in(ENDED), sa.or_(T.c.status != "paused", T.c.paused_by.is_(None), T.c.paused_by == "system")
    )
    sent = sa.or_(T.c.submitted_at > since, T.c.sent_at > since)
    return _rows(conn, sa.select(T).where(T.c.workspace == workspace, sa.or_(is_open, sent)))


def of_openings(
    conn: sa.Connection, workspace: str, openings: Iterable[UUID], url_keys: Iterable[str]
) -> list[ApplicationRow]:
    """All applications for any of these postings, whatever became of them, the oldest first."""
    ids, plain = list(openings), list(url_keys)
    keys = [*plain, *map(hashed, plain)]
    same = sa.or_(T.c.posting_id.in_(ids), T.c.opening_id.in_(ids), T.c.url_key.in_(keys))
    return _rows(conn, sa.select(T).where(T.c.workspace == workspace, same).order_by(T.c.id))


def hashed(url_key: str) -> str:
    """What is kept of an address whose application was deleted."""
    return f"sha256:{sha256(url_key.encode('utf-8', 'replace')).hexdigest()}"


def of_rule(conn: sa.Connection, rule_id: UUID, statuses: Sequence[str]) -> list[UUID]:
    """The instances of a rule's applications that have one of these statuses."""
    query = sa.select(T.c.instance_id).where(
        T.c.rule_id == rule_id, T.c.status.in_(list(statuses)), T.c.instance_id.is_not(None)
    )
    return list(conn.execute(query.order_by(T.c.id)).scalars())


def with_status(conn: sa.Connection, workspace: str, statuses: Sequence[str]) -> list[UUID]:
    """The instances of a workspace's applications that have one of these statuses."""
    query = sa.select(T.c.instance_id).where(
        T.c.workspace == workspace, T.c.status.in_(list(statuses)), T.c.instance_id.is_not(None)
    )
    return list(conn.execute(query.order_by(T.c.id)).scalars())


def _rows(conn: sa.Connection, query: sa.Select[Any]) -> list[ApplicationRow]:
    return [ApplicationRow(**row._mapping) for row in conn.execute(query)]
