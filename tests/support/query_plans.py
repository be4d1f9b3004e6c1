"""Query plans: fifty thousand instances, and what a database says of how it reads them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import psycopg
import sqlalchemy as sa

from interlock.machine import Go, Outcome
from interlock.store import micros
from interlock.testing import START
from tests.support.effects_and_reviews import parcel, visit

ROWS = 50_000
NOW = micros(START)
HOLDER, ROOT = uuid4(), uuid4()


def _never(_: Any) -> Outcome:
    return Go("done")


MACHINES = [
    parcel.with_handlers({"packing": _never, "posting": _never}),
    visit.with_handlers({"working": _never, "held": _never}),
]
# Of every 50 rows so many are …: what is ready or due is rare among what is not.
MIX = """CASE WHEN n % 50 < 5 THEN 'finished' WHEN n % 50 < 10 THEN 'paused' WHEN n % 50 < 15 THEN 'blocked'
         WHEN n % 50 < 43 THEN 'future' WHEN n % 50 = 44 THEN 'ready' WHEN n % 50 = 45 THEN 'resume'
         WHEN n % 50 = 46 THEN 'resume later' WHEN n % 50 = 47 THEN 'held' WHEN n % 50 = 48 THEN 'waiting'
         ELSE 'waiting long' END"""
COLUMNS = {
    "machine": "CASE WHEN n % 3 = 0 THEN 'visit' ELSE 'parcel' END",
    "version": "1",
    "workspace": "'default'",
    "key": "'key ' || n",
    "unique_key": "CASE WHEN what = 'finished' THEN NULL ELSE 'key ' || n END",
    "state": "CASE WHEN what = 'finished' THEN 'done' WHEN n % 3 = 0 THEN 'working' ELSE 'packing' END",
    "seq": "1",
    "data": '\'{"desk":"1","user":"ann"}\'',
    "queue": "CASE WHEN n % 3 = 0 THEN 'visit' ELSE 'parcel' END",
    "priority": "n / 7 % 4",
    "wake": """CASE what WHEN 'blocked' THEN 'blocked' WHEN 'future' THEN 'work' WHEN 'ready' THEN 'work'
               WHEN 'resume' THEN 'resume' WHEN 'resume later' THEN 'resume' WHEN 'held' THEN 'lease' END""",
    "due_at": """CASE what WHEN 'blocked' THEN {now} - n WHEN 'future' THEN {now} + 1000000 + n
                 WHEN 'ready' THEN {now} - n WHEN 'resume' THEN {now} - n WHEN 'resume later' THEN {now} + 1000000 + n
                 WHEN 'held' THEN {now} - 500 + n / 50 END""",
    "due_event": "CASE WHEN what LIKE 'resume%' THEN 'retry' END",
    "timer_at": """CASE what WHEN 'paused' THEN {now} - n WHEN 'waiting' THEN {now} - n
                   WHEN 'waiting long' THEN {now} + 1000000 + n END""",
    "fence": "1",
    "blocked_on": "CASE WHEN what = 'blocked' THEN 'desk/' || n % 20 END",
    "paused_at": "CASE WHEN what = 'paused' THEN {now} END",
    "paused_wake": "CASE WHEN what = 'paused' THEN 'work' END",
    "trace_id": "'t'",
    "created_at": "{now}",
    "entered_at": "{now}",
    "updated_at": "{now}",
    "finished_at": "CASE WHEN what = 'finished' THEN {now} END",
}
DIALECT = {
    "sqlite": {
        "id": "printf('%032x', n)",
        "root": "printf('%032x', n)",
        "head": "x''",
        "holder": f"CASE WHEN what = 'held' THEN CASE WHEN n = 47 THEN '{HOLDER.hex}' ELSE printf('%032x', n) END END",
        "parent": f"CASE WHEN n % 1000 = 0 THEN '{ROOT.hex}' END",
    },
    "postgresql": {
        "id": "lpad(to_hex(n), 32, '0')::uuid",
        "root": "lpad(to_hex(n), 32, '0')::uuid",
        "head": "''::bytea",
        "holder": f"CASE WHEN what = 'held' THEN CASE WHEN n = 47 THEN '{HOLDER}'::uuid "
        "ELSE lpad(to_hex(n), 32, '0')::uuid END END",
        "parent": f"CASE WHEN n % 1000 = 0 THEN '{ROOT}'::uuid END",
    },
}
NUMBERS = {
    "sqlite": f"WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < {ROWS})",
    "postgresql": f"WITH numbers AS (SELECT generate_series(1, {ROWS}) AS n)",
}


def fill(conn: sa.Connection) -> None:
    """Fifty thousand rows in one statement."""
    dialect = conn.dialect.name
    columns = {**COLUMNS, **DIALECT[dialect]}
    conn.exec_driver_sql(
        f"INSERT INTO instance ({', '.join(columns)}) {NUMBERS[dialect]} "
        f"SELECT {', '.join(columns.values())} FROM (SELECT n, {MIX} AS what FROM numbers) AS mixed".replace(
            "{now}", str(NOW)
        ).replace("%", "%%" if dialect == "postgresql" else "%")
    )
    conn.exec_driver_sql("ANALYZE")


@dataclass
class CaughtStatement:
    """A statement as the engine sent it."""

    statement: str
    parameters: Any


def sqlite_plan(conn: sa.Connection, asked: CaughtStatement) -> list[str]:
    return [row[3] for row in conn.exec_driver_sql(f"EXPLAIN QUERY PLAN {asked.statement}", tuple(asked.parameters))]


def postgres_plan(conn: sa.Connection, asked: CaughtStatement, mode: str) -> dict[str, Any]:
    """The plan of the prepared statement, as the server makes it in this mode."""
    raw: Any = conn.connection.driver_connection
    values: list[Any] = []

    def number(match: re.Match[str]) -> str:
        name = match.group(1)
        values.append(asked.parameters[name] if name else asked.parameters[len(values)])
        return f"${len(values)}"

    statement = re.sub(r"%(?:\((\w+)\))?s", number, asked.statement)
    name = f"p{uuid4().hex}"
    with psycopg.ClientCursor(raw) as cursor:
        cursor.execute(f"SET plan_cache_mode = {mode}")
        cursor.execute(f"PREPARE {name} AS {statement}")
        arguments = f"({', '.join(['%s'] * len(values))})" if values else ""
        cursor.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) EXECUTE {name}{arguments}", values)
        answer = cursor.fetchall()[0][0]
        plan: dict[str, Any] = (json.loads(answer) if isinstance(answer, str) else answer)[0]["Plan"]
        return plan


def nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for child in plan.get("Plans", ()):
        yield from nodes(child)
