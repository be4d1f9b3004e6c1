"""What auto-apply's endpoints answer."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Self
from uuid import UUID

from pydantic import BaseModel

from interlock.apps.jobs.autoapply.records.answers import AnswerRow
from interlock.apps.jobs.autoapply.records.applications import ApplicationRow
from interlock.apps.jobs.autoapply.records.artifacts import ArtifactRow
from interlock.apps.jobs.autoapply.records.decisions import DecisionRow
from interlock.apps.jobs.autoapply.records.logs import LogRow
from interlock.apps.jobs.autoapply.records.rules import RuleRow, plain
from interlock.apps.jobs.autoapply.review.deciding import Changed
from interlock.engine import Instance
from interlock.store import Micros, moment


def when(at: Micros | None) -> datetime | None:
    return moment(at) if at is not None else None


class ArtifactOut(BaseModel):
    """A file of a packet."""

    name: str
    kind: str
    media_type: str
    hash: str
    size: int
    packet_hash: str
    created_at: datetime

    @classmethod
    def of(cls, one: ArtifactRow) -> Self:
        return cls(
            name=one.name,
            kind=one.kind,
            media_type=one.media_type,
            hash=one.hash,
            size=one.size,
            packet_hash=one.packet_hash,
            created_at=moment(one.created_at),
        )


class ApplicationOut(BaseModel):
    """An application as lists show it."""

    id: UUID
    status: str
    title: str
    company: str
    url: str | None
    user_id: str
    origin: str
    rule_id: UUID | None
    posting_id: UUID | None
    score: int | None
    tier: str | None
    source: str | None
    review_reason: str | None
    withdraw_reason: str | None
    paused_by: str | None
    attempt_count: int
    last_error: str | None
    scheduled_for: datetime | None
    trace_id: str
    packet_hash: str | None
    created_at: datetime
    processed_at: datetime | None
    status_at: datetime
    submitted_at: datetime | None

    @classmethod
    def of(cls, one: ApplicationRow) -> Self:
        return cls(**_row(one))


def _row(one: ApplicationRow) -> dict[str, Any]:
    names = [
        "id",
        "status",
        "title",
        "company",
        "url",
        "user_id",
        "origin",
        "rule_id",
        "posting_id",
        "score",
        "tier",
        "source",
        "review_reason",
        "withdraw_reason",
        "paused_by",
        "attempt_count",
        "last_error",
        "trace_id",
        "packet_hash",
    ]
    return {
        **{name: getattr(one, name) for name in names},
        "scheduled_for": when(one.scheduled_for),
        "created_at": moment(one.created_at),
        "processed_at": when(one.processed_at),
        "status_at": moment(one.status_at),
        "submitted_at": when(one.submitted_at),
    }


class WholeApplicationOut(ApplicationOut):
    """An application with its files and what keeps it waiting."""

    artifacts: list[ArtifactOut] = []
    approved_packet: str | None = None
    doubts: list[str] = []
    open_questions: int = 0
    knockouts: int = 0
    adapter: str = ""
    confirmation_url: str | None = None
    reference: str | None = None
    require_user_approval: bool = True
    outdated: bool = False
    """Whether profile or posting changed since the packet was made."""

    @classmethod
    def whole(cls, row: ApplicationRow, item: Instance | None, files: list[ArtifactRow], outdated: bool) -> Self:
        made = cls(**_row(row), artifacts=[ArtifactOut.of(one) for one in files], outdated=outdated)
        if item is None or item.erased:
            return made
        names = [
            "approved_packet",
            "doubts",
            "open_questions",
            "knockouts",
            "adapter",
            "confirmation_url",
            "reference",
            "require_user_approval",
        ]
        return made.model_copy(update={name: item.data[name] for name in names if name in item.data})


class ApplicationsOut(BaseModel):
    """A page of applications, and how many there are in each status."""

    applications: list[ApplicationOut]
    next: UUID | None
    counts: dict[str, int]
    stopped: bool
    """Whether all applications are stopped."""


class PacketOut(BaseModel):
    """A packet as it will be sent: texts, answers, checks and differences from the base resume."""

    packet_hash: str
    resume_text: str
    letter_text: str
    resume_by: str
    """`rules`, or `model` where a model chose what the resume shows first."""
    letter_by: str
    letter_note: str
    files: dict[str, str]
    answers: list[dict[str, Any]]
    knockouts: list[dict[str, Any]]
    claim_check: dict[str, list[dict[str, Any]]]
    dropped: dict[str, dict[str, Any]]
    """Document → what a model wrote and the claim check refused, with what it found. It is not sent."""
    differences: list[dict[str, Any]]
    hand_over: dict[str, Any] | None


class EnqueuedOut(BaseModel):
    """What was queued."""

    judged: int
    queued: int
    application: WholeApplicationOut | None = None


class SweptOut(BaseModel):
    """What a sweep found."""

    queued: int = 0
    preparing: int = 0
    withdrawn: int = 0
    waiting: int = 0


class ChangedOut(BaseModel):
    """What a pause or a resume did."""

    applications: int
    skipped: int = 0
    application: WholeApplicationOut | None = None

    @classmethod
    def of(cls, one: Changed) -> Self:
        return cls(applications=one.applications, skipped=one.skipped)


class RuleOut(BaseModel):
    """A rule."""

    id: UUID
    name: str
    paused: bool
    rule: dict[str, Any]
    created_by: str
    created_at: datetime
    changed_by: str
    changed_at: datetime
    blocked_by: dict[str, int] = {}
    """Check → postings that it excludes."""

    @classmethod
    def of(cls, one: RuleRow, blocked: dict[str, int] | None = None) -> Self:
        return cls(
            id=one.id,
            name=one.name,
            paused=one.paused,
            rule=plain(one.rule),
            created_by=one.created_by,
            created_at=moment(one.created_at),
            changed_by=one.changed_by,
            changed_at=moment(one.changed_at),
            blocked_by=blocked or {},
        )


class RulesOut(BaseModel):
    rules: list[RuleOut]


class DecisionOut(BaseModel):
    """A rule's decision about a posting, with every check."""

    id: UUID
    rule_id: UUID
    posting_id: UUID
    taken: bool
    needs_approval: bool
    summary: str
    checks: list[Any]
    decided_at: datetime
    application_id: UUID | None

    @classmethod
    def of(cls, one: DecisionRow) -> Self:
        return cls(
            id=one.id,
            rule_id=one.rule_id,
            posting_id=one.posting_id,
            taken=one.taken,
            needs_approval=one.needs_approval,
            summary=one.summary,
            checks=one.all_checks,
            decided_at=moment(one.decided_at),
            application_id=one.application_id,
        )


