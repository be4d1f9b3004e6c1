"""Deleting all of a seeker's auto-apply data.

Applications under way are withdrawn first, each in a transaction of its own, and erased: their history keeps that there
was one, and nothing of what it said. Then every row of the workspace goes. What is left is which openings were applied
for, as ids alone, unless that is deleted too: without it the same opening could be applied for again.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from uuid import UUID

import sqlalchemy as sa

from interlock.apps.jobs.autoapply.exchange.seeker_tables import EXPORTED, OTHERS
from interlock.apps.jobs.autoapply.machine import WITHDRAWN, application
from interlock.apps.jobs.autoapply.records.applications import IMPORTED
from interlock.apps.jobs.tables import applied as T
from interlock.engine import Engine, NotFinished
from interlock.engine.application import Unit, erase, find, fire, force
from interlock.machine import Actor, InterlockError

PAGE = 200


@dataclass(slots=True)
class Deleted:
    """What was deleted, and what could not be."""

    withdrawn: int = 0
    erased: int = 0
    rows: int = 0
    left: list[str] = field(default_factory=list)
    """Applications that could not be erased, with the reason."""


def delete_all(engine: Engine, workspace: str, actor: Actor, reason: str, *, forget_openings: bool = False) -> Deleted:
    """Delete everything. Calling it again goes on where it stopped."""
    report = Deleted()
    after: UUID | None = None
    while True:
        found = engine.read(lambda conn, after=after: _instances(conn, workspace, after))  # type: ignore[misc]
        for ident in found:
            _erase(engine, ident, actor, reason, report)
        if len(found) < PAGE:
            break
        after = found[-1]
    engine.write(lambda unit: _clear(unit, workspace, forget_openings, report), name="delete_all")
    return report


def _instances(conn: sa.Connection, workspace: str, after: UUID | None) -> list[UUID]:
    query = sa.select(T.c.instance_id).where(T.c.workspace == workspace, T.c.instance_id.is_not(None))
    if after is not None:
        query = query.where(T.c.instance_id > after)
    return list(conn.execute(query.order_by(T.c.instance_id).limit(PAGE)).scalars())


def _erase(engine: Engine, ident: UUID, actor: Actor, reason: str, report: Deleted) -> None:
    def withdraw(unit: Unit) -> int:
        found = find(unit.conn, ident, machine=application.name)
        if found is None or found.erased or found.finished_at is not None:
            return 0
        try:
            fire(unit, ident, "withdraw", actor, reason=reason)
        except InterlockError:
            force(unit, ident, WITHDRAWN, actor, reason)
        return 1

    def empty(unit: Unit) -> int:
        found = find(unit.conn, ident, machine=application.name)
        if found is None or found.erased:
            return 0
        erase(unit, ident, actor, reason)
        return 1

    try:
        report.withdrawn += engine.write(withdraw, name="delete_all")
        report.erased += engine.write(empty, name="delete_all")
    except NotFinished as error:
        report.left.append(f"{ident}: {error}")


def _clear(unit: Unit, workspace: str, forget_openings: bool, report: Deleted) -> None:
    for table in (*EXPORTED.values(), *OTHERS):
        mine = [table.c.workspace == workspace]
        if table is T and not forget_openings:
            mine.append(T.c.origin == IMPORTED)
        report.rows += unit.conn.execute(sa.delete(table).where(*mine)).rowcount
