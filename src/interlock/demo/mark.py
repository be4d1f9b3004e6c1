"""The mark in a database that belongs to the demo, which also counts the stories of the past that were played."""

from __future__ import annotations

import sqlalchemy as sa

from interlock.demo.parts import fits
from interlock.machine import Registry
from interlock.store import Store, service_tables, tables

NAME = "demo"
C = service_tables.cursor


def is_demo(conn: sa.Connection) -> bool:
    """Whether the database was filled by the demo."""
    return conn.execute(sa.select(C.c.pos).where(C.c.name == NAME)).first() is not None


def is_untouched(conn: sa.Connection) -> bool:
    """Whether nobody has used the database: nothing was started in it, and nobody has come in."""
    return all(
        conn.execute(sa.select(t.c.id).limit(1)).first() is None for t in (tables.instance, service_tables.person)
    )


def begin(store: Store, registry: Registry) -> None:
    """An untouched database becomes the demo's; one that is somebody's is left alone."""

    def mark(conn: sa.Connection) -> None:
        if is_untouched(conn) and not is_demo(conn):
            conn.execute(sa.insert(C).values(name=NAME, xact=0, pos=0))

    if fits(registry):
        store.write(mark)


def stories_played(conn: sa.Connection) -> int:
    """How many stories of the past were played. In a write, the row is locked against other processes."""
    return int(conn.execute(sa.select(C.c.pos).where(C.c.name == NAME).with_for_update()).scalar_one())


def set_stories_played(conn: sa.Connection, count: int) -> None:
    conn.execute(sa.update(C).where(C.c.name == NAME).values(pos=count))


def is_open(conn: sa.Connection) -> bool:
    """Whether the world is complete: its past was played and its first instances of the present exist."""
    return conn.execute(sa.select(C.c.xact).where(C.c.name == NAME)).scalar() == 1


def opened(conn: sa.Connection) -> None:
    conn.execute(sa.update(C).where(C.c.name == NAME).values(xact=1))
