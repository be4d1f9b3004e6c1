"""What people keep with an application: notes and contacts."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

import sqlalchemy as sa
from uuid_utils.compat import uuid7

from interlock.apps.jobs.autoapply.records.applications import ApplicationRow
from interlock.apps.jobs.board_tables import contact as P
from interlock.apps.jobs.board_tables import note as N
from interlock.engine import NotFound
from interlock.engine.application import Unit
from interlock.machine import InterlockError
from interlock.store import Micros

MOST = 500
"""Notes, or contacts, of one application."""


class TooMany(InterlockError):
    """An application has as many notes or contacts as it may have."""


@dataclass(frozen=True, slots=True)
class Note:
    id: UUID
    text: str
    made_by: str
    at: Micros


@dataclass(frozen=True, slots=True)
class Contact:
    """Somebody at the employer."""

    id: UUID
    name: str
    role: str | None
    email: str | None
    phone: str | None
    made_by: str
    at: Micros


def add_note(unit: Unit, row: ApplicationRow, text: str, actor: str) -> UUID:
    return _add(unit, N, row, actor, text=text)


def add_contact(
    unit: Unit,
    row: ApplicationRow,
    name: str,
    actor: str,
    *,
    role: str | None = None,
    email: str | None = None,
    phone: str | None = None,
) -> UUID:
    return _add(unit, P, row, actor, name=name, role=role, email=email, phone=phone)


def _add(unit: Unit, table: sa.Table, row: ApplicationRow, actor: str, **values: str | None) -> UUID:
    query = sa.select(sa.func.count()).select_from(table).where(table.c.application_id == row.id)
    if unit.conn.execute(query).scalar_one() >= MOST:
        raise TooMany(f"the application has {MOST} of them already; remove some")
    ident = uuid7()
    own = {"application_id": row.id, "instance_id": row.instance_id, "workspace": row.workspace}
    unit.conn.execute(sa.insert(table).values(id=ident, **own, made_by=actor, at=unit.now, **values))
    return ident


def remove_note(unit: Unit, workspace: str, application_id: UUID, note_id: UUID) -> None:
    _remove(unit, N, "note", workspace, application_id, note_id)


def remove_contact(unit: Unit, workspace: str, application_id: UUID, contact_id: UUID) -> None:
    _remove(unit, P, "contact", workspace, application_id, contact_id)


def _remove(unit: Unit, table: sa.Table, what: str, workspace: str, application_id: UUID, ident: UUID) -> None:
    mine = (table.c.id == ident, table.c.application_id == application_id, table.c.workspace == workspace)
    if not unit.conn.execute(sa.delete(table).where(*mine)).rowcount:
        raise NotFound(f"application {application_id} has no {what} {ident}")


def notes(conn: sa.Connection, application_id: UUID) -> list[Note]:
    """The newest first."""
    query = sa.select(N.c.id, N.c.text, N.c.made_by, N.c.at).where(N.c.application_id == application_id)
    return [Note(*row) for row in conn.execute(query.order_by(N.c.id.desc()).limit(MOST))]


def contacts(conn: sa.Connection, application_id: UUID) -> list[Contact]:
    """In the order in which they were added."""
    columns = (P.c.id, P.c.name, P.c.role, P.c.email, P.c.phone, P.c.made_by, P.c.at)
    query = sa.select(*columns).where(P.c.application_id == application_id)
    return [Contact(*row) for row in conn.execute(query.order_by(P.c.id).limit(MOST))]
