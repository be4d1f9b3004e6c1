"""Actions: a log of what people and tokens did outside instance histories, such as logins and role changes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import sqlalchemy as sa

from interlock.engine import InvalidData
from interlock.engine.actions import record
from interlock.engine.listing import BIGGEST_PAGE
from interlock.engine.values import readable
from interlock.store import Micros
from interlock.store.service_tables import action as A

__all__ = ["Action", "ActionPage", "page", "record"]
MOST_WORDS = 6
"""Words of an action's name that a search looks at; no name has as many."""


@dataclass(frozen=True, slots=True)
class Action:
    """An entry of the action log."""

    id: UUID
    workspace: str | None
    actor: str
    what: str
    target: str
    details: dict[str, Any]
    at: Micros


@dataclass(frozen=True, slots=True)
class ActionPage:
    """One page of the action log."""

    actions: list[Action]
    next: UUID | None
    """The cursor of the next page; None on the last page."""


def page(
    conn: sa.Connection,
    *,
    actor: str | None = None,
    what: str | None = None,
    workspace: str | None = None,
    since: Micros | None = None,
    until: Micros | None = None,
    after: UUID | None = None,
    limit: int = 50,
) -> ActionPage:
    """List actions, newest first. An actor is `user:ann`, or `ann` for everything she did, also through her tokens.

    `what` is `alert_rule.remove`, the same in the words of pages, `alert rule remove`, or `alert rule` for all of them.
    """
    if not 1 <= limit <= BIGGEST_PAGE:
        raise InvalidData(f"a page has 1 to {BIGGEST_PAGE} rows, not {limit}")
    query = sa.select(A).order_by(A.c.id.desc()).limit(limit + 1)
    if actor is not None:
        query = query.where(_by(actor))
    if what is not None:
        query = query.where(_what(what))
    if workspace is not None:
        query = query.where(A.c.workspace == workspace)
    if since is not None:
        query = query.where(A.c.at >= since)
    if until is not None:
        query = query.where(A.c.at < until)
    if after is not None:
        query = query.where(A.c.id < after)
    rows = conn.execute(query).all()
    found = [_read(row) for row in rows[:limit]]
    return ActionPage(found, found[-1].id if len(rows) > limit else None)


def _what(what: str) -> sa.ColumnElement[bool]:
    first, *rest = re.split(r"[ ._]+", what.strip())[:MOST_WORDS]
    names = {first}
    for word in rest:
        names = {f"{name}{sign}{word}" for name in names for sign in "._"}
    return sa.or_(A.c.what.in_(sorted(names)), *(A.c.what.startswith(f"{n}.", autoescape=True) for n in sorted(names)))


def _by(actor: str) -> sa.ColumnElement[bool]:
    if ":" in actor:
        return A.c.actor == actor
    return sa.or_(A.c.actor.endswith(f":{actor}", autoescape=True), A.c.actor.contains(f":{actor}/", autoescape=True))


def _read(row: sa.Row[Any]) -> Action:
    values = dict(row._mapping)
    values["details"] = readable(values["details"]) if values["details"] else {}
    return Action(**values)
