"""Answers: sessions, prompts and messages, with every name in snake_case and in camelCase.

What a sandbox is made of is masked: its address, its servers and its token never leave the service.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

import sqlalchemy as sa
from pydantic import Field, SerializerFunctionWrapHandler, model_serializer

from interlock.apps.sessions.conversation import index, messages, prompts
from interlock.apps.sessions.conversation.messages import Message
from interlock.apps.sessions.conversation.prompt_totals import PromptTotals, prompt_totals
from interlock.apps.sessions.conversation.prompts import Prompt
from interlock.apps.sessions.loans.session_loans import LeaseView, lease_of
from interlock.apps.sessions.models import Result
from interlock.engine import Instance, OpenReview, questions
from interlock.http.models import Answer, at

MASKED = "[hidden]"
_UNDERSCORE = re.compile(r"_([a-z])")


def camel(name: str) -> str:
    return _UNDERSCORE.sub(lambda found: found[1].upper(), name)


class BothSpellings(Answer):
    """An answer whose names are there in both spellings."""

    @model_serializer(mode="wrap")
    def _both(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        found: dict[str, Any] = handler(self)
        return found | {camel(name): value for name, value in found.items() if "_" in name}


class LeaseOut(BothSpellings):
    """The sandbox that a session has, had last, or cannot give back."""

    loan_id: UUID
    state: str = Field(description="borrowing, held, returning, returned or stuck.")
    since: datetime | None
    allocator: str
    item_id: str | None
    lent_at: datetime | None
    retry_count: int
    error: str | None
    operation_id: str | None
    resolution: str | None

    @classmethod
    def of(cls, found: LeaseView) -> LeaseOut:
        return cls(
            loan_id=found.loan_id,
            state=found.state,
            since=at(found.since),
            allocator=found.allocator,
            item_id=found.item_id,
            lent_at=at(found.lent_at),
            retry_count=found.retry_count,
            error=found.error,
            operation_id=found.operation_id,
            resolution=found.resolution,
        )


class ApprovalOut(BothSpellings):
    """A tool call that waits for a person. It is decided as every review: `POST /api/reviews/{id}/decide`."""

    review_id: UUID
    title: str
    tool: str
    input: str
    due_at: datetime | None

    @classmethod
    def of(cls, found: OpenReview) -> ApprovalOut:
        return cls(
            review_id=found.id,
            title=found.title,
            tool=str(found.evidence.get("tool", "")),
            input=str(found.evidence.get("input", "")),
            due_at=at(found.due_at),
        )


class SessionOut(BothSpellings):
    """A session."""

    id: UUID
    title: str
    repo: str
    branch: str
    target_branch: str
    ui_status: str = Field(examples=["needs_review"])
    result: str | None = Field(description="How the last prompt ended: done, failed, cancelled or unknown.")
    error: str | None
    user_id: str
    agent: str
    parent: UUID | None
    workspace: str
    sbx_config: dict[str, Any] | None = Field(description="Whether a sandbox is held; what is in it is masked.")
    ip_return_retry_count: int
    lease: LeaseOut | None
    cancellation_status: str | None = Field(description="requested while the agent is being ended, then cancelled.")
    archiving: bool = Field(description="Whether it is archived as soon as its agent has ended.")
    prompts: int
    waiting_prompts: int
    cost_usd: float
    last_prompt: str
    approvals: list[ApprovalOut]
    created_at: datetime | None
    updated_at: datetime | None
    deleted_at: datetime | None


class SessionPage(BothSpellings):
    """Sessions, the newest first."""

    sessions: list[SessionOut]
    next: str | None = Field(description="Pass it as `after` for the next page.")


class PromptOut(BothSpellings):
    """A prompt."""

    id: UUID
    session_id: UUID
    number: int
    inbox_status: str = Field(description="pending, active, then done, failed, cancelled or unknown.")
    text: str
    data: Any
    attachments: list[dict[str, Any]]
    user_id: str
    reason: str | None
    sentence: str | None = Field(description="How it ended, for people.")
    answer: str | None = Field(description="The agent's last words.")
    cost_usd: float | None
    usage: dict[str, int]
    turns: int | None
    cancel_by: str | None
    created_at: datetime | None
    updated_at: datetime | None
    started_at: datetime | None
    ended_at: datetime | None

    @classmethod
    def of(cls, found: Prompt) -> PromptOut:
        return cls(
            id=found.id,
            session_id=found.session_id,
            number=found.number,
            inbox_status=found.inbox_status,
            text=found.text,
            data=found.data,
            attachments=[{name: one[name] for name in ("name", "media_type", "size")} for one in found.attachments],
            user_id=found.user_id,
            reason=found.reason,
            sentence=None if found.open else found.sentence,
            answer=found.answer,
            cost_usd=found.cost_usd,
            usage=dict(found.usage),
            turns=found.turns,
            cancel_by=found.cancel_by,
            created_at=at(found.created_at),
            updated_at=at(found.updated_at),
            started_at=at(found.started_at),
            ended_at=at(found.ended_at),
        )


class PromptList(BothSpellings):
    """Prompts of a session, in their order."""

    prompts: list[PromptOut]
    next: int | None = Field(description="Pass it as `after` for the next page.")


class MessageOut(BothSpellings):
    """A line that the agent printed."""

    id: UUID
    prompt_id: UUID
    seq: int = Field(description="Its number among the lines of the prompt, from 1.")
    kind: str = Field(examples=["assistant", "system/init"])
    data: Any = Field(description="The JSON object; null for a line that is none, or that is cut.")
    text: str | None = Field(description="The line as it is, where `data` is null.")
    cut: bool = Field(description="Whether it is only the beginning: all of it is at /prompts/{id}/messages/{seq}.")
    size: int
    created_at: datetime | None
    updated_at: datetime | None

    @classmethod
    def of(cls, found: Message, whole: str | None = None) -> MessageOut:
        text = found.text if whole is None else whole
        data = messages.parsed(text) if whole is not None or not found.cut else None
        return cls(
            id=found.id,
            prompt_id=found.prompt_id,
            seq=found.seq,
            kind=found.kind,
            data=data,
            text=None if data is not None else text,
            cut=found.cut and whole is None,
            size=found.size,
            created_at=at(found.created_at),
            updated_at=at(found.created_at),
        )


class MessageList(BothSpellings):
    """Lines of a prompt, in order."""

    messages: list[MessageOut]
    next: int | None = Field(description="Pass it as `after_seq`: set while there may be more, so also while it runs.")


class Done(BothSpellings):
    """The result of a write."""

    success: bool = True
    message: str
    id: UUID


class SessionDone(Done):
    """The same, with the session."""

    session_id: UUID
    prompt_id: UUID | None = None
    session: SessionOut
    prompt: PromptOut | None = None


def session_out(
    conn: sa.Connection, instance: Instance, entry: index.IndexEntry, counted: PromptTotals | None = None
) -> SessionOut:
    """A session as its readers may see it."""
    data: Mapping[str, Any] = instance.data
    counted = counted or prompt_totals(conn, [instance.id]).get(instance.id, PromptTotals())
    lease = lease_of(conn, instance.id)
    held = lease is not None and lease.is_held
    return SessionOut(
        id=instance.id,
        title=data.get("title") or "",
        repo=data.get("repo") or entry.repo,
        branch=data.get("branch") or "",
        target_branch=data.get("target_branch") or "",
        ui_status=instance.state,
        result=data.get("result"),
        error=data.get("error") or (instance.error or {}).get("message"),
        user_id=entry.user_id,
        agent=data.get("agent") or "",
        parent=entry.parent_id,
        workspace=entry.workspace,
        sbx_config=_masked(lease) if lease is not None and held else None,
        ip_return_retry_count=lease.retry_count if lease is not None else 0,
        lease=LeaseOut.of(lease) if lease is not None else None,
        cancellation_status=_cancellation(conn, instance),
        archiving=entry.after_run == index.ARCHIVE,
        prompts=counted.prompts,
        waiting_prompts=counted.waiting,
        cost_usd=counted.cost_usd,
        last_prompt=counted.last[:500],
        approvals=[ApprovalOut.of(one) for one in questions.open_for(conn, instance.id)],
        created_at=at(entry.created_at),
        updated_at=at(instance.updated_at),
        deleted_at=at(entry.deleted_at),
    )


def _masked(lease: LeaseView) -> dict[str, Any]:
    item = {"item_id": lease.item_id, "mcp_json_string": MASKED, "api_url": MASKED}
    return {"item": item, "borrow_token": MASKED}


def _cancellation(conn: sa.Connection, instance: Instance) -> str | None:
    running = prompts.active(conn, instance.id)
    if running is not None:
        return "requested" if running.cancel_at is not None else None
    return "cancelled" if instance.data.get("result") == Result.CANCELLED else None


def session_page(conn: sa.Connection, found: Sequence[Instance], limit: int) -> SessionPage:
    """A page of sessions that `index.page` found."""
    counted = prompt_totals(conn, [one.id for one in found])
    entries = index.entries(conn, [one.id for one in found])
    shown = [
        session_out(conn, one, entries[one.id], counted.get(one.id, PromptTotals()))
        for one in found
        if one.id in entries
    ]
    return SessionPage(sessions=shown, next=str(found[-1].id) if len(found) == limit else None)


def prompt_list(found: Sequence[Prompt], limit: int) -> PromptList:
    return PromptList(
        prompts=[PromptOut.of(one) for one in found], next=found[-1].number if len(found) == limit else None
    )


def message_list(found: Iterable[Message], after: int, *, more: bool) -> MessageList:
    shown = [MessageOut.of(one) for one in found]
    return MessageList(messages=shown, next=(shown[-1].seq if shown else after) if more else None)
