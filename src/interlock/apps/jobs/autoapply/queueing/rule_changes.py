"""Rules: added and changed by people, and previewed over the stored matches."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any
from uuid import UUID

import sqlalchemy as sa

from interlock.apps.jobs.autoapply.records import rules
from interlock.apps.jobs.autoapply.records.already_applied import applied_postings
from interlock.apps.jobs.autoapply.records.rules import RuleRow
from interlock.apps.jobs.autoapply.rules import ApplyRule, Candidate, RuleError, check_rule, preview
from interlock.apps.jobs.finder.intake import NotPossible
from interlock.apps.jobs.finder.postings.read_posting import ReadPosting
from interlock.apps.jobs.finder.records import postings
from interlock.apps.jobs.finder.records.postings import PostingRow
from interlock.apps.jobs.tables import posting as P
from interlock.engine import InvalidData, NotFound, Unreadable
from interlock.engine.application import Unit
from interlock.machine import Actor
from interlock.machine.transitions import PEOPLE

MOST_RULES = 100
MOST_LOOKED_AT = 1000
MOST_ON_PAGE = 50
"""Judging a posting takes up to 3 ms, and a page previews at once."""


def checked(given: Mapping[str, Any]) -> ApplyRule:
    """The rule of plain values. InvalidData names every problem with its key."""
    try:
        return check_rule(given)
    except RuleError as error:
        raise InvalidData(str(error)) from None


def require_person_for(rule: ApplyRule, actor: Actor) -> None:
    """Only a person may say that applications are sent without a person. An agent's token may not."""
    if actor.kind not in PEOPLE and not rule.require_user_approval:
        raise NotPossible("only a person may turn require_user_approval off; leave it on, or ask a person")


def add(unit: Unit, workspace: str, rule: ApplyRule, actor: Actor) -> RuleRow:
    require_person_for(rule, actor)
    if len(rules.of(unit.conn, workspace)) >= MOST_RULES:
        raise NotPossible(f"there are {MOST_RULES} rules already; delete one first")
    return rules.create(unit, workspace, rule, actor.name)


def replace(unit: Unit, workspace: str, rule_id: UUID, rule: ApplyRule, actor: Actor) -> RuleRow:
    """Store a changed rule. One that is paused by it pauses its applications; one that is resumed resumes them."""
    from interlock.apps.jobs.autoapply.review import deciding

    require_person_for(rule, actor)
    before = rules.find(unit.conn, workspace, rule_id)
    if before is None:
        raise NotFound(f"there is no rule {rule_id}")
    stored = rules.put(unit, workspace, rule_id, rule, actor.name)
    if rule.paused and not before.paused:
        deciding.pause_rule(unit, workspace, rule_id, actor)
    elif before.paused and not rule.paused:
        deciding.resume_rule(unit, workspace, rule_id, actor)
    return stored


def preview_of(
    conn: sa.Connection,
    workspace: str,
    rule: ApplyRule,
    *,
    stopped: Callable[[], bool] = lambda: False,
    most: int = MOST_LOOKED_AT,
) -> dict[str, Any]:
    """Which of the best stored matches a rule would select, and why not the others."""
    query = (
        sa.select(P)
        .where(P.c.workspace == workspace, P.c.outcome == postings.MATCHED, P.c.state != postings.CLOSED)
        .order_by(P.c.score.desc(), P.c.id)
        .limit(most)
    )
    rows = [PostingRow(found) for found in conn.execute(query)]
    applied = applied_postings(conn, workspace, rows)
    candidates, named = [], {}
    for row in rows:
        if stopped():
            break
        try:
            candidate = _candidate(row, row.id in applied)
        except Unreadable:
            continue
        candidates.append(candidate)
        named[candidate.key] = row
    made = preview(rule, candidates).json()
    for part in ("taken", "not_taken"):
        made[part] = [{**one, **_named(named.get(one["key"]))} for one in made[part]]
    return {"looked_at": len(candidates), **made}


def _candidate(row: PostingRow, applied: bool) -> Candidate:
    result = row.match_result or {}
    threshold, ruled = result.get("threshold"), result.get("rule_score")
    return Candidate(
        ReadPosting(row.posting),
        row.score,
        threshold if isinstance(threshold, int) else None,
        ruled if isinstance(ruled, int) else None,
        already_applied=applied,
    )


def _named(row: PostingRow | None) -> dict[str, Any]:
    if row is None:
        return {}
    return {"posting_id": str(row.id), "title": row.title, "company": row.company_name, "score": row.score}
