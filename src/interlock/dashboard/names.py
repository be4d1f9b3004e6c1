"""What pages call an instance that is known by its id: in lists its title, in the path of its own page its key."""

from __future__ import annotations

from collections.abc import Iterable
from uuid import UUID

import sqlalchemy as sa

from interlock.dashboard.views import PLAIN, unnamed, view_for
from interlock.engine import Instance
from interlock.engine.unit import load
from interlock.engine.values import Unreadable
from interlock.machine import Registry
from interlock.store import tables


def called(registry: Registry, instance: Instance) -> str:
    """The key or the title; empty for an instance without a key, which its id names."""
    if not instance.key:
        return ""
    view = view_for(registry, instance)
    return view.key(instance) or view.title(instance)


def plain_name(instance: Instance) -> str:
    """What commands call an instance, without the views of its application; empty where only its id names it."""
    if isinstance(instance.shown_data, Unreadable) or instance.erased:
        return instance.key or ""
    name = PLAIN.title(instance)
    return "" if name == unnamed(instance) else name


def plain_names(conn: sa.Connection, ids: Iterable[UUID]) -> dict[UUID, str]:
    """What commands call these instances."""
    return {one.id: plain_name(one) for one in _found(conn, ids)}


def names(conn: sa.Connection, registry: Registry, ids: Iterable[UUID]) -> dict[UUID, str]:
    """The titles of these instances, as the list of instances shows them."""
    return {one.id: view_for(registry, one).title(one) for one in _found(conn, ids)}


def _found(conn: sa.Connection, ids: Iterable[UUID]) -> list[Instance]:
    wanted = list(ids)
    query = sa.select(tables.instance).where(tables.instance.c.id.in_(wanted))
    return list(load(conn, conn.execute(query).all())) if wanted else []
