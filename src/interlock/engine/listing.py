"""Listing instances: filters, pages by cursor, and counts that stop counting.

The newest come first; ids grow with time, so the last id of a page is the cursor of the next, and a page costs the
same wherever it lies. A count stops at 10,000: nobody reads further, and the database must not either.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

import sqlalchemy as sa

from interlock.engine.errors import InvalidData
from interlock.engine.instance import Instance
from interlock.engine.text import canonical
from interlock.engine.unit import load
from interlock.store import Micros, span
from interlock.store.tables import instance as I

MOST = 10_000
BIGGEST_PAGE = 500


@dataclass(frozen=True, slots=True)
class Where:
    """Which instances; what is None does not matter."""

    machine: str | None = None
    state: str | None = None
    workspace: str | None = None
    key: str | None = None
    label: tuple[str, str] | None = None
    error: str | None = None
    """The type of its last error."""
    finished: bool | None = None
    paused: bool | None = None
    in_state_for: timedelta | None = None
    """At least so long in its present state."""
    root: UUID | None = None

    @property
    def empty(self) -> bool:
        return all(getattr(self, name) is None for name in self.__slots__)

    def conditions(self, now: Micros) -> list[sa.ColumnElement[bool]]:
        found: list[sa.ColumnElement[bool]] = [
            I.c[name] == value
            for name in ("machine", "state", "workspace", "key", "root")
            if (value := getattr(self, name)) is not None
        ]
        if self.label is not None:
            name, value = self.label
            found.append(I.c.labels.contains(f"{canonical(name)}:{canonical(value)}", autoescape=True))
        if self.error is not None:
            found.append(I.c.last_error.contains(f'"type":{canonical(self.error)}', autoescape=True))
        if self.finished is not None:
            found.append(I.c.finished_at.is_not(None) if self.finished else I.c.finished_at.is_(None))
        if self.paused is not None:
            found.append(I.c.paused_at.is_not(None) if self.paused else I.c.paused_at.is_(None))
        if self.in_state_for is not None:
            found.append(I.c.entered_at <= now - span(self.in_state_for))
        return found


@dataclass(frozen=True, slots=True)
class Page:
    """One page of a listing."""

    instances: list[Instance]
    next: UUID | None
    """The cursor of the next page; None on the last."""


def page(conn: sa.Connection, where: Where, now: Micros, *, after: UUID | None = None, limit: int = 50) -> Page:
    """The newest that match, or those after a cursor."""
    if not 1 <= limit <= BIGGEST_PAGE:
        raise InvalidData(f"a page has 1 to {BIGGEST_PAGE} rows, not {limit}")
    query = sa.select(I).where(*where.conditions(now)).order_by(I.c.id.desc()).limit(limit + 1)
    if after is not None:
        query = query.where(I.c.id < after)
    rows = conn.execute(query).all()
    found = load(conn, rows[:limit])
    return Page(found, found[-1].id if len(rows) > limit else None)


def count(conn: sa.Connection, where: Where, now: Micros, *, most: int = MOST) -> int:
    """How many match, but never more than `most + 1`: that many means "more"."""
    some: Any = sa.select(sa.literal(1)).select_from(I).where(*where.conditions(now)).limit(most + 1).subquery()
    total: int = conn.execute(sa.select(sa.func.count()).select_from(some)).scalar_one()
    return total
