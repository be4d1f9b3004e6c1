"""Claiming and releasing a review. Opening its page reserves nothing; whoever comes too late sees who has it."""

from __future__ import annotations

from contextlib import suppress
from typing import Annotated, Literal
from uuid import UUID

import sqlalchemy as sa
from fastapi import APIRouter, Path
from fastapi.responses import Response

from interlock.apps.contracts import naming
from interlock.apps.contracts.machine import REVIEW_REQUIRED, contract
from interlock.apps.contracts.review import blind_sample
from interlock.dashboard.formatting import person, title
from interlock.dashboard.forms import Done, Posted
from interlock.dashboard.site import Visitor
from interlock.engine import AlreadyDecided, Forbidden, Instance, NotFound, OpenReview, ReviewClaimed, reviews
from interlock.engine.application import Unit
from interlock.http.caller import require

router = APIRouter(include_in_schema=False)
Kind = Annotated[Literal["review", "blind"], Path()]


def task_of(conn: sa.Connection, instance: Instance, kind: str) -> OpenReview | None:
    """The open review of the page, else the latest one; None if there was none."""
    where = reviews.ReviewFilter(instance_id=instance.id)
    every = [*reviews.waiting(conn, where, limit=10), *reviews.decided(conn, where, limit=20)]
    return next((one for one in every if _is(one, kind)), None)


def _is(one: OpenReview, kind: str) -> bool:
    return one.name == blind_sample.NAME if kind == "blind" else one.state == REVIEW_REQUIRED


def claimed_by_other(task: OpenReview | None, me: str, now: int) -> str:
    """The other person who has claimed it, if any."""
    if task is None or task.status != "open" or task.claimed_by in {None, me} or (task.claimed_until or 0) <= now:
        return ""
    return str(task.claimed_by)


def has_claimed(task: OpenReview | None, me: str, now: int) -> bool:
    """Whether this reader has claimed it."""
    return task is not None and task.status == "open" and task.claimed_by == me and (task.claimed_until or 0) > now


@router.post("/ui/contracts/{id}/{kind}/take")
async def take(form: Posted, id: UUID, kind: Kind) -> Response:
    """Reserve the review for this reader for half an hour, or say who has it."""
    v = form.v
    to = f"/ui/contracts/{id}/{kind}"
    field = form.get("field")

    def job(unit: Unit) -> Done:
        instance = reviewer_of(unit, id, v)
        task = task_of(unit.conn, instance, kind)
        if task is None or task.status != "open":
            return Done(said=over(task), to=to)
        try:
            reviews.claim(unit, task.id, v.who.actor_in(task.workspace))
        except ReviewClaimed:
            return Done(said=f"{person(task.claimed_by or '')} took it before you. You can still read it.", to=to)
        return Done(to=f"{to}?field={field}" if field.isidentifier() else to)

    return await form.do(job, "review")


@router.post("/ui/contracts/{id}/{kind}/release")
async def release(form: Posted, id: UUID, kind: Kind) -> Response:
    """Give the review back to everybody, if this reader has it."""
    v = form.v

    def job(unit: Unit) -> Done:
        instance = reviewer_of(unit, id, v)
        task = task_of(unit.conn, instance, kind)
        if task is not None and has_claimed(task, str(v.who.actor_in(instance.workspace)), unit.now):
            with suppress(ReviewClaimed, AlreadyDecided, Forbidden):
                reviews.release(unit, task.id, v.who.actor_in(task.workspace))
        return Done(said=f"Released: {naming.file_of(instance.data)}", to="/ui/reviews")

    return await form.do(job, "review")


def reviewer_of(unit: Unit, id: UUID, v: Visitor) -> Instance:
    """The contract, locked, for somebody who may decide its reviews."""
    instance = unit.lock(id)
    if instance.machine != contract.name:
        raise NotFound(f"there is no workflow {id}")
    require(v.who, "review", instance.workspace, f"workflow {id}", machine=contract.name)
    return instance


def over(task: OpenReview | None) -> str:
    """Who decided, for somebody who comes too late."""
    if task is None or task.status != "decided":
        return "Too late: its review is closed."
    return f"Too late: {person(task.decided_by or '')} has decided already ({title(task.decision or '')})."
