"""Followers of every move of an application: its record, its log, and a message when it was given up."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any
from uuid import UUID

import sqlalchemy as sa

from interlock.apps.jobs.autoapply.machine import (
    FAILED,
    PAUSED,
    PREPARING,
    REQUIRES_REVIEW,
    SUBMISSION,
    SUBMITTED,
    WITHDRAWN,
    application,
)
from interlock.apps.jobs.autoapply.models import Application, ReviewReason, WithdrawReason
from interlock.apps.jobs.autoapply.planned import INTERVIEW_REQUESTED, VALIDATING, planned
from interlock.apps.jobs.autoapply.records import applications, logs
from interlock.apps.jobs.autoapply.versions import entering
from interlock.apps.jobs.tables import applied as T
from interlock.engine import Claim, Instance
from interlock.engine.application import Unit, effects_of, find, reason_of, require_claim, send
from interlock.machine import SYSTEM, WORKER, Actor, Edge, Message
from interlock.machine.transitions import PEOPLE
from interlock.store import Micros, micros

NO_ATTEMPT = frozenset({"LimitReached", "NotYet"})
"""Errors that say nothing against the application: its turn has not come."""
LONGEST_ADDRESS = 254
"""Characters of a mail address."""


@entering(*planned.states)
def keep_record(unit: Unit, instance: Instance, edge: Edge, actor: Actor) -> None:
    """Bring the application's record up to date, and log the move."""
    if not edge.source:
        _continue_record(unit, instance)
        return
    unknown = edge.to == REQUIRES_REVIEW and instance.data.get("review_reason") == ReviewReason.VERIFY_SUBMISSION
    kind, error = _error(instance) if edge.to == FAILED or unknown else ("", None)
    values = _values(unit, instance, edge, actor)
    if error is not None:
        values["last_error"] = error
    if edge.to == FAILED and kind not in NO_ATTEMPT:
        values["attempt_count"] = T.c.attempt_count + 1
    applications.update(unit, instance.id, **values)
    logs.write(
        unit,
        instance.workspace,
        edge.on,
        str(actor),
        status=edge.to,
        instance_id=instance.id,
        rule_id=_id(instance.data.get("rule_id")),
        user_id=str(instance.data.get("user_id", "")),
        trace_id=instance.trace_id,
        from_status=edge.source,
        to_status=edge.to,
        reason=_reason(unit, instance, edge, actor),
        error=error,
        details={"error_type": kind} if kind else None,
    )
    if edge.to == WITHDRAWN and instance.data.get("withdraw_reason") == WithdrawReason.RETRIES_EXHAUSTED:
        give_up(unit, instance)


def note_review(unit: Unit, claim: Claim, review_reason: str, reason: str, error: str | None = None) -> None:
    """What a person is asked now, where sending what was approved ends in the same state: no move writes it down."""
    instance = require_claim(unit, claim)
    known = {"review_reason": review_reason} | ({"last_error": error} if error else {})
    applications.update(unit, instance.id, **known)
    logs.write(
        unit,
        instance.workspace,
        "ask",
        str(Actor(WORKER, str(claim.worker))),
        status=REQUIRES_REVIEW,
        instance_id=instance.id,
        rule_id=_id(instance.data.get("rule_id")),
        user_id=str(instance.data.get("user_id", "")),
        trace_id=instance.trace_id,
        from_status=REQUIRES_REVIEW,
        to_status=REQUIRES_REVIEW,
        reason=": ".join(part for part in (review_reason, reason) if part),
        error=error,
    )


def _values(unit: Unit, instance: Instance, edge: Edge, actor: Actor) -> dict[str, Any]:
    """The columns that a move sets."""
    data = instance.data
    found: dict[str, Any] = {
        "status": edge.to,
        "status_at": unit.now,
        "review_reason": data.get("review_reason") if edge.to == REQUIRES_REVIEW else None,
        "withdraw_reason": data.get("withdraw_reason") if edge.to == WITHDRAWN else None,
        "packet_hash": data.get("packet_hash"),
        "scheduled_for": instance.due_at if instance.due_event else chosen_time(data),
        "paused_by": ("system" if actor.kind not in PEOPLE else actor.name) if edge.to == PAUSED else None,
    }
    if edge.to in (VALIDATING, PREPARING):
        found["processed_at"] = sa.func.coalesce(T.c.processed_at, unit.now)
    if edge.to == SUBMITTED:
        found |= {
            "submitted_at": unit.now,
            "sent_at": sa.func.coalesce(T.c.sent_at, unit.now),
            "attempt_count": T.c.attempt_count + 1,
        }
    elif edge.to not in (REQUIRES_REVIEW, INTERVIEW_REQUESTED) and not may_have_arrived(unit.conn, instance.id):
        found["sent_at"] = None  # it did not arrive, or nothing was sent yet
    return found


