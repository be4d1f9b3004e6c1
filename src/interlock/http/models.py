"""The API's response models. Times are ISO 8601 in UTC."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Self
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

from interlock.engine import (
    DeadLetter,
    Effect,
    Explanation,
    HistoryRow,
    Instance,
    OpenReview,
    secrets,
)
from interlock.engine.artifacts import Artifact
from interlock.http.problems import AllowedEvent
from interlock.store import Micros, moment

EXAMPLE_ID = "0198b5d2-7c1e-7a3b-9f3e-0c5d2a6b1e4f"


class Answer(BaseModel):
    """The base class of responses."""

    model_config = ConfigDict(frozen=True)


def at(value: Micros | None) -> datetime | None:
    return moment(value) if value is not None else None


class InstanceOut(Answer):
    """An instance in its current state."""

    id: UUID = Field(examples=[EXAMPLE_ID])
    machine: str = Field(examples=["parcel"])
    version: int
    state: str = Field(examples=["customs"])
    seq: int = Field(description="The number of its last history row; give it as expected_seq.", examples=[4])
    workspace: str
    key: str | None
    labels: dict[str, str]
    data: dict[str, Any]
    priority: int
    paused: bool
    waits_for: str | None = Field(description="work, lease, resume, blocked, or null: a person or an event.")
    due_at: datetime | None
    timer_at: datetime | None
    error: dict[str, Any] | None
    failed_step: str | None
    parent: UUID | None
    root: UUID
    depth: int
    trace_id: str
    created_at: datetime
    entered_at: datetime
    updated_at: datetime
    finished_at: datetime | None

    @classmethod
    def of(cls, i: Instance) -> Self:
        return cls(
            id=i.id,
            machine=i.machine,
            version=i.version,
            state=i.state,
            seq=i.seq,
            workspace=i.workspace,
            key=i.key,
            labels=i.shown_labels,
            data=secrets.shown(i.shown_data),
            priority=i.priority,
            paused=i.paused_at is not None,
            waits_for=i.wake,
            due_at=at(i.due_at),
            timer_at=at(i.timer_at),
            error=i.error,
            failed_step=i.failed_step,
            parent=i.parent,
            root=i.root,
            depth=i.depth,
            trace_id=i.trace_id,
            created_at=moment(i.created_at),
            entered_at=moment(i.entered_at),
            updated_at=moment(i.updated_at),
            finished_at=at(i.finished_at),
        )


class Receipt(Answer):
    """The id of what was written, for a caller who may not read it."""

    id: UUID = Field(examples=[EXAMPLE_ID])
    machine: str = Field(examples=["parcel"])
    workspace: str


class InstancePage(Answer):
    """One page of a list, newest first."""

    instances: list[InstanceOut]
    next: UUID | None = Field(description="Pass it as `after` for the next page; null on the last page.")
    count: int | None = Field(description="The number of matches, if requested.")
    exact: bool | None = Field(description="False: at least `count` match.")


class HistoryOut(Answer):
    """One entry of an instance's history."""

    seq: int
    kind: str = Field(examples=["moved"])
    from_state: str | None
    to_state: str | None
    event: str | None
    actor: str = Field(examples=["user:ann"])
    at: datetime
    payload: dict[str, Any]
    erased: bool = Field(description="The payload was erased; the chain still verifies.")

    @classmethod
    def of(cls, row: HistoryRow) -> Self:
        return cls(
            seq=row.seq,
            kind=row.kind,
            from_state=row.from_state,
            to_state=row.to_state,
            event=row.event,
            actor=row.actor,
            at=moment(row.at),
            payload=secrets.shown(row.payload),
            erased=row.erased,
        )


class HistoryPage(Answer):
    """Rows of a history, in order."""

    rows: list[HistoryOut]
    next: int | None = Field(description="Pass it as `after` for the next page; null on the last page.")


class UpcomingOut(Answer):
    """An automatic event in the future."""

    what: str
    at: datetime


class ExplanationOut(Answer):
    """Why an instance is in its state, what happens next automatically, and who can act."""

    instance_id: UUID
    machine: str
    state: str
    kind: str
    since: datetime
    waits_for: str
    sentence: str
    next: list[AllowedEvent]
    mine: list[str] = Field(description="The events that you may fire now.")
    upcoming: list[UpcomingOut]
    error: dict[str, Any] | None

    @classmethod
    def of(cls, e: Explanation, mine: list[str]) -> Self:
        return cls(
            instance_id=e.instance_id,
            machine=e.machine,
            state=e.state,
            kind=e.kind,
            since=e.since,
            waits_for=e.waits_for,
            sentence=secrets.hide(e.sentence),
            mine=mine,
            error=e.error,
            next=[AllowedEvent(event=a.event, to=a.to, by=list(a.by)) for a in e.next],
            upcoming=[UpcomingOut(what=c.what, at=c.at) for c in e.upcoming],
        )


