"""The specification's numbers by its own queries: queue lag, success, retries, reviews, over the last 24 hours.

Withdrawals by people say nothing against the machinery, so the rate of failures leaves them out; the rate of success is
the specification's and has them, with the reasons beside it.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import sqlalchemy as sa

from interlock.apps.jobs.autoapply.records.applications import GIVEN_UP
from interlock.apps.jobs.tables import applied as T
from interlock.store import SECOND, Micros, span

WINDOW = span(timedelta(hours=24))
STALE = span(timedelta(hours=48))
SENT = ("submitted", "interview_requested")
SAMPLES = 10
"""How many samples a rate or a mean needs before an alert is judged by it."""


@dataclass(frozen=True, slots=True)
class Numbers:
    """The numbers of a workspace, or of all. A mean or a rate of nothing is None."""

    queue_lag_seconds: float | None
    queue_samples: int
    success_rate: float | None
    failure_rate: float | None
    failure_samples: int
    ended: int
    retry_rate: float | None
    retry_samples: int
    review_backlog: int
    """Applications in review that were created more than 24 hours ago."""
    stale_reviews: int
    """Applications that have waited for a person for more than 48 hours."""
    oldest_review_seconds: float | None
    statuses: dict[str, int]
    withdrawn_by_reason: dict[str, int]

    def json(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__}


def numbers(conn: sa.Connection, now: Micros, workspace: str | None = None) -> Numbers:
    """The numbers now."""
    mine: list[sa.ColumnElement[bool]] = [T.c.instance_id.is_not(None)]
    if workspace is not None:
        mine.append(T.c.workspace == workspace)
    since = now - WINDOW
    lag, lagging = _lag(conn, mine, now, since)
    ends = _ends(conn, mine, since)
    submitted = sum(ends.get((status, ""), 0) for status in SENT)
    broken = sum(many for (status, why), many in ends.items() if status == "failed" or why in GIVEN_UP)
    ended = sum(ends.values())
    tries = conn.execute(
        sa.select(sa.func.count(), sa.func.sum(sa.case((T.c.attempt_count > 1, 1), else_=0))).where(
            *mine, T.c.attempt_count > 0, T.c.status_at > since
        )
    ).one()
    waiting = conn.execute(
        sa.select(
            sa.func.sum(sa.case((T.c.created_at < since, 1), else_=0)),
            sa.func.sum(sa.case((T.c.status_at < now - STALE, 1), else_=0)),
            sa.func.min(T.c.status_at),
        ).where(*mine, T.c.status == "requires_review")
    ).one()
    return Numbers(
        lag,
        lagging,
        _part(submitted, ended),
        _part(broken, submitted + broken),
        submitted + broken,
        ended,
        _part(int(tries[1] or 0), tries[0]),
        tries[0],
        int(waiting[0] or 0),
        int(waiting[1] or 0),
        (now - waiting[2]) / SECOND if waiting[2] is not None else None,
        _by(conn, mine, T.c.status),
        _by(conn, [*mine, T.c.status == "withdrawn", T.c.status_at > since], T.c.withdraw_reason),
    )


def _lag(
    conn: sa.Connection, mine: list[sa.ColumnElement[bool]], now: Micros, since: Micros
) -> tuple[float | None, int]:
    """AVG(processed_at - created_at). What is still queued counts with the time that it has waited so far."""
    until = sa.func.coalesce(T.c.processed_at, now)
    row = conn.execute(
        sa.select(sa.func.avg(until - T.c.created_at), sa.func.count()).where(
            *mine,
            sa.or_(T.c.processed_at > since, sa.and_(T.c.processed_at.is_(None), T.c.status == "queued")),
        )
    ).one()
    return (float(row[0]) / SECOND if row[1] else None), row[1]


def _ends(conn: sa.Connection, mine: list[sa.ColumnElement[bool]], since: Micros) -> dict[tuple[str, str], int]:
    """Applications that were submitted, failed or withdrawn lately, by status and reason."""
    why = sa.func.coalesce(T.c.withdraw_reason, "")
    rows = conn.execute(
        sa.select(T.c.status, why, sa.func.count())
        .where(*mine, T.c.status.in_((*SENT, "failed", "withdrawn")), T.c.status_at > since)
        .group_by(T.c.status, why)
    )
    return {(status, reason): many for status, reason, many in rows}


def _by(conn: sa.Connection, which: list[sa.ColumnElement[bool]], column: sa.ColumnElement[Any]) -> dict[str, int]:
    rows = conn.execute(sa.select(column, sa.func.count()).where(*which).group_by(column))
    return {str(name or ""): many for name, many in sorted(rows, key=lambda row: str(row[0]))}


def _part(some: int, of: int) -> float | None:
    return some / of if of else None


# -- for /metrics and the alert rules


def metrics(conn: sa.Connection, now: Micros) -> dict[str, float]:
    """What `/metrics` and the alert rules see. Means and rates of fewer than ten samples are left out."""
    found = numbers(conn, now)
    shown: dict[str, float] = {
        "apply_review_backlog": found.review_backlog,
        "apply_stale_reviews": found.stale_reviews,
        "apply_ended": found.ended,
    }
    if found.queue_lag_seconds is not None and found.queue_samples >= SAMPLES:
        shown["apply_queue_lag_seconds"] = found.queue_lag_seconds
    if found.success_rate is not None and found.ended >= SAMPLES:
        shown["apply_success_rate"] = found.success_rate
    if found.failure_rate is not None and found.failure_samples >= SAMPLES:
        shown["apply_failure_rate"] = found.failure_rate
    if found.retry_rate is not None and found.retry_samples >= SAMPLES:
        shown["apply_retry_rate"] = found.retry_rate
    return shown


ALERTS: list[dict[str, Any]] = [
    {"name": "jobs_apply_queue_lag", "metric": "jobs.apply_queue_lag_seconds", "threshold": 30 * 60},
    {"name": "jobs_apply_failure_rate", "metric": "jobs.apply_failure_rate", "threshold": 0.2},
    {"name": "jobs_apply_stale_reviews", "metric": "jobs.apply_stale_reviews", "threshold": 0},
]
"""High queue lag (30 minutes), high failure rate (20 %), reviews that have waited for 48 hours."""
