"""Prompts: what people and programs ask an agent to do, in order, one at a time, each run once.

A prompt waits (`pending`) until its session is free, is `active` while the agent works on it, and ends as `done`,
`failed`, `cancelled` or `unknown`. `agent_at` is written before the agent is started: a prompt that has it is never
started again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import sqlalchemy as sa
from uuid_utils.compat import uuid7

from interlock.ai.calls import report
from interlock.apps.sessions.models import Result
from interlock.apps.sessions.tables import session_prompt as P
from interlock.engine import Claim, Fenced, InvalidData, NotFound, secrets
from interlock.engine.application import Unit, require_claim
from interlock.store import Micros

PENDING, ACTIVE = "pending", "active"
ENDED = tuple(one.value for one in Result)
MOST_WAITING = 100
"""Prompts that may wait in one session."""
LONGEST = 200_000
"""Characters of a prompt."""
MILLION = 1_000_000
INPUT_TOKENS = ("input_tokens", "cache_read_tokens", "cache_write_tokens")


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt as it is stored."""

    id: UUID
    session_id: UUID
    number: int
    user_id: str
    text: str
    data: Any
    attachments: Sequence[Mapping[str, Any]]
    inbox_status: str
    created_at: Micros
    updated_at: Micros
    started_at: Micros | None
    agent_at: Micros | None
    host: str | None
    ended_at: Micros | None
    cancel_at: Micros | None
    cancel_by: str | None
    reason: str | None
    sentence: str | None
    answer: str | None
    conversation: str | None
    cost: int | None
    conversation_cost: int | None
    usage: Mapping[str, int]
    turns: int | None

    @property
    def waits(self) -> bool:
        return self.inbox_status == PENDING

    @property
    def open(self) -> bool:
        return self.inbox_status in {PENDING, ACTIVE}

    @property
    def cost_usd(self) -> float | None:
        return None if self.cost is None else self.cost / MILLION


@dataclass(frozen=True, slots=True)
class Ending:
    """How a prompt ended."""

    result: Result
    sentence: str
    reason: str = ""
    answer: str = ""
    cost_usd: float | None = None
    conversation_cost_usd: float | None = None
    usage: Mapping[str, int] | None = None
    turns: int | None = None
    conversation: str = ""
    """The agent's own name for the conversation; empty if it named none."""


def _read(row: Any) -> Prompt:
    return Prompt(
        row.id,
        row.instance_id,
        row.number,
        row.user_id,
        row.text,
        _json(row.data, None),
        _json(row.attachments, []),
        row.inbox_status,
        row.created_at,
        row.updated_at,
        row.started_at,
        row.agent_at,
        row.host,
        row.ended_at,
        row.cancel_at,
        row.cancel_by,
        row.reason,
        row.sentence,
        row.answer,
        row.conversation,
        row.cost,
        row.conversation_cost,
        _json(row.usage, {}),
        row.turns,
    )


def _json(text: str | None, otherwise: Any) -> Any:
    try:
        return json.loads(text) if text else otherwise
    except ValueError:
        return otherwise


# -- reading


def find(conn: sa.Connection, prompt_id: UUID) -> Prompt | None:
    row = conn.execute(sa.select(P).where(P.c.id == prompt_id)).first()
    return _read(row) if row is not None else None


def get(conn: sa.Connection, prompt_id: UUID) -> Prompt:
    found = find(conn, prompt_id)
    if found is None:
        raise NotFound(f"there is no prompt {prompt_id}")
    return found


def of_session(conn: sa.Connection, session_id: UUID, *, after: int = 0, limit: int = 200) -> list[Prompt]:
    """Prompts of a session in their order, after a number."""
    query = sa.select(P).where(P.c.instance_id == session_id, P.c.number > after).order_by(P.c.number).limit(limit)
    return [_read(row) for row in conn.execute(query)]


def latest(conn: sa.Connection, session_id: UUID, limit: int) -> list[Prompt]:
    """The last prompts of a session, in their order."""
    query = sa.select(P).where(P.c.instance_id == session_id).order_by(P.c.number.desc()).limit(limit)
    return [_read(row) for row in conn.execute(query)][::-1]


def following(conn: sa.Connection, session_id: UUID) -> Prompt | None:
    """The prompt that is worked on, or is next; None if none waits."""
    query = sa.select(P).where(P.c.instance_id == session_id, P.c.inbox_status.in_((PENDING, ACTIVE)))
    row = conn.execute(query.order_by(P.c.number).limit(1)).first()
    return _read(row) if row is not None else None