class Relative(Answer):
    """An instance of the same lineage."""

    id: UUID
    machine: str
    state: str
    key: str | None
    parent: UUID | None
    depth: int
    created_at: datetime
    finished_at: datetime | None


class LineageOut(Answer):
    """All instances with the same root, parents before children."""

    root: UUID
    instances: list[Relative]
    complete: bool = Field(description="False: there are more than are shown.")


class ArtifactOut(Answer):
    """An artifact of an instance."""

    name: str
    media_type: str
    hash: str
    size: int
    step: str
    at: datetime

    @classmethod
    def of(cls, a: Artifact) -> Self:
        return cls(name=a.name, media_type=a.media_type, hash=a.hash, size=a.size, step=a.step, at=moment(a.at))


class EffectOut(Answer):
    """An external effect of an instance, sent or about to be sent."""

    id: UUID
    kind: str
    key: str
    status: str
    step: str
    sends: int
    answer: Any
    error: str | None
    intended_at: datetime
    sent_at: datetime | None
    settled_at: datetime | None
    inherited_from: UUID | None = Field(description="The instance that sent it, where this one continues that one.")

    @classmethod
    def of(cls, e: Effect) -> Self:
        return cls(
            id=e.id,
            kind=e.kind,
            key=e.key,
            status=e.status,
            step=e.step,
            sends=e.sends,
            answer=secrets.shown(e.answer),
            error=e.error,
            intended_at=moment(e.intended_at),
            sent_at=at(e.sent_at),
            settled_at=at(e.settled_at),
            inherited_from=e.inherited_from,
        )


class ReviewOut(Answer):
    """A question to a person."""

    id: UUID
    instance_id: UUID
    workspace: str
    machine: str
    name: str
    title: str
    state: str | None
    role: str
    form: dict[str, Any] | None = Field(description="The form as JSON Schema.")
    decisions: list[str]
    evidence: dict[str, Any]
    status: str
    opened_at: datetime
    due_at: datetime | None
    claimed_by: str | None
    claimed_until: datetime | None
    assigned_to: str | None = Field(description="The name of the person who is to decide it; others may as well.")
    snoozed_until: datetime | None = Field(description="Until then it stands at the end of the inbox.")
    decision: str | None
    answer: dict[str, Any] | None
    decided_by: str | None
    decided_at: datetime | None
    default: str | None = Field(description="The decision that is taken at due_at if nobody has decided; null if none.")
    closed_reason: str | None = Field(description="Why it was closed without a decision.")

    @classmethod
    def of(cls, r: OpenReview) -> Self:
        return cls(
            id=r.id,
            instance_id=r.instance_id,
            workspace=r.workspace,
            machine=r.machine,
            name=r.name,
            title=r.title,
            state=r.state,
            role=r.role,
            form=r.form,
            decisions=list(r.decisions),
            evidence=secrets.shown(r.evidence),
            status=r.status,
            opened_at=moment(r.opened_at),
            due_at=at(r.due_at),
            claimed_by=r.claimed_by,
            claimed_until=at(r.claimed_until),
            assigned_to=r.assigned_to,
            snoozed_until=at(r.snoozed_until),
            decision=r.decision,
            answer=secrets.shown(r.answer),
            decided_by=r.decided_by,
            decided_at=at(r.decided_at),
            default=r.default,
            closed_reason=r.closed_reason,
        )


class DeadLetterOut(Answer):
    """A step that failed for good."""

    id: UUID
    instance_id: UUID
    workspace: str
    machine: str
    state: str
    step: str
    error_type: str
    error: dict[str, Any]
    fingerprint: str
    attempts: int
    data: dict[str, Any]
    status: str
    at: datetime
    closed_at: datetime | None
    closed_by: str | None
    note: str | None
    retried_as: UUID | None

    @classmethod
    def of(cls, d: DeadLetter) -> Self:
        return cls(
            id=d.id,
            instance_id=d.instance_id,
            workspace=d.workspace,
            machine=d.machine,
            state=d.state,
            step=d.step,
            error_type=d.error_type,
            error=secrets.shown(d.error),
            fingerprint=d.fingerprint,
            attempts=d.attempts,
            data=secrets.shown(d.data),
            status=d.status,
            at=moment(d.at),
            closed_at=at(d.closed_at),
            closed_by=d.closed_by,
            note=d.note,
            retried_as=d.retried_as,
        )
