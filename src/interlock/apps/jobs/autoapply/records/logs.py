"""The specification's log (`auto_apply_logs`): every transition of an application, with who and why."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import sqlalchemy as sa

from interlock.apps.jobs.finder.records.stored import mapping
from interlock.apps.jobs.tables import apply_log as L
from interlock.engine.application import Unit
from interlock.store import Micros

LONGEST = 2000
"""Characters of a reason or an error that a row keeps."""


@dataclass(frozen=True, slots=True)
class LogRow:
    """One row of the log."""

    id: UUID
    workspace: str
    instance_id: UUID | None
    rule_id: UUID | None
    user_id: str
    trace_id: str
    at: Micros
    status: str
    from_status: str | None
    to_status: str | None
    event: str
    actor: str
    reason: str
    error: str | None
    details: str | None

    @property
    def said(self) -> Mapping[str, Any]:
        """The details as values."""
        return mapping(self.details) if self.details else {}


def write(
    unit: Unit,
    workspace: str,
    event: str,
    actor: str,
    *,
    status: str,
    instance_id: UUID | None = None,
    rule_id: UUID | None = None,
    user_id: str = "",
    trace_id: str = "",
    from_status: str | None = None,
    to_status: str | None = None,
    reason: str = "",
    error: str | None = None,
    details: Mapping[str, Any] | None = None,
) -> None:
    """Append a row."""
    unit.insert(
        L,
        workspace=workspace,
        instance_id=instance_id,
        rule_id=rule_id,
        user_id=user_id,
        trace_id=trace_id,
        at=unit.now,
        status=status,
        from_status=from_status,
        to_status=to_status,
        event=event,
        actor=actor,
        reason=reason[:LONGEST],
        error=error[:LONGEST] if error else None,
        details=json.dumps(details, ensure_ascii=False) if details else None,
    )


def page(
    conn: sa.Connection,
    workspace: str,
    *,
    application: UUID | None = None,
    rule: UUID | None = None,
    status: str | None = None,
    after: UUID | None = None,
    limit: int = 100,
) -> list[LogRow]:
    """The newest first. `after` is the id of the last row of the page before."""
    query = sa.select(L).where(L.c.workspace == workspace)
    for column, value in ((L.c.instance_id, application), (L.c.rule_id, rule), (L.c.status, status)):
        if value is not None:
            query = query.where(column == value)
    if after is not None:
        query = query.where(L.c.id < after)
    return [LogRow(**row._mapping) for row in conn.execute(query.order_by(L.c.id.desc()).limit(limit))]
