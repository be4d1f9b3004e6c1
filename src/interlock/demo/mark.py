"""The row that marks a database as the demo's, and counts how much of the demo's past is written."""

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
    """Whether nobody has used the database: it has no instances and no people."""
    return all(
        conn.execute(sa.select(t.c.id).limit(1)).first() is None for t in (tables.instance, service_tables.person)
    )


def claim_untouched(store: Store, registry: Registry) -> None:
    """Mark an untouched database as the demo's; leave any other alone."""

    def mark(conn: sa.Connection) -> None:
        if is_untouched(conn) and not is_demo(conn):
            conn.execute(sa.insert(C).values(name=NAME, xact=0, pos=0))

    if fits(registry):
        store.write(mark)


def stories_written(conn: sa.Connection) -> int:
    """How many stories of the past are written. Locks the count in a write transaction, against other writers."""
    return int(conn.execute(sa.select(C.c.pos).where(C.c.name == NAME).with_for_update()).scalar_one())


def set_stories_written(conn: sa.Connection, count: int) -> None:
    conn.execute(sa.update(C).where(C.c.name == NAME).values(pos=count))


def is_ready(conn: sa.Connection) -> bool:
    """Whether the past is written and the first instances of the present have begun."""
    return conn.execute(sa.select(C.c.xact).where(C.c.name == NAME)).scalar() == 1


def set_ready(conn: sa.Connection) -> None:
    conn.execute(sa.update(C).where(C.c.name == NAME).values(xact=1))
