"""Submitting: the packet is sent at most once, through a claim, or a person is asked to approve, verify or send it.

Before anything is sent: the packet is approved or needs no approval, the posting still takes applications, nobody has
applied for the opening, and the job is claimed. The intent with its key and the limits are stored before the first byte
leaves. An answer that never came is verified by a person.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

import sqlalchemy as sa

from interlock.apps.jobs.autoapply.errors import AlreadyApplied, InvalidJobUrl, JobClosed
from interlock.apps.jobs.autoapply.followers import note_review
from interlock.apps.jobs.autoapply.machine import (
    READY_TO_SUBMIT,
    REQUIRES_REVIEW,
    SUBMISSION,
    SUBMIT_BY_HAND,
    SUBMITTED,
    application,
)
from interlock.apps.jobs.autoapply.models import Application, ReviewReason
from interlock.apps.jobs.autoapply.packets.stored import NoPacket, StoredPacket, stored_packet
from interlock.apps.jobs.autoapply.planned import SCHEDULED
from interlock.apps.jobs.autoapply.records import already_applied, applications
from interlock.apps.jobs.autoapply.review.by_hand import claimed_as, limits_of
from interlock.apps.jobs.autoapply.steps.openness import require_open
from interlock.apps.jobs.autoapply.submission import (
    Adapter,
    Blocked,
    NotDelivered,
    Rejected,
    adapter_for,
    deliver,
)
from interlock.apps.jobs.autoapply.versions import work
from interlock.apps.jobs.claims import steps as claims
from interlock.apps.jobs.claims.machine import QUEUED, job, run
from interlock.apps.jobs.claims.machine import SUBMITTED as REPORTED
from interlock.apps.jobs.claims.worker_claim import JobTaken, hold_job
from interlock.apps.jobs.finder.intake import settings_in
from interlock.apps.jobs.finder.records import postings
from interlock.apps.jobs.finder.records.postings import PostingRow
from interlock.engine import Claim, Effect, Instance, leases
from interlock.engine.application import Unit, effects_of, find_by_key, fire, require_claim
from interlock.machine import WORKER, Actor, Ask, EffectUnknown, Go, LimitReached, NotSent, Outcome, Stay
from interlock.worker import Task


class NotYet(LimitReached, NotSent):
    """A limit is used up. Nothing was sent, so the job is free again."""


@dataclass(frozen=True, slots=True)
class Ready:
    """An application that is about to be sent."""

    row: PostingRow
    stored: StoredPacket
    earlier: Effect | None
    """An earlier sending that arrived, or may have."""


@work(READY_TO_SUBMIT, timeout=timedelta(minutes=15))
def submit(task: Task[Application]) -> Outcome:
    """Ask the person, or send the packet."""
    data = task.data
    ready = task.read(_ready, task.workspace, task.id, data.posting_id, data.packet_hash)
    if ready.earlier is not None:
        return _after(ready.earlier)
    settings = settings_in(task.setting("jobs"))
    adapter = adapter_for(ready.row.posting, settings)
    by_hand = adapter.capabilities.needs_person
    approved = data.approved_packet is not None and data.approved_packet == data.packet_hash
    if not by_hand and (data.open_questions or not approved) and (why := _why_asked(data, approved)):
        return _ask(task, why)
    if not by_hand and data.scheduled_for is not None and data.scheduled_for > task.now():
        return Go(SCHEDULED, at=data.scheduled_for, reason="its user chose the time")
    doubt = require_open(ready.row, settings, task.now(), by_hand=by_hand)
    if by_hand:
        return _hand_over(task, adapter.note, doubt)
    if doubt and not approved:
        return _ask(task, doubt, doubts=(doubt,))
    return _send(task, ready, adapter)


@work(REQUIRES_REVIEW, timeout=timedelta(minutes=15))
def submit_approved(task: Task[Application]) -> Outcome:
    """Send what its user has approved."""
    try:
        return submit(task)
    except EffectUnknown as error:
        task.write(note_review, ReviewReason.VERIFY_SUBMISSION.value, "", f"{type(error).__name__}: {error}")
        raise


# -- before it is sent


def _ready(
    conn: sa.Connection, workspace: str, instance_id: UUID, posting_id: str | None, packet_hash: str | None
) -> Ready:
    row = postings.find(conn, workspace, UUID(posting_id)) if posting_id else None
    if row is None:
        raise InvalidJobUrl(f"posting {posting_id} does not exist any more; add it again")
    stored = stored_packet(conn, instance_id, packet_hash) if packet_hash else None
    if stored is None:
        raise NoPacket("the application has no packet; pause and resume it, and it is prepared again")
    earlier = [one for one in effects_of(conn, instance_id) if one.kind == SUBMISSION]
    out = next((one for one in reversed(earlier) if one.status in ("sent", "unknown", "confirmed")), None)
    return Ready(row, stored, out)


def _after(earlier: Effect) -> Outcome:
    """An earlier sending decides: it arrived, or a person verifies it."""
    if earlier.done:
        answer = earlier.answer if isinstance(earlier.answer, dict) else {}
        return Go(SUBMITTED, data=_proven(answer), reason="it had arrived before")
    raise EffectUnknown(f"{earlier.kind} {earlier.key!r} was sent before and its answer never came")


def _proven(proof: dict[str, Any]) -> dict[str, Any]:
    return {"confirmation_url": proof.get("confirmation_url"), "reference": proof.get("reference")}


def _why_asked(data: Application, approved: bool) -> str:
    """Why a person has to answer first; empty if nobody has to."""
    if data.open_questions:
        return f"{data.open_questions} questions of the form need your answer"
    if approved:
        return ""
    if data.doubts:
        return data.doubts[0]
    return "the rule asks for your approval" if data.require_user_approval else ""


def _ask(task: Task[Application], why: str, *, doubts: tuple[str, ...] = (), **more: Any) -> Outcome:
    """Wait for the person: for the first time, or again."""
    data: dict[str, Any] = {"doubts": list(dict.fromkeys([*task.data.doubts, *doubts]))[:20], **more}
    if task.state == READY_TO_SUBMIT:
        return Go(REQUIRES_REVIEW, data=data, reason=why)
    task.write(note_review, ReviewReason.APPROVE_PACKET.value, why)
    return Stay(data={**data, "approved_packet": None}, reason=why)


# -- sending


def _send(task: Task[Application], ready: Ready, adapter: Adapter) -> Outcome:
    data, form = task.data, ready.stored.filled(ready.row.posting)
    problems = adapter.validate(form)
    if problems:
        return _ask(task, problems[0].message, doubts=tuple(one.message for one in problems[:10]), packet_inputs=None)
    name = claimed_as(task.id, data.model_dump())
    task.write(_begin, data.posting_id, data.again, claims.job_key(data.board, name))
    posting = {"title": data.title, "company": data.company, "url": data.job_url}
    request, takes = {"board": data.board, "job_id": data.job_id}, limits_of(data.model_dump())

    def send(effect: Effect) -> dict[str, Any]:
        return asyncio.run(deliver(adapter, form, effect.key))

    try:
        with hold_job(task, data.board, name, posting=posting) as claim:
            task.save({"run_id": claim.run_id, "adapter": adapter.name})
            claim.submitted({"cover_letter": f"packet {data.packet_hash}"})
            try:
                proof = task.once(SUBMISSION, request, send, key=f"submit:{task.id}", takes=takes)
            except LimitReached as error:
                raise NotYet(str(error), until=error.until) from error
            claim.succeeded({"confirmation_url": proof.get("confirmation_url")})
    except JobTaken:
        task.write(_check_once, data.posting_id)
        raise
    except NotDelivered as error:
        task.write(_nothing_left)
        return _refused(task, error.outcome)
    return Go(SUBMITTED, data=_proven(proof))


def _begin(unit: Unit, claim: Claim, posting_id: str, again: str, job_key: str) -> None:
    """Note that it is about to be sent, unless the opening was applied for. One of a workspace does so at a time."""
    instance = require_claim(unit, claim)
    already_applied.lock_seeker(unit, instance.workspace)
    if not again:
        _require_once(unit, instance.workspace, instance.id, posting_id)
    _end_lost_run(unit, instance, job_key)
    applications.update(unit, instance.id, sent_at=unit.now)


def _end_lost_run(unit: Unit, instance: Instance, job_key: str) -> None:
    """End the run of an attempt whose worker was lost after it reported and before it sent anything.

    Its effect would be there if a byte had left. A run whose lease is over is verified by a person meanwhile, and the
    application with it.
    """
    found = find_by_key(unit, instance.workspace, job.name, job_key)
    if found is None or found.state != QUEUED:
        return
    mine = find_by_key(unit, instance.workspace, run.name, str(found.data.get("run_id")))
    agent = f"{application.name}:{instance.id}"
    if mine is None or mine.state != REPORTED or mine.data.get("agent") != agent:
        return
    held = leases.find(unit.conn, unit.now, claims.lock_of(found))
    if held is None or held.holder != mine.key:
        raise EffectUnknown(f"run {mine.key} reported a submission and its worker was lost; verify it")
    unit.lock(mine.id)
    fire(
        unit,
        mine.id,
        "fail",
        Actor(WORKER, agent),
        data={"error": "its worker was lost before it sent anything"},
        reason="its worker was lost before it sent anything",
    )


def _check_once(unit: Unit, claim: Claim, posting_id: str) -> None:
    """The job was not claimed: find out whether somebody has applied, or nobody can claim it any more."""
    instance = require_claim(unit, claim)
    applications.update(unit, instance.id, sent_at=None)
    _require_once(unit, instance.workspace, instance.id, posting_id)
    row = postings.find(unit.conn, instance.workspace, UUID(posting_id))
    over = already_applied.not_claimable(unit, row) if row is not None else None
    if over is not None:
        raise JobClosed(over)


def _require_once(unit: Unit, workspace: str, instance_id: UUID, posting_id: str) -> None:
    row = postings.find(unit.conn, workspace, UUID(posting_id))
    before = (
        already_applied.applied_before(unit, already_applied.sightings_of(unit.conn, row), but=instance_id)
        if row
        else None
    )
    if before is not None:
        raise AlreadyApplied(before)


def _nothing_left(unit: Unit, claim: Claim) -> None:
    applications.update(unit, require_claim(unit, claim).id, sent_at=None)


def _refused(task: Task[Application], outcome: Rejected | Blocked) -> Outcome:
    """The site did not take it: the person corrects the answers, or sends it by hand."""
    if isinstance(outcome, Rejected):
        said = tuple(one.message for one in outcome.problems[:10])
        return _ask(task, said[0] if said else "the site refused it", doubts=said, packet_inputs=None)
    return _hand_over(task, outcome.reason)


def _hand_over(task: Task[Application], note: str, doubt: str = "") -> Outcome:
    """Let the person send it."""
    data: dict[str, Any] = {"review_reason": ReviewReason.SUBMIT_BY_HAND, "run_id": None}
    if doubt:
        data["doubts"] = list(dict.fromkeys([*task.data.doubts, doubt]))[:20]
    asks = (Ask("submit_by_hand", SUBMIT_BY_HAND, {"why": note, "packet": task.data.packet_hash}),)
    if task.state == READY_TO_SUBMIT:
        return Go(REQUIRES_REVIEW, data=data, reason=note, asks=asks)
    task.write(note_review, ReviewReason.SUBMIT_BY_HAND.value, note)
    return Stay(data=data, reason=note, asks=asks)
