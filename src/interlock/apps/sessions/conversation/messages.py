"""Messages: the lines that an agent prints, each stored once, in order, as it comes.

A line's `seq` is its number in the agent's output, so storing it twice does nothing. A long line has its beginning
here, and the whole of it as an artifact of the session.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import sqlalchemy as sa
from uuid_utils.compat import uuid7

from interlock.apps.sessions.agents.values import Line
from interlock.apps.sessions.conversation.prompts import storable
from interlock.apps.sessions.tables import session_message as M
from interlock.engine import Claim, NotFound, artifacts, secrets
from interlock.engine.application import Unit, hint, require_claim
from interlock.store import Micros
from interlock.store.sql import upsert

INLINE = 32_768
"""Characters of a line that are stored in its row; more is an artifact."""
PREVIEW = 4_096
HINT = "*messages"
"""The hint that lines were stored. No queue has this name."""


@dataclass(frozen=True, slots=True)
class Message:
    """One stored line."""

    id: UUID
    prompt_id: UUID
    session_id: UUID
    seq: int
    kind: str
    text: str
    """The line, or its beginning."""
    size: int
    """Characters of the whole line."""
    artifact: str | None
    created_at: Micros

    @property
    def cut(self) -> bool:
        return self.artifact is not None

    @property
    def data(self) -> Mapping[str, Any] | None:
        """The JSON object in the line; None for another line, or one of which only the beginning is here."""
        return parsed(self.text) if not self.cut else None


def parsed(text: str) -> Mapping[str, Any] | None:
    """The JSON object in a line; None for anything else."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _read(row: Any) -> Message:
    return Message(
        row.id, row.prompt_id, row.instance_id, row.seq, row.kind, row.data, row.size, row.artifact, row.created_at
    )


def store(unit: Unit, claim: Claim, prompt_id: UUID, lines: Sequence[Line]) -> None:
    """Store lines of the claim's session. Those that are stored already stay as they are."""
    instance = require_claim(unit, claim)
    rows = []
    for line in lines:
        text = _storable(line.text)
        artifact = None
        if len(text) > INLINE:
            if _known(unit, prompt_id, line.seq):
                continue
            content = text.encode()
            artifact = artifacts.keep_fenced(
                unit, claim, f"line-{line.seq}-of-{prompt_id}", content, media_type="application/json"
            )
        rows.append(
            {
                "id": uuid7(),
                "prompt_id": prompt_id,
                "instance_id": instance.id,
                "seq": line.seq,
                "kind": line.kind[:100],
                "data": text[:PREVIEW] if artifact else text,
                "size": len(text),
                "artifact": artifact,
                "created_at": unit.now,
            }
        )
    if rows:
        unit.conn.execute(upsert(M).on_conflict_do_nothing(index_elements=["prompt_id", "seq"]), rows)
        hint(unit, HINT)


def _storable(text: str) -> str:
    """The line without known secrets. In JSON they may be spelled with escapes."""
    if secrets.may_have(text) and (found := parsed(text)) is not None:
        text = json.dumps(secrets.without_known(found), ensure_ascii=False)
    return storable(text)


def _known(unit: Unit, prompt_id: UUID, seq: int) -> bool:
    found = sa.select(M.c.id).where(M.c.prompt_id == prompt_id, M.c.seq == seq)
    return unit.conn.execute(found).first() is not None


def of_prompt(conn: sa.Connection, prompt_id: UUID, *, after: int = 0, limit: int = 500) -> list[Message]:
    """Lines of a prompt after a number, in order."""
    query = sa.select(M).where(M.c.prompt_id == prompt_id, M.c.seq > after).order_by(M.c.seq).limit(limit)
    return [_read(row) for row in conn.execute(query)]


def latest(conn: sa.Connection, prompt_id: UUID, limit: int) -> list[Message]:
    """The last lines of a prompt, in order."""
    query = sa.select(M).where(M.c.prompt_id == prompt_id).order_by(M.c.seq.desc()).limit(limit)
    return [_read(row) for row in conn.execute(query)][::-1]


def last_seq(conn: sa.Connection, prompt_id: UUID) -> int:
    return int(conn.execute(sa.select(sa.func.max(M.c.seq)).where(M.c.prompt_id == prompt_id)).scalar() or 0)


def count(conn: sa.Connection, prompt_ids: Sequence[UUID]) -> dict[UUID, int]:
    rows = conn.execute(
        sa.select(M.c.prompt_id, sa.func.count()).where(M.c.prompt_id.in_(prompt_ids)).group_by(M.c.prompt_id)
    )
    return {row[0]: row[1] for row in rows}


def get(conn: sa.Connection, message_id: UUID) -> Message:
    row = conn.execute(sa.select(M).where(M.c.id == message_id)).first()
    if row is None:
        raise NotFound(f"there is no message {message_id}")
    return _read(row)


def by_seq(conn: sa.Connection, prompt_id: UUID, seq: int) -> Message:
    row = conn.execute(sa.select(M).where(M.c.prompt_id == prompt_id, M.c.seq == seq)).first()
    if row is None:
        raise NotFound(f"prompt {prompt_id} has no message {seq}")
    return _read(row)


def whole(conn: sa.Connection, message: Message) -> str:
    """The whole line."""
    if message.artifact is None:
        return message.text
    return artifacts.read(conn, message.session_id, message.artifact).decode("utf-8", "replace")
