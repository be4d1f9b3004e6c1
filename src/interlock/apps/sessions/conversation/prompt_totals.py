"""Prompts of many sessions, counted for lists."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from uuid import UUID

import sqlalchemy as sa

from interlock.apps.sessions.conversation.prompts import MILLION, PENDING
from interlock.apps.sessions.tables import session_prompt as P


@dataclass(frozen=True, slots=True)
class PromptTotals:
    """Prompts of one session, counted."""

    prompts: int = 0
    waiting: int = 0
    cost: int = 0
    """In millionths of a dollar; prompts without a known cost count as nothing."""
    last: str = ""
    """The text of the newest prompt."""

    @property
    def cost_usd(self) -> float:
        return self.cost / MILLION


def prompt_totals(conn: sa.Connection, session_ids: Iterable[UUID]) -> dict[UUID, PromptTotals]:
    ids = list(session_ids)
    if not ids:
        return {}
    counted = conn.execute(
        sa.select(
            P.c.instance_id,
            sa.func.count().label("n"),
            sa.func.sum(sa.case((P.c.inbox_status == PENDING, 1), else_=0)).label("waiting"),
            sa.func.coalesce(sa.func.sum(P.c.cost), 0).label("cost"),
            sa.func.max(P.c.number).label("newest"),
        )
        .where(P.c.instance_id.in_(ids))
        .group_by(P.c.instance_id)
    ).all()
    newest = {
        row.instance_id: row.text
        for row in conn.execute(
            sa.select(P.c.instance_id, P.c.text).where(
                sa.tuple_(P.c.instance_id, P.c.number).in_([(row.instance_id, row.newest) for row in counted])
            )
        )
    }
    return {
        row.instance_id: PromptTotals(row.n, int(row.waiting or 0), int(row.cost), newest.get(row.instance_id, ""))
        for row in counted
    }
