"""Auto-apply rules of a workspace."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from typing import Any
from uuid import UUID

import sqlalchemy as sa
from uuid_utils.compat import uuid7

from interlock.apps.jobs.autoapply.rules.criteria import ApplyRule, RuleError, check_rule
from interlock.apps.jobs.tables import apply_rule as R
from interlock.engine import Unreadable
from interlock.engine.application import Unit
from interlock.store import Micros


@dataclass(frozen=True, slots=True)
class RuleRow:
    """A rule as it is stored."""

    id: UUID
    workspace: str
    rule: ApplyRule
    digest: str
    """Of the criteria; a rule with another one judges every posting again."""
    created_by: str
    created_at: Micros
    changed_by: str
    changed_at: Micros

    @property
    def name(self) -> str:
        return self.rule.name

    @property
    def paused(self) -> bool:
        return self.rule.paused


def create(unit: Unit, workspace: str, rule: ApplyRule, by: str) -> RuleRow:
    made = uuid7()
    unit.conn.execute(
        sa.insert(R).values(
            id=made,
            workspace=workspace,
            created_by=by,
            created_at=unit.now,
            **_values(rule, by, unit.now),
        )
    )
    return existing(unit.conn, workspace, made)


def put(unit: Unit, workspace: str, rule_id: UUID, rule: ApplyRule, by: str) -> RuleRow:
    """Store the rule in place of the one before."""
    mine = (R.c.id == rule_id, R.c.workspace == workspace)
    unit.conn.execute(sa.update(R).where(*mine).values(_values(rule, by, unit.now)))
    return existing(unit.conn, workspace, rule_id)


def delete(unit: Unit, workspace: str, rule_id: UUID, by: str) -> None:
    """Delete a rule. Its row stays for the applications that it made."""
    mine = (R.c.id == rule_id, R.c.workspace == workspace)
    unit.conn.execute(sa.update(R).where(*mine).values(deleted_at=unit.now, changed_by=by, changed_at=unit.now))


def find(conn: sa.Connection, workspace: str, rule_id: UUID, *, lock: bool = False) -> RuleRow | None:
    query = sa.select(R).where(R.c.id == rule_id, R.c.workspace == workspace, R.c.deleted_at.is_(None))
    row = conn.execute(query.with_for_update() if lock else query).first()
    return _row(row) if row is not None else None


def existing(conn: sa.Connection, workspace: str, rule_id: UUID) -> RuleRow:
    found = find(conn, workspace, rule_id)
    assert found is not None
    return found


def of(conn: sa.Connection, workspace: str) -> list[RuleRow]:
    """All rules of a workspace, the oldest first."""
    query = sa.select(R).where(R.c.workspace == workspace, R.c.deleted_at.is_(None)).order_by(R.c.id)
    return [_row(row) for row in conn.execute(query)]


def names(conn: sa.Connection, workspace: str) -> dict[UUID, str]:
    """The names of all rules, deleted ones too."""
    return {row.id: row.name for row in conn.execute(sa.select(R.c.id, R.c.name).where(R.c.workspace == workspace))}


def workspaces(conn: sa.Connection) -> list[str]:
    """Workspaces with a rule that is on."""
    query = sa.select(R.c.workspace).where(R.c.deleted_at.is_(None), R.c.paused == 0).distinct()
    return list(conn.execute(query.order_by(R.c.workspace)).scalars())


def plain(rule: ApplyRule) -> dict[str, Any]:
    """The rule as plain values, without what it leaves out."""
    found: dict[str, Any] = rule.model_dump(mode="json", exclude_none=True)
    return found


def _values(rule: ApplyRule, by: str, now: Micros) -> dict[str, Any]:
    text = json.dumps(plain(rule), ensure_ascii=False, sort_keys=True)
    judged = {name: value for name, value in plain(rule).items() if name not in ("name", "paused")}
    digest = sha256(json.dumps(judged, ensure_ascii=False, sort_keys=True).encode()).hexdigest()
    return {
        "name": rule.name,
        "rule": text,
        "digest": digest,
        "paused": int(rule.paused),
        "changed_by": by,
        "changed_at": now,
    }


def _row(row: Any) -> RuleRow:
    return RuleRow(
        row.id,
        row.workspace,
        _parsed(row.rule),
        row.digest,
        row.created_by,
        row.created_at,
        row.changed_by,
        row.changed_at,
    )


@lru_cache(maxsize=64)
def _parsed(text: str) -> ApplyRule:
    try:
        found = json.loads(text)
        return check_rule(found if isinstance(found, dict) else {})
    except (ValueError, RuleError) as error:
        raise Unreadable(f"a stored rule cannot be read: {error}; set it again") from None