def chosen_time(data: Mapping[str, Any]) -> Micros | None:
    """The time that the user chose for sending it."""
    at = Application.model_validate(data).scheduled_for if data.get("scheduled_for") else None
    return micros(at) if at is not None else None


def may_have_arrived(conn: sa.Connection, instance_id: UUID) -> bool:
    """Whether the application was sent and has arrived, or may have."""
    found = effects_of(conn, instance_id)
    return any(one.kind == SUBMISSION and one.status in ("sent", "unknown", "confirmed") for one in found)


def _reason(unit: Unit, instance: Instance, edge: Edge, actor: Actor) -> str:
    """The reason's code where the state has one, and the words of who moved it."""
    field = {WITHDRAWN: "withdraw_reason", REQUIRES_REVIEW: "review_reason"}.get(edge.to, "")
    code = instance.data.get(field) or ""
    if code == WithdrawReason.USER and actor.kind not in PEOPLE:
        code = ""  # a sweep withdrew it, which says why
    return ": ".join(part for part in (str(code), reason_of(unit, instance)) if part)


def _error(instance: Instance) -> tuple[str, str | None]:
    """Type and message of the last error."""
    found = json.loads(instance.last_error) if instance.last_error else {}
    kind, message = str(found.get("type", "")), str(found.get("message", ""))
    return kind, f"{kind}: {message}" if kind else None


def _continue_record(unit: Unit, instance: Instance) -> None:
    """A retried dead letter is a new instance that continues another: it has the record of that one."""
    if instance.parent is None or find(unit.conn, instance.parent, machine=application.name) is None:
        return
    row = unit.conn.execute(sa.select(T).where(T.c.instance_id == instance.parent)).first()
    if row is None:
        return
    again = {**row._mapping, "id": instance.id, "instance_id": instance.id, "trace_id": instance.trace_id}
    applications.add(
        unit,
        **{
            **again,
            "status": instance.state,
            "status_at": unit.now,
            "created_at": unit.now,
            "withdraw_reason": None,
            "submitted_at": None,
        },
    )


def give_up(unit: Unit, instance: Instance) -> None:
    """Tell the user by mail, and log it as the specification says; the dashboard has the dead letter."""
    row = applications.find(unit.conn, instance.workspace, instance.id)
    error = (row.last_error if row is not None else None) or "it failed too often"
    data = instance.data
    logs.write(
        unit,
        instance.workspace,
        "dead_letter",
        str(SYSTEM),
        status="failed",
        instance_id=instance.id,
        rule_id=_id(data.get("rule_id")),
        user_id=str(data.get("user_id", "")),
        trace_id=instance.trace_id,
        reason="retries exhausted",
        error=error,
    )
    text = (
        f"The application for {data.get('title') or 'a posting'} at {data.get('company') or 'an unknown company'} was "
        f"given up after {row.attempt_count if row is not None else 'all'} attempts.\n\n{error}\n\n"
        f"The posting: {data.get('job_url') or 'no address'}\n"
        f"The application: {instance.id} (dead letters in the dashboard; a retry starts it again)"
    )
    for address in addresses(unit, instance.workspace):
        send(unit, instance, (Message("mail", address, "An application was given up", {"text": text}),))


def addresses(unit: Unit, workspace: str) -> list[str]:
    """Where mail for the seeker of a workspace goes: the address of the profile, else those of the digest."""
    from interlock.apps.jobs.finder.intake import settings_in
    from interlock.apps.jobs.finder.records import profiles

    found = profiles.find(unit.conn, workspace)
    mail = found.profile.identity.email if found is not None and found.profile.identity is not None else None
    usable = mail is not None and "@" in mail and mail.isprintable() and len(mail) <= LONGEST_ADDRESS
    return [mail] if mail is not None and usable else list(settings_in(unit.setting("jobs")).digest_to)


def _id(text: object) -> UUID | None:
    try:
        return UUID(str(text)) if text else None
    except ValueError:
        return None
