"""Whether all of auto-apply is stopped for a workspace, and whose applications they are."""

from __future__ import annotations

from dataclasses import dataclass

import sqlalchemy as sa

from interlock.apps.jobs.tables import apply_seeker as S
from interlock.engine.application import Unit
from interlock.store import Micros
from interlock.store.sql import upsert


@dataclass(frozen=True, slots=True)
class Stopped:
    """Who stopped all applications of a workspace, and when."""

    by: str
    at: Micros


def stopped(conn: sa.Connection, workspace: str) -> Stopped | None:
    """None while auto-apply is on."""
    row = conn.execute(sa.select(S).where(S.c.workspace == workspace, S.c.paused == 1)).first()
    return Stopped(row.paused_by or "", row.paused_at or 0) if row is not None else None


def stop(unit: Unit, workspace: str, by: str) -> None:
    _set(unit, workspace, paused=1, paused_by=by, paused_at=unit.now)


def start(unit: Unit, workspace: str) -> None:
    _set(unit, workspace, paused=0, paused_by=None, paused_at=None)


def _set(unit: Unit, workspace: str, **values: object) -> None:
    unit.conn.execute(
        upsert(S).values(workspace=workspace, **values).on_conflict_do_update(index_elements=["workspace"], set_=values)
    )
