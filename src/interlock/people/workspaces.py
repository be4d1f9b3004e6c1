"""Workspaces: every instance belongs to one, and people see only those that they are in."""

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
    """A room with its own instances and people."""

    name: str
    title: str
    created_at: Micros


def lock(unit: Unit) -> None:
    """One change of people at a time: who is the last owner, and which name is free, must stay true until the commit.

    It is taken before any other lock on people and tokens.
    """
    unit.conn.execute(sa.select(W.c.name).where(W.c.name == OPERATORS).with_for_update())


def ensure_first(unit: Unit) -> None:
    """The installation's own workspace is there, and locked, whoever else starts at this moment."""
    made = upsert(W).values(name=OPERATORS, title="Default", created_at=unit.now).on_conflict_do_nothing()
    unit.conn.execute(made)
    lock(unit)


def add(unit: Unit, name: str, title: str, by: Actor) -> Workspace:
    """A new workspace; names are unique regardless of case."""
    names.checked(name, "workspace")
    if len(title) > LONGEST_TITLE or not title.isprintable():
        raise InvalidData(f"a workspace's title is at most {LONGEST_TITLE} printable characters, not {title[:80]!r}")
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
