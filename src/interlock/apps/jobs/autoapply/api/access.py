"""The routers of auto-apply's endpoints, and who may read and change what."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar
from uuid import UUID

import sqlalchemy as sa

from interlock.apps.jobs.autoapply.board.access import workspace_of_application
from interlock.apps.jobs.finder.scopes import JOBS, JOBS_READ
from interlock.apps.jobs.tables import apply_rule as R
from interlock.engine import NotFound
from interlock.http.caller import need
from interlock.http.direct import Router
from interlock.people import Principal

F = TypeVar("F", bound=Callable[..., Any])
described = Router(prefix="/api/auto-apply", tags=["auto-apply"])
plain = Router(prefix="/auto-apply", include_in_schema=False)
routers = [described, plain]


def endpoint(method: str, path: str, **options: Any) -> Callable[[F], F]:
    """Declare an endpoint under both prefixes."""

    def register(function: F) -> F:
        for router in routers:
            router.api_route(path, methods=[method], **options)(function)
        return function

    return register


def workspace_of_rule(conn: sa.Connection, id: UUID, who: Principal, *, write: bool = False) -> str:
    """The workspace of a rule, if the caller may read or change it. Rules elsewhere do not exist for them."""
    place = conn.execute(sa.select(R.c.workspace).where(R.c.id == id, R.c.deleted_at.is_(None))).scalar()
    if place is None or place not in who.workspaces:
        raise NotFound(f"there is no rule {id}")
    if write or not who.may(JOBS, place):
        need(who, JOBS if write else JOBS_READ, place)
    return str(place)


__all__ = ["described", "endpoint", "plain", "routers", "workspace_of_application", "workspace_of_rule"]