def last_ended(conn: sa.Connection, session_id: UUID) -> Prompt | None:
    query = sa.select(P).where(P.c.instance_id == session_id, P.c.inbox_status.in_(ENDED))
    row = conn.execute(query.order_by(P.c.number.desc()).limit(1)).first()
    return _read(row) if row is not None else None


def last_conversation(conn: sa.Connection, session_id: UUID) -> Prompt | None:
    """The newest prompt that the agent has answered in a conversation that can be resumed."""
    query = sa.select(P).where(P.c.instance_id == session_id, P.c.conversation.is_not(None))
    row = conn.execute(query.order_by(P.c.number.desc()).limit(1)).first()
    return _read(row) if row is not None else None


def conversation_cost(conn: sa.Connection, session_id: UUID, conversation: str) -> float:
    """Dollars that a conversation had cost when the agent last said so."""
    query = sa.select(P.c.conversation_cost).where(
        P.c.instance_id == session_id, P.c.conversation == conversation, P.c.conversation_cost.is_not(None)
    )
    return int(conn.execute(query.order_by(P.c.number.desc()).limit(1)).scalar() or 0) / MILLION


def active(conn: sa.Connection, session_id: UUID) -> Prompt | None:
    """The prompt that is worked on, or was when its worker was lost."""
    row = conn.execute(sa.select(P).where(P.c.instance_id == session_id, P.c.inbox_status == ACTIVE)).first()
    return _read(row) if row is not None else None


def changed_since(conn: sa.Connection, session_id: UUID, since: Micros, limit: int = 200) -> list[Prompt]:
    """Prompts of a session that changed at this time or later, in their order."""
    query = sa.select(P).where(P.c.instance_id == session_id, P.c.updated_at >= since).order_by(P.c.updated_at)
    return sorted((_read(row) for row in conn.execute(query.limit(limit))), key=lambda one: one.number)


# -- changing


def add(
    unit: Unit,
    session_id: UUID,
    text: str,
    data: Any,
    user_id: str,
    *,
    attachments: Sequence[Mapping[str, Any]] = (),
    prompt_id: UUID | None = None,
) -> UUID:
    """Put a prompt at the end of the session's queue. The session has to be locked."""
    if not text.strip():
        raise InvalidData("the prompt has no text; write what the agent is to do")
    if len(text) > LONGEST:
        raise InvalidData(
            f"the prompt has {len(text):,} characters, at most {LONGEST:,} fit; attach the rest as a file"
        )
    counted = unit.conn.execute(
        sa.select(
            sa.func.coalesce(sa.func.max(P.c.number), 0),
            sa.func.coalesce(sa.func.sum(sa.case((P.c.inbox_status == PENDING, 1), else_=0)), 0),
        ).where(P.c.instance_id == session_id)
    ).one()
    if counted[1] >= MOST_WAITING:
        raise InvalidData(f"{counted[1]} prompts wait in session {session_id} already; wait, or cancel some")
    made = prompt_id or uuid7()
    unit.conn.execute(
        sa.insert(P).values(
            id=made,
            instance_id=session_id,
            number=counted[0] + 1,
            user_id=user_id,
            text=storable(text),
            data=storable(json.dumps(data, ensure_ascii=False)),
            attachments=json.dumps(list(attachments)),
            inbox_status=PENDING,
            created_at=unit.now,
            updated_at=unit.now,
        )
    )
    return made


def storable(text: str) -> str:
    """The text as both databases can store it: no NUL, no half of a surrogate pair, no known secret."""
    hidden: str = secrets.without_known(text.replace("\x00", "�").encode("utf-8", "replace").decode())
    return hidden


def activate(unit: Unit, session_id: UUID, prompt_id: UUID) -> None:
    """The session is in progress with this prompt."""
    _update(unit, P.c.id == prompt_id, P.c.instance_id == session_id, P.c.inbox_status == PENDING)(
        inbox_status=ACTIVE, started_at=unit.now
    )


def begin_agent(unit: Unit, claim: Claim, prompt_id: UUID, host: str = "") -> None:
    """Write down that the agent is started now, here. Raises Fenced if the prompt is not this worker's to run."""
    require_claim(unit, claim)
    done = _update(
        unit, P.c.id == prompt_id, P.c.instance_id == claim.id, P.c.inbox_status == ACTIVE, P.c.agent_at.is_(None)
    )(agent_at=unit.now, host=host or None)
    if not done:
        raise Fenced(f"the prompt {prompt_id} was started already, or has ended")


