"""The answer bank of a workspace: what its user answered to questions of forms."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import sha256
from typing import Any
from uuid import UUID

import sqlalchemy as sa
from pydantic import ValidationError
from uuid_utils.compat import uuid7

from interlock.apps.jobs.autoapply.answers.bank import SavedAnswer, Scope
from interlock.apps.jobs.tables import saved_answer as A
from interlock.engine.application import Unit
from interlock.store import Micros
from interlock.store.sql import upsert


@dataclass(frozen=True, slots=True)
class AnswerRow:
    """A saved answer, and who saved it when."""

    id: UUID
    answer: SavedAnswer
    saved_by: str
    saved_at: Micros
    used_at: Micros | None


def page(conn: sa.Connection, workspace: str, *, limit: int = 5000) -> list[AnswerRow]:
    """The answers that can be read, the oldest first."""
    query = sa.select(A).where(A.c.workspace == workspace).order_by(A.c.id).limit(limit)
    found = ((row, _answer(row)) for row in conn.execute(query))
    return [AnswerRow(row.id, one, row.saved_by, row.saved_at, row.used_at) for row, one in found if one is not None]


def bank(conn: sa.Connection, workspace: str) -> tuple[SavedAnswer, ...]:
    """The answers as the resolver takes them."""
    return tuple(one.answer for one in page(conn, workspace))


def remember(unit: Unit, workspace: str, saved: SavedAnswer, by: str) -> UUID:
    """Store an answer, in place of an older one for the same use."""
    values = {
        "label": saved.label,
        "options_key": saved.options_key,
        "value": json.dumps(saved.value, ensure_ascii=False),
        "scope": saved.scope.value,
        "company": saved.company,
        "instance_id": UUID(saved.application) if saved.application else None,
        "saved_by": by,
        "saved_at": unit.now,
    }
    stored = upsert(A).values(
        id=uuid7(), workspace=workspace, answer_key=key_of(saved), uses=saved.uses, used_at=None, **values
    )
    made = unit.conn.execute(
        stored.on_conflict_do_update(index_elements=["workspace", "answer_key"], set_=values).returning(A.c.id)
    )
    found: UUID = made.scalar_one()
    return found


def count_uses(unit: Unit, workspace: str, used: Iterable[SavedAnswer]) -> None:
    """Count one more use of each of these answers."""
    keys = sorted({key_of(one) for one in used})
    if keys:
        mine = (A.c.workspace == workspace, A.c.answer_key.in_(keys))
        unit.conn.execute(sa.update(A).where(*mine).values(uses=A.c.uses + 1, used_at=unit.now))


def forget(unit: Unit, workspace: str, answer_id: UUID) -> bool:
    """Delete an answer. False if there is none."""
    return unit.conn.execute(sa.delete(A).where(A.c.workspace == workspace, A.c.id == answer_id)).rowcount > 0


def key_of(saved: SavedAnswer) -> str:
    """A digest of what the answer may be used for."""
    return sha256(json.dumps(saved.key, ensure_ascii=False).encode()).hexdigest()


def _answer(row: Any) -> SavedAnswer | None:
    try:
        value = json.loads(row.value)
        return SavedAnswer(
            label=row.label,
            options_key=row.options_key,
            value=tuple(value) if isinstance(value, list) else value,
            scope=Scope(row.scope),
            company=row.company,
            application=str(row.instance_id) if row.instance_id else None,
            uses=row.uses,
        )
    except (ValueError, ValidationError):
        return None
