"""Dates of an application: the follow-up that each gets, appointments, and what is due."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from uuid import UUID

import sqlalchemy as sa
from uuid_utils.compat import uuid7

from interlock.apps.jobs.autoapply.records.applications import ApplicationRow
from interlock.apps.jobs.board_tables import date as D
from interlock.engine import NotFound
from interlock.engine.application import Unit
from interlock.machine import InterlockError
from interlock.store import Micros, span

MOST = 200
"""Dates of one application."""
BY_ITSELF = "system"
FOLLOW_UP = "Ask how the application is going"


class DateKind(StrEnum):
    """What a date is for."""

    FOLLOW_UP = "follow_up"
    INTERVIEW = "interview"
    DEADLINE = "deadline"
    OTHER = "other"


class WrongDate(InterlockError):
    """A date cannot be like that."""


@dataclass(frozen=True, slots=True)
class BoardDate:
    """A follow-up or an appointment."""

    id: UUID
    application_id: UUID
    kind: DateKind
    what: str
    at: Micros
    until: Micros | None
    place: str | None
    made_by: str
    made_at: Micros
    done_at: Micros | None
    done_by: str | None


def add_follow_up(unit: Unit, row: ApplicationRow, submitted_at: Micros, days: int) -> UUID:
    """The follow-up that an application gets by itself."""
    at = submitted_at + span(timedelta(days=days))
    return add(unit, row, DateKind.FOLLOW_UP, FOLLOW_UP, at, BY_ITSELF)


def add(
    unit: Unit,
    row: ApplicationRow,
    kind: DateKind,
    what: str,
    at: Micros,
    actor: str,
    *,
    until: Micros | None = None,
    place: str | None = None,
) -> UUID:
    """Add a date. Raises WrongDate where it ends before it begins, or there are too many."""
    if until is not None and until < at:
        raise WrongDate("the date ends before it begins; give a later end")
    query = sa.select(sa.func.count()).select_from(D).where(D.c.application_id == row.id)
    if unit.conn.execute(query).scalar_one() >= MOST:
        raise WrongDate(f"the application has {MOST} dates already; remove some")
    ident = uuid7()
    unit.conn.execute(
        sa.insert(D).values(
            id=ident,
            application_id=row.id,
            instance_id=row.instance_id,
            workspace=row.workspace,
            kind=kind,
            what=what,
            at=at,
            until=until,
            place=place,
            made_by=actor,
            made_at=unit.now,
        )
    )
    return ident


def finish(unit: Unit, workspace: str, application_id: UUID, date_id: UUID, actor: str) -> BoardDate:
    """Mark a date as done; one that is done stays as it is."""
    find(unit.conn, workspace, application_id, date_id)
    unit.conn.execute(
        sa.update(D).where(D.c.id == date_id, D.c.done_at.is_(None)).values(done_at=unit.now, done_by=actor)
    )
    return find(unit.conn, workspace, application_id, date_id)


def put_off(unit: Unit, workspace: str, application_id: UUID, date_id: UUID, at: Micros) -> BoardDate:
    """Move a date to another time. What was done is open again, and its length stays."""
    known = find(unit.conn, workspace, application_id, date_id)
    until = at + (known.until - known.at) if known.until is not None else None
    unit.conn.execute(sa.update(D).where(D.c.id == date_id).values(at=at, until=until, done_at=None, done_by=None))
    return find(unit.conn, workspace, application_id, date_id)


def remove(unit: Unit, workspace: str, application_id: UUID, date_id: UUID) -> None:
    find(unit.conn, workspace, application_id, date_id)
    unit.conn.execute(sa.delete(D).where(D.c.id == date_id))


def finish_all(unit: Unit, application_id: UUID, actor: str) -> None:
    """Nothing is due any more for a closed application."""
    _finish(unit, application_id, actor, D.c.id.is_not(None))


def finish_follow_ups(unit: Unit, application_id: UUID, actor: str) -> None:
    """The employer replied, so the follow-up that was made by itself is not needed."""
    _finish(unit, application_id, actor, D.c.kind == DateKind.FOLLOW_UP, D.c.made_by == BY_ITSELF)


def _finish(unit: Unit, application_id: UUID, actor: str, *which: sa.ColumnElement[bool]) -> None:
    mine = (D.c.application_id == application_id, D.c.done_at.is_(None), *which)
    unit.conn.execute(sa.update(D).where(*mine).values(done_at=unit.now, done_by=actor))


def find(conn: sa.Connection, workspace: str, application_id: UUID, date_id: UUID) -> BoardDate:
    mine = (D.c.id == date_id, D.c.application_id == application_id, D.c.workspace == workspace)
    found = _dates(conn, sa.select(D).where(*mine))
    if not found:
        raise NotFound(f"application {application_id} has no date {date_id}")
    return found[0]


def of(conn: sa.Connection, application_id: UUID) -> list[BoardDate]:
    """The dates of an application, the earliest first."""
    return _dates(conn, sa.select(D).where(D.c.application_id == application_id).order_by(D.c.at, D.c.id).limit(MOST))


def due(conn: sa.Connection, workspace: str, until: Micros, limit: int = 200) -> list[BoardDate]:
    """Open dates up to a time, the earliest first."""
    query = sa.select(D).where(D.c.workspace == workspace, D.c.done_at.is_(None), D.c.at <= until)
    return _dates(conn, query.order_by(D.c.at, D.c.id).limit(limit))


def _dates(conn: sa.Connection, query: sa.Select[tuple[object, ...]]) -> list[BoardDate]:
    names = BoardDate.__dataclass_fields__
    return [
        BoardDate(**{**{name: row[name] for name in names}, "kind": DateKind(row["kind"])})
        for row in conn.execute(query).mappings()
    ]
