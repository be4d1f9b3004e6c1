"""Finds objects by the end of their id, which is what pages and lists show. Its beginning is the time of creation."""

from __future__ import annotations

import re
from typing import Literal
from uuid import UUID

import sqlalchemy as sa

from interlock.engine.errors import InvalidData, NotFound
from interlock.store import service_tables
from interlock.store import tables as t
from interlock.store.sql import hex_of

Named = Literal["instance", "review", "dead letter", "message", "alert", "bulk action", "token"]
TABLES: dict[Named, sa.Table] = {
    "instance": t.instance,
    "review": t.review,
    "dead letter": t.dead_letter,
    "message": t.outbox,
    "alert": service_tables.alert,
    "bulk action": service_tables.bulk,
    "token": service_tables.token,
}
ENDING = re.compile(r"[0-9a-f-]{4,36}", re.IGNORECASE)
SHOWN = 3


def find(conn: sa.Connection, kind: Named, given: str) -> UUID:
    """The id that is meant by a whole id, or by its last characters. A whole one need not exist."""
    try:
        return UUID(given)
    except ValueError:
        pass
    article = "an" if kind in {"instance", "alert"} else "a"
    if not ENDING.fullmatch(given):
        raise InvalidData(
            f"{given[:100]!r} is not {article} {kind} id; give the whole id, or at least its last 4 characters, as "
            "lists show them"
        )
    column = TABLES[kind].c.id
    query = sa.select(column).where(ends_with(column, given)).order_by(column.desc()).limit(SHOWN + 1)
    found = list(conn.execute(query).scalars())
    if not found:
        raise NotFound(f"no {kind} has an id that ends with {given!r}")
    if len(found) > 1:
        more = ", …" if len(found) > SHOWN else ""
        raise InvalidData(
            f"several ids of {kind}s end with {given!r}: {', '.join(map(str, found[:SHOWN]))}{more}; give more of it"
        )
    return UUID(str(found[0]))


def ends_with(column: sa.ColumnElement[object], ending: str) -> sa.ColumnElement[bool]:
    """The condition that an id ends with these characters, with or without hyphens."""
    return hex_of(column).endswith(ending.replace("-", "").lower(), autoescape=True)
