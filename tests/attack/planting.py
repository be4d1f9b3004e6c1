"""Rows as nobody's code writes them today: by hand, by older versions, by a script that went wrong."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any, NamedTuple
from uuid import UUID

import sqlalchemy as sa
from uuid_utils.compat import uuid7

from interlock.engine import Engine
from interlock.engine.schedules import ScheduleSpec
from interlock.store.tables import instance
from tests.support.api import BY, Api
from tests.support.databases import all_tables

JSON = {
    "data",
    "labels",
    "failures",
    "last_error",
    "payload",
    "form",
    "decisions",
    "settles",
    "evidence",
    "answer",
    "error",
    "body",
    "filter",
    "arguments",
    "problems",
    "details",
    "scopes",
    "queues",
    "spec",
    "rows",
    "kept_back",
    "files",
    "output",
}
BROKEN = (
    "{not json",
    "[1]",
    '{"a":"\\ud800","b":NaN,"c":1e999}',
    '{"a":' * 300 + "1" + "}" * 300,
    '{"type":5,"message":[],"where":{},"set":7,"unset":3,"states":1}',
)
ODD = ("\x01<b>\u202e no such thing",)
SKIPPED = {
    "alembic_version",
    "application_table",
    "login_session",
    "login_attempt",
    "login_link",
    "person",
    "workspace",
    "membership",
}
"""People and their sessions: whoever edits these locks somebody out, and should."""


class Planted(NamedTuple):
    """A row that was put into a table, and what is wrong with it."""

    table: str
    column: str
    id: Any
    json: bool


def world(api: Api) -> dict[str, UUID]:
    """Something in every table that a list or a page shows."""
    engine = api.engine
    letter = api.dead()
    it = api.asked({"note": "neighbour"}, key="neighbour", labels={"shop": "north"})
    engine.keep_artifact(it.id, "note.txt", b"text", media_type="text/plain")
    engine.schedules.put(ScheduleSpec("nightly", "order", "0 2 * * *", data={"note": "x"}), actor=BY)
    message = engine.outbox.put("mail", "a@b.c", "hello", {"text": "x"}, workspace="default")
    engine.leases.take("sandbox", "worker one", timedelta(days=900), instance_id=it.id)
    started = engine.bulk.start(
        "instances", "pause", {"machine": "order", "state": "new"}, actor=BY, workspaces=["default"]
    )
    engine.store.write(lambda conn: _fill(conn, it.id, message, engine.clock.now()))
    return {"instance": it.id, "dead_letter": letter, "outbox": message, "bulk": started.id}


def _fill(conn: sa.Connection, instance_id: UUID, message: UUID, now: int) -> None:
    """A row for each table that has none yet."""
    known = {"instance_id": instance_id, "outbox_id": message, "workspace": "default", "machine": "order"}
    for table in all_tables():
        if table.name in SKIPPED or conn.execute(sa.select(sa.literal(1)).select_from(table).limit(1)).first():
            continue
        row: dict[str, Any] = {}
        for column in table.c:
            if isinstance(column.type, sa.Uuid):
                row[column.name] = known.get(column.name, uuid7())
            elif isinstance(column.type, sa.Text):
                row[column.name] = known.get(column.name, "{}" if column.name in JSON else "x")
            elif isinstance(column.type, sa.LargeBinary):
                row[column.name] = b"x"
            else:
                row[column.name] = now
        _put(conn, table, row)


def unlock(engine: Engine) -> None:
    """Take away what keeps the past from being changed, as whoever edits it by hand would."""

    def job(conn: sa.Connection) -> None:
        if conn.dialect.name == "sqlite":
            for (name,) in conn.exec_driver_sql("SELECT name FROM sqlite_master WHERE type = 'trigger'").all():
                conn.exec_driver_sql(f'DROP TRIGGER "{name}"')
        else:
            for table in all_tables():
                conn.exec_driver_sql(f'ALTER TABLE "{table.name}" DISABLE TRIGGER USER')

    engine.store.schema(job)


def plant(engine: Engine) -> list[Planted]:
    """Beside the first row of each table, a copy for each text column and each thing that may be wrong with it."""
    unlock(engine)
    return engine.store.write(lambda conn: list(_plant(conn)))


def _plant(conn: sa.Connection) -> Iterator[Planted]:
    for table in all_tables():
        row = conn.execute(sa.select(table).limit(1)).first() if table.name not in SKIPPED else None
        if row is None:
            continue
        number = 0
        for column in table.c:
            if not isinstance(column.type, sa.Text) or column.name == "workspace":
                continue
            for value in (*(BROKEN if column.name in JSON else ODD), *_no_text(conn)):
                number += 1
                copy = _copy(table, dict(row._mapping), number)
                unique = column.name in _unique(table)
                if isinstance(value, bytes):
                    wrong = value + str(number).encode() if unique else value
                    copy[column.name] = sa.cast(sa.literal(wrong, sa.LargeBinary), sa.Text)
                else:
                    copy[column.name] = f"{value}{number}" if unique else value
                if _put(conn, table, copy):
                    yield Planted(table.name, column.name, copy.get("id"), column.name in JSON)


def _no_text(conn: sa.Connection) -> tuple[bytes, ...]:
    """SQLite keeps any bytes as text."""
    return (b'{"a":"\xff"}',) if conn.dialect.name == "sqlite" else ()


def _unique(table: sa.Table) -> set[str]:
    found = {column.name for column in table.primary_key.columns}
    for one in table.constraints:
        if isinstance(one, sa.UniqueConstraint):
            found |= {column.name for column in one.columns}
    return found


def _copy(table: sa.Table, row: dict[str, Any], number: int) -> dict[str, Any]:
    made = dict(row)
    if table is instance:
        made |= {"unique_key": None, "root": row["root"]}
    for name in _unique(table):
        kind = table.c[name].type
        if name == "pos":
            del made[name]
        elif isinstance(kind, sa.Uuid) and name == "id":
            made[name] = uuid7()
        elif isinstance(kind, sa.Integer) and name != "pos":
            made[name] = row[name] + 1000 + number
        elif isinstance(kind, sa.Text) and name not in {"machine", "workspace"}:
            made[name] = f"{row[name]}-{number}"
    return made


def _put(conn: sa.Connection, table: sa.Table, row: dict[str, Any]) -> bool:
    try:
        with conn.begin_nested():
            conn.execute(sa.insert(table).values(**row))
    except sa.exc.IntegrityError:
        return False
    return True
