"""The router of the finder's endpoints, and who may read and change what."""

from __future__ import annotations

from typing import Annotated, TypeVar
from uuid import UUID

import sqlalchemy as sa
from fastapi import Query

from interlock.apps.jobs.finder.records import lists
from interlock.apps.jobs.finder.scopes import JOBS, JOBS_READ
from interlock.apps.jobs.tables import company as company_table
from interlock.apps.jobs.tables import posting as posting_table
from interlock.apps.jobs.tables import source as source_table
from interlock.engine import NotFound
from interlock.http.caller import need, require, workspace_of
from interlock.http.direct import Router
from interlock.people import Principal

router = Router(prefix="/api/jobs", tags=["job finder"])
R = TypeVar("R")
PAGE, BIGGEST_PAGE = 50, lists.BIGGEST_PAGE
TABLES = {"company": company_table, "source": source_table, "posting": posting_table}
Workspace = Annotated[str | None, Query(max_length=200, description="Needed only by callers of several.")]


def readable_workspace(who: Principal, named: str | None) -> str:
    """The workspace to read."""
    place = workspace_of(who, named)
    if place not in who.workspaces:
        raise NotFound(f"there is no workspace {place!r}")
    if not who.may(JOBS, place):
        need(who, JOBS_READ, place)
    return place


def writable_workspace(who: Principal, named: str | None) -> str:
    """The workspace to add to."""
    place = workspace_of(who, named)
    require(who, JOBS, place, f"workspace {place!r}")
    return place


def workspace_of_row(conn: sa.Connection, kind: str, id: UUID, who: Principal, *, write: bool = False) -> str:
    """The workspace of a row, if the caller may read or change it. Rows elsewhere do not exist for them."""
    table = TABLES[kind]
    place = conn.execute(sa.select(table.c.workspace).where(table.c.id == id)).scalar()
    if place is None or place not in who.workspaces:
        raise NotFound(f"there is no {kind} {id}")
    if write or not who.may(JOBS, place):
        need(who, JOBS if write else JOBS_READ, place)
    return str(place)


def existing(found: R | None, kind: str, id: UUID) -> R:
    if found is None:
        raise NotFound(f"there is no {kind} {id}")
    return found
