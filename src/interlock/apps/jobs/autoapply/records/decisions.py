"""Decisions of rules about postings, with every check; and the postings that a rule has not decided about yet."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import sqlalchemy as sa
from uuid_utils.compat import uuid7

from interlock.apps.jobs.autoapply.records.rules import RuleRow
from interlock.apps.jobs.autoapply.rules.decision import Decision
from interlock.apps.jobs.finder.records import postings
from interlock.apps.jobs.finder.records.postings import PostingRow
from interlock.apps.jobs.finder.records.stored import items
from interlock.apps.jobs.tables import apply_decision as D
from interlock.apps.jobs.tables import posting as P
from interlock.engine.application import Unit
from interlock.store import Micros
from interlock.store.sql import upsert


@dataclass(frozen=True, slots=True)
class DecisionRow:
    """The last decision of a rule about a posting."""

    id: UUID
    workspace: str
    rule_id: UUID
    posting_id: UUID
    judged_on: str
    taken: bool
    needs_approval: bool
    summary: str
    blocked_by: str
    checks: str
    decided_at: Micros
    again_at: Micros | None
    application_id: UUID | None

    @property
    def all_checks(self) -> list[Any]:
        return items(self.checks)


def undecided(conn: sa.Connection, rule: RuleRow, now: Micros, limit: int) -> list[UUID]:
    """Matches that the rule has not decided about, or decides about again, the best first.

    A decision is made again when the rule's criteria, the posting, its score or its state changed, and where only the
    moment was in the way, after a while. What a rule took it does not take a second time.
    """
    mine = sa.and_(D.c.rule_id == rule.id, D.c.posting_id == P.c.id)
    stale = sa.and_(D.c.taken == 0, sa.or_(D.c.judged_on != _judged_on_column(rule), D.c.again_at <= now))
    query = (
        sa.select(P.c.id)
        .select_from(P.outerjoin(D, mine))
        .where(
            P.c.workspace == rule.workspace,
            P.c.outcome == postings.MATCHED,
            P.c.state != postings.CLOSED,
            sa.or_(P.c.decision.is_(None), P.c.decision != "dismissed"),
            sa.or_(D.c.id.is_(None), stale),
        )
        .order_by(P.c.score.desc(), P.c.id)
        .limit(limit)
    )
    return list(conn.execute(query).scalars())


def put(
    unit: Unit,
    rule: RuleRow,
    posting: PostingRow,
    decision: Decision,
    *,
    again_at: Micros | None = None,
    application_id: UUID | None = None,
) -> None:
    """Store a decision in place of the rule's last one about the posting."""
    values = {
        "judged_on": judged_on(rule, posting),
        "taken": int(decision.taken),
        "needs_approval": int(decision.needs_approval),
        "summary": decision.summary[:2000],
        "blocked_by": ",".join(dict.fromkeys(one.name for one in decision.blocked_by)),
        "checks": json.dumps([one.json() for one in decision.checks], ensure_ascii=False),
        "decided_at": unit.now,
        "again_at": again_at,
        "application_id": application_id,
    }
    row = upsert(D).values(id=uuid7(), workspace=rule.workspace, rule_id=rule.id, posting_id=posting.id, **values)
    unit.conn.execute(row.on_conflict_do_update(index_elements=["rule_id", "posting_id"], set_=values))


def page(
    conn: sa.Connection,
    workspace: str,
    *,
    rule: UUID | None = None,
    posting: UUID | None = None,
    taken: bool | None = None,
    blocked_by: str | None = None,
    after: UUID | None = None,
    limit: int = 100,
) -> list[DecisionRow]:
    """The newest first. `after` is the id of the last row of the page before."""
    query = sa.select(D).where(D.c.workspace == workspace)
    if rule is not None:
        query = query.where(D.c.rule_id == rule)
    if posting is not None:
        query = query.where(D.c.posting_id == posting)
    if taken is not None:
        query = query.where(D.c.taken == int(taken))
    if blocked_by is not None:
        query = query.where(("," + D.c.blocked_by + ",").contains(f",{blocked_by},", autoescape=True))
    if after is not None:
        query = query.where(D.c.id < after)
    return [_row(row) for row in conn.execute(query.order_by(D.c.id.desc()).limit(limit))]


def blocked_counts(conn: sa.Connection, rule: UUID) -> dict[str, int]:
    """How many postings each check excludes from a rule."""
    rows: Sequence[Any] = conn.execute(
        sa.select(D.c.blocked_by, sa.func.count()).where(D.c.rule_id == rule, D.c.taken == 0).group_by(D.c.blocked_by)
    ).all()
    found: dict[str, int] = {}
    for names, many in rows:
        for name in filter(None, names.split(",")):
            found[name] = found.get(name, 0) + many
    return dict(sorted(found.items()))


def posting_names(conn: sa.Connection, workspace: str, ids: Sequence[UUID]) -> dict[UUID, tuple[str, str]]:
    """The title and the company of each of these postings."""
    query = sa.select(P.c.id, P.c.title, P.c.company_name).where(P.c.workspace == workspace, P.c.id.in_(list(ids)))
    return {row.id: (row.title or "", row.company_name or "") for row in conn.execute(query)} if ids else {}


def judged_on(rule: RuleRow, posting: PostingRow) -> str:
    """What a decision was made on: the criteria, the posting's text, score and state."""
    return f"{rule.digest[:16]}.{posting.content_hash}.{posting.score}.{posting.state}"


def _judged_on_column(rule: RuleRow) -> sa.ColumnElement[str]:
    score = sa.func.coalesce(sa.cast(P.c.score, sa.Text), "None")
    return sa.literal(f"{rule.digest[:16]}.") + P.c.content_hash + "." + score + "." + P.c.state


def _row(row: Any) -> DecisionRow:
    values = dict(row._mapping)
    return DecisionRow(**{**values, "taken": bool(row.taken), "needs_approval": bool(row.needs_approval)})
