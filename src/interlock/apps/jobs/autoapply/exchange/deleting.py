"""Deleting all of a seeker's auto-apply data.

Rules are stopped first, so that they queue nothing meanwhile. Applications under way are withdrawn, each in a
transaction of its own, and erased: their history keeps that there was one, and nothing of what it said. Then every row
of the workspace goes. What is left is which openings were applied for, as ids alone, unless that is deleted too:
without it the same opening could be applied for again.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from uuid import UUID

import sqlalchemy as sa

from interlock.apps.jobs.autoapply.exchange.seeker_tables import EXPORTED, OTHERS
from interlock.apps.jobs.autoapply.machine import WITHDRAWN, application
from interlock.apps.jobs.autoapply.records import seekers
from interlock.apps.jobs.autoapply.records.already_applied import lock_seeker
from interlock.apps.jobs.autoapply.records.applications import IMPORTED, hashed
from interlock.apps.jobs.tables import applied as T
from interlock.engine import Engine
from interlock.engine.application import Unit, erase, error_summary, find, fire, force, must_raise
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
    kept: list[UUID] = field(default_factory=list)
    """Their ids: their records stay, so that another call finds them."""


def delete_all(engine: Engine, workspace: str, actor: Actor, reason: str, *, forget_openings: bool = False) -> Deleted:
    """Delete everything. Calling it again continues where it stopped."""
    report = Deleted()
    engine.write(lambda unit: _stop(unit, workspace, actor), name="delete_all")
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


def _stop(unit: Unit, workspace: str, actor: Actor) -> None:
    lock_seeker(unit, workspace)
    seekers.stop(unit, workspace, actor.name)


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
    except BaseException as error:
        if must_raise(error):
            raise
        report.left.append(f"{ident}: {error_summary(error)}")
        report.kept.append(ident)


def _clear(unit: Unit, workspace: str, forget_openings: bool, report: Deleted) -> None:
    for table in (*EXPORTED.values(), *OTHERS):
        if table is T and not forget_openings:
            report.rows += _empty_imported(unit, workspace)
            continue
        mine = [table.c.workspace == workspace]
        if table is T:
            mine.append(sa.or_(T.c.instance_id.is_(None), T.c.instance_id.not_in(report.kept)))
        report.rows += unit.conn.execute(sa.delete(table).where(*mine)).rowcount


def _empty_imported(unit: Unit, workspace: str) -> int:
    """Imported applications have no instance that is erased: of them, too, only ids are kept."""
    mine = (T.c.workspace == workspace, T.c.origin == IMPORTED, T.c.company != "")
    found = unit.conn.execute(sa.select(T.c.id, T.c.url_key).where(*mine)).all()
    for row in found:
        kept = {"title": "", "company": "", "board": "", "source": None, "url": None}
        key = hashed(row.url_key) if row.url_key else None
        unit.conn.execute(sa.update(T).where(T.c.id == row.id).values(**kept, url_key=key))
    return len(found)