class DecisionsOut(BaseModel):
    decisions: list[DecisionOut]
    next: UUID | None


class LogOut(BaseModel):
    """A row of the log."""

    id: UUID
    application_id: UUID | None
    rule_id: UUID | None
    user_id: str
    trace_id: str
    at: datetime
    status: str
    from_status: str | None
    to_status: str | None
    event: str
    actor: str
    reason: str
    error: str | None

    @classmethod
    def of(cls, one: LogRow) -> Self:
        return cls(
            id=one.id,
            application_id=one.instance_id,
            rule_id=one.rule_id,
            user_id=one.user_id,
            trace_id=one.trace_id,
            at=moment(one.at),
            status=one.status,
            from_status=one.from_status,
            to_status=one.to_status,
            event=one.event,
            actor=one.actor,
            reason=one.reason,
            error=one.error,
        )


class LogsOut(BaseModel):
    logs: list[LogOut]
    next: UUID | None


class SavedAnswerOut(BaseModel):
    """An answer of the bank."""

    id: UUID
    label: str
    value: Any
    scope: str
    company: str | None
    application_id: str | None
    uses: int
    saved_by: str
    saved_at: datetime
    used_at: datetime | None

    @classmethod
    def of(cls, one: AnswerRow) -> Self:
        given = one.answer
        return cls(
            id=one.id,
            label=given.label,
            value=given.value,
            scope=given.scope.value,
            company=given.company,
            application_id=given.application,
            uses=given.uses,
            saved_by=one.saved_by,
            saved_at=moment(one.saved_at),
            used_at=when(one.used_at),
        )


class SavedAnswersOut(BaseModel):
    answers: list[SavedAnswerOut]
    contradictions: list[dict[str, Any]]


class MetricsOut(BaseModel):
    """The numbers of the last 24 hours; a rate or mean of nothing is null."""

    queue_lag_seconds: float | None
    queue_samples: int
    success_rate: float | None
    failure_rate: float | None
    failure_samples: int
    ended: int
    retry_rate: float | None
    retry_samples: int
    review_backlog: int
    stale_reviews: int
    oldest_review_seconds: float | None
    statuses: dict[str, int]
    withdrawn_by_reason: dict[str, int]
