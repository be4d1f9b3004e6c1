"""Rows of reviews: reads one, and lists those that wait or are decided."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from uuid import UUID

import sqlalchemy as sa

from interlock.engine import review_access
from interlock.engine.errors import NotFound
from interlock.engine.values import filters, readable
from interlock.machine.transitions import PEOPLE
from interlock.store import Micros
from interlock.store.tables import review as R


@dataclass(frozen=True, slots=True)
class OpenReview:
    """A review as it stands in the database."""

    id: UUID
    instance_id: UUID
    workspace: str
    machine: str
    name: str
    title: str
    state: str | None
    role: str
    form: dict[str, Any] | None
    decisions: dict[str, str]
    settles: dict[str, str]
    evidence: dict[str, Any]
    status: str
    opened_at: Micros
    due_at: Micros | None
    claimed_by: str | None
    claimed_until: Micros | None
    decision: str | None
    answer: dict[str, Any] | None
    decided_by: str | None
    decided_at: Micros | None
    visit: str | None
    """The visit of the step whose handler asks and waits; None for every other review."""
    fallback: dict[str, Any] | None
    """The default that is taken at `due_at`: `decision` and `answer`."""
    closed_reason: str | None
    assigned_to: str | None = None
    """The name of the person who is to decide it. Others with its role may decide it as well."""
    snoozed_by: str | None = None
    snoozed_until: Micros | None = None
    """Until then it stands at the end of the inbox. Its deadline does not move."""

    @property
    def default(self) -> str | None:
        """The decision that is taken at `due_at`, if there is one and its row can be read."""
        found = self.fallback.get("decision") if self.fallback else None
        return found if isinstance(found, str) else None

    @property
    def access(self) -> review_access.ReviewAccess:
        """Who may decide it."""
        return review_access.ReviewAccess(self.id, self.role, self.claimed_by, self.claimed_until)


def _read(row: sa.Row[Any]) -> OpenReview:
    values = dict(row._mapping)
    for name in ("form", "answer", "fallback"):
        values[name] = readable(values[name]) if values[name] else None
    values["decisions"] = readable(values["decisions"])
    values["settles"] = readable(values["settles"]) if values["settles"] else {}
    values["evidence"] = readable(values["evidence"]) if values["evidence"] else {}
    return OpenReview(**values)


def get(conn: sa.Connection, review_id: UUID, *, lock: bool = False) -> OpenReview:
    query = sa.select(R).where(R.c.id == review_id)
    row = conn.execute(query.with_for_update() if lock else query).first()
    if row is None:
        raise NotFound(f"there is no review {review_id}")
    return _read(row)


WITHOUT_END = 2**62


@dataclass(frozen=True, slots=True)
class ReviewFilter:
    """A filter for reviews. Fields that are None do not count."""

    workspaces: frozenset[str] | None = None
    workspace: str | None = None
    machine: str | None = None
    instance_id: UUID | None = None
    name: str | None = None
    machines: frozenset[str] | None = None
    decision: str | None = None
    not_of: sa.Select[tuple[UUID]] | None = None
    """A query for instances whose reviews are excluded."""
    opened_before: Micros | None = None
    of_person: str | None = None
    """The name of a person: assigned to them, or claimed by them."""
    unassigned: bool = False
    awake_at: Micros | None = None
    """Only those that are not snoozed at this time."""
    snoozed_at: Micros | None = None
    """Only those that are snoozed at this time."""

    def __post_init__(self) -> None:
        filters(self, self.__slots__)

    def conditions(self) -> list[sa.ColumnElement[bool]]:
        found = [
            R.c[name] == value
            for name in ("workspace", "machine", "instance_id", "name", "decision")
            if (value := getattr(self, name)) is not None
        ]
        if self.workspaces is not None:
            found.append(R.c.workspace.in_(sorted(self.workspaces)))
        if self.machines is not None:
            found.append(R.c.machine.in_(sorted(self.machines)))
        if self.not_of is not None:
            ids = self.not_of.subquery()
            found.append(~sa.exists(sa.select(sa.literal(1)).where(ids.c[0] == R.c.instance_id)))
        if self.opened_before is not None:
            found.append(R.c.opened_at < self.opened_before)
        if self.of_person is not None:
            claims = [f"{kind.value}:{self.of_person}" for kind in sorted(PEOPLE)]
            found.append(sa.or_(R.c.assigned_to == self.of_person, R.c.claimed_by.in_(claims)))
        if self.unassigned:
            found.append(R.c.assigned_to.is_(None))
        if self.awake_at is not None:
            found.append(sa.or_(R.c.snoozed_until.is_(None), R.c.snoozed_until <= self.awake_at))
        if self.snoozed_at is not None:
            found.append(R.c.snoozed_until > self.snoozed_at)
        return found


def waiting(
    conn: sa.Connection,
    wanted: ReviewFilter | None = None,
    *,
    after: tuple[Micros, UUID] | None = None,
    limit: int = 100,
) -> list[OpenReview]:
    """Open reviews, the most urgent first. Those without a due time come last. `after` is the `cursor` of the last."""
    urgency = sa.func.coalesce(R.c.due_at, sa.literal(WITHOUT_END))
    query = sa.select(R).where(sa.text("status = 'open'"), *(wanted or ReviewFilter()).conditions())
    if after is not None:
        due, last = after
        query = query.where(sa.or_(urgency > due, sa.and_(urgency == due, R.c.id > last)))
    return [_read(row) for row in conn.execute(query.order_by(urgency, R.c.id).limit(limit))]


def cursor(review: OpenReview) -> tuple[Micros, UUID]:
    """The position of a review in `waiting`."""
    return (WITHOUT_END if review.due_at is None else review.due_at), review.id


def decided(
    conn: sa.Connection, wanted: ReviewFilter | None = None, *, after: UUID | None = None, limit: int = 100
) -> list[OpenReview]:
    """Reviews that were decided or closed, the newest first."""
    query = sa.select(R).where(R.c.status != "open", *(wanted or ReviewFilter()).conditions())
    if after is not None:
        query = query.where(R.c.id < after)
    return [_read(row) for row in conn.execute(query.order_by(R.c.id.desc()).limit(limit))]
