"""The router of the board's endpoints, and who may read and change what."""

from __future__ import annotations

from uuid import UUID

import sqlalchemy as sa

from interlock.apps.jobs.finder.scopes import JOBS, JOBS_READ
from interlock.apps.jobs.tables import applied as T
from interlock.engine import NotFound
from interlock.http.caller import need
from interlock.http.direct import Router
from interlock.people import Principal

router = Router(prefix="/api/auto-apply", tags=["auto-apply: after applying"])


def workspace_of_application(conn: sa.Connection, id: UUID, who: Principal, *, write: bool = False) -> str:
    """The workspace of an application, if the caller may read or change it. Those elsewhere do not exist for them."""
    place = conn.execute(sa.select(T.c.workspace).where(T.c.id == id)).scalar()
    if place is None or place not in who.workspaces:
        raise NotFound(f"there is no application {id}")
    if write or not who.may(JOBS, place):
        need(who, JOBS if write else JOBS_READ, place)
    return str(place)
