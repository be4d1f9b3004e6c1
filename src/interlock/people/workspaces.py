"""Workspaces: every instance belongs to one, and people see only their own workspaces."""

from __future__ import annotations

from dataclasses import dataclass

import sqlalchemy as sa

from interlock.engine import InvalidData, NotFound
from interlock.engine.unit import Unit
from interlock.machine import Actor
from interlock.people import actions, names
from interlock.people.errors import NameTaken
from interlock.people.principal import OPERATORS
from interlock.store import Micros
from interlock.store.service_tables import workspace as W
from interlock.store.sql import upsert

LONGEST_TITLE = 200


@dataclass(frozen=True, slots=True)
class Workspace:
    """A workspace, which contains instances and has members."""

    name: str
    title: str
    created_at: Micros


def lock(unit: Unit) -> None:
    """Serialise changes to people and tokens, so that checks stay valid until the commit.

    Take this lock before any other lock on people and tokens.
    """
    unit.conn.execute(sa.select(W.c.name).where(W.c.name == OPERATORS).with_for_update())


def ensure_first(unit: Unit) -> None:
    """Create and lock the installation's own workspace, also when several processes start at once."""
    made = upsert(W).values(name=OPERATORS, title="Default", created_at=unit.now).on_conflict_do_nothing()
    unit.conn.execute(made)
    lock(unit)


def add(unit: Unit, name: str, title: str, by: Actor) -> Workspace:
    """Add a workspace. Names are unique, ignoring case."""
    names.checked(name, "workspace")
    if len(title) > LONGEST_TITLE or not title.isprintable():
        raise InvalidData(f"a workspace's title has at most {LONGEST_TITLE} printable characters, not {title[:80]!r}")
    ensure_first(unit)
    taken = unit.conn.execute(sa.select(W.c.name).where(sa.func.lower(W.c.name) == name.lower())).scalar()
    if taken is not None:
        raise NameTaken(f"there is a workspace {taken!r} already; choose another name")
    made = Workspace(name, title or name, unit.now)
    unit.conn.execute(sa.insert(W).values(name=made.name, title=made.title, created_at=made.created_at))
    actions.record(unit, by, "workspace_added", name, workspace=name, details={"title": made.title})
    return made


def every(conn: sa.Connection) -> list[Workspace]:
    return [Workspace(*row) for row in conn.execute(sa.select(W).order_by(W.c.name))]


def require(conn: sa.Connection, name: str) -> None:
    if conn.execute(sa.select(W.c.name).where(W.c.name == name)).first() is None:
        raise NotFound(f"there is no workspace {name[:80]!r}; see: interlock workspace list")
