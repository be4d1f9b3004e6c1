"""What pages call an instance that is known by its id: in lists its title, in the path of its own page its key."""

from __future__ import annotations

from collections.abc import Iterable
from uuid import UUID

import sqlalchemy as sa

from interlock.dashboard.views import view_for
from interlock.engine import Instance
from interlock.engine.unit import load
from interlock.machine import Registry
from interlock.store import tables


def called(registry: Registry, instance: Instance) -> str:
    """The key or the title; empty for an instance without a key, which its id names."""
    if not instance.key:
        return ""
    view = view_for(registry, instance)
    return view.key(instance) or view.title(instance)


def names(conn: sa.Connection, registry: Registry, ids: Iterable[UUID]) -> dict[UUID, str]:
    """The titles of these instances, as the list of instances shows them."""
    wanted = list(ids)
    if not wanted:
        return {}
    query = sa.select(tables.instance).where(tables.instance.c.id.in_(wanted))
    found = load(conn, conn.execute(query).all())
    return {one.id: view_for(registry, one).title(one) for one in found}