def agent_did_not_start(unit: Unit, claim: Claim, prompt_id: UUID) -> None:
    """The agent certainly was not started, so it may be later."""
    require_claim(unit, claim)
    _update(unit, P.c.id == prompt_id, P.c.instance_id == claim.id, P.c.inbox_status == ACTIVE)(
        agent_at=None, host=None
    )


def end(unit: Unit, claim: Claim, prompt_id: UUID, ending: Ending) -> None:
    """Write down how a prompt ended and what it cost, under the fence of the worker that ran it."""
    instance = require_claim(unit, claim)
    cost = _millionths(ending.cost_usd)
    if close(unit, prompt_id, ending) and (cost is not None or ending.usage):
        used = ending.usage or {}
        report(
            unit,
            instance,
            "prompt",
            str(instance.data.get("agent") or getattr(unit.setting("sessions"), "agent", "agent")),
            input_tokens=sum(used.get(name, 0) for name in INPUT_TOKENS),
            output_tokens=used.get("output_tokens", 0),
            cost=None if cost is None else cost * 1000,
            failed=ending.result is Result.FAILED,
        )


def close(unit: Unit, prompt_id: UUID, ending: Ending) -> bool:
    """Write down how an open prompt ended; False if that is known already."""
    sentence = ending.sentence[:2000]
    if ending.result is Result.CANCELLED:  # until here the row has why somebody cancelled it
        why = unit.conn.execute(sa.select(P.c.sentence).where(P.c.id == prompt_id)).scalar()
        sentence = " ".join(filter(None, (sentence, why)))
    return bool(
        _update(unit, P.c.id == prompt_id, P.c.inbox_status.in_((PENDING, ACTIVE)))(
            inbox_status=ending.result.value,
            ended_at=unit.now,
            reason=ending.reason or None,
            sentence=storable(sentence),
            answer=storable(ending.answer[:LONGEST]) if ending.answer else None,
            conversation=ending.conversation[:200] or None,
            cost=_millionths(ending.cost_usd),
            conversation_cost=_millionths(ending.conversation_cost_usd),
            usage=json.dumps(dict(ending.usage)) if ending.usage else None,
            turns=ending.turns,
        )
    )


def _why(reason: str) -> str:
    """A person's reason, as the end of a sentence."""
    said = storable(" ".join(reason.split()))
    return f"Reason: {said}" if said else ""


def _millionths(dollars: float | None) -> int | None:
    """Dollars as they are stored; what no sum could be is unknown."""
    return round(dollars * MILLION) if dollars is not None and 0 <= dollars < 1e9 else None


def request_cancel(
    unit: Unit, session_id: UUID, by: str, *, waiting: bool = True, reason: str = ""
) -> tuple[int, bool]:
    """Cancel what waits, and ask for the end of what runs: how many were cancelled, and whether one runs."""
    why = _why(reason)
    running = _update(unit, P.c.instance_id == session_id, P.c.inbox_status == ACTIVE, P.c.cancel_at.is_(None))(
        cancel_at=unit.now, cancel_by=by, sentence=why or None
    )
    busy = (
        running
        or unit.conn.execute(
            sa.select(P.c.id).where(P.c.instance_id == session_id, P.c.inbox_status == ACTIVE).limit(1)
        ).first()
    )
    gone = 0
    if waiting:
        gone = _update(unit, P.c.instance_id == session_id, P.c.inbox_status == PENDING)(
            inbox_status=Result.CANCELLED.value,
            ended_at=unit.now,
            cancel_at=unit.now,
            cancel_by=by,
            sentence=f"It was cancelled before it began. {why}".strip(),
        )
    return gone, bool(busy)


def cancel_one(unit: Unit, session_id: UUID, prompt_id: UUID, by: str) -> bool:
    """Take a prompt that waits out of the queue; False if it does not wait."""
    return bool(
        _update(unit, P.c.id == prompt_id, P.c.instance_id == session_id, P.c.inbox_status == PENDING)(
            inbox_status=Result.CANCELLED.value,
            ended_at=unit.now,
            cancel_at=unit.now,
            cancel_by=by,
            sentence="It was cancelled before it began.",
        )
    )


def cancel_wanted(conn: sa.Connection, prompt_id: UUID) -> bool:
    """Whether somebody asked to end the prompt; also where its row is gone."""
    row = conn.execute(sa.select(P.c.cancel_at, P.c.inbox_status).where(P.c.id == prompt_id)).first()
    return row is None or row.cancel_at is not None or row.inbox_status in ENDED


def _update(unit: Unit, *which: sa.ColumnElement[bool]) -> Any:
    def run(**values: Any) -> int:
        return unit.conn.execute(sa.update(P).where(*which).values(updated_at=unit.now, **values)).rowcount

    return run
