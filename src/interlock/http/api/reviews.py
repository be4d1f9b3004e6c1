"""Reviews: open questions to people, and their decisions."""

from __future__ import annotations

from typing import Annotated, Any, Literal
from uuid import UUID

from fastapi import APIRouter, Query
from fastapi.responses import Response
from pydantic import AwareDatetime, BaseModel, ConfigDict, Field

from interlock.engine import review_queue, reviews
from interlock.engine.unit import Unit
from interlock.http.api.instances import readable
from interlock.http.caller import Caller, TheService, require
from interlock.http.models import Answer, ReviewOut
from interlock.http.problems import BadRequest
from interlock.http.writing import Write
from interlock.people import NotAllowed, Principal, Role, accounts
from interlock.store import micros

router = APIRouter(prefix="/api/reviews", tags=["reviews"])


class ReviewPage(Answer):
    """Reviews; open ones with the most urgent first."""

    reviews: list[ReviewOut]
    next: str | None = Field(description="Pass it as `after` for the next page; null on the last page.")


class Decision(BaseModel):
    """A person's decision."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"decision": "clear", "reason": "looks right", "answer": {}}]}
    )

    decision: str = Field(min_length=1, max_length=200, examples=["clear"])
    answer: dict[str, Any] | None = Field(None, description="The form, filled in.")
    reason: str = Field("", max_length=2000)
    expected_seq: int | None = Field(None, ge=0, le=2**62, description="Refuse if the instance has changed since.")


class Assignment(BaseModel):
    """Who is to decide a review."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"to": "mara"}, {"to": None}]})

    to: str | None = Field(max_length=200, description="The name of a person with the review's role; null is nobody.")


class Snooze(BaseModel):
    """Until when a review stands at the end of the inbox."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"until": None}]})

    until: AwareDatetime | None = Field(description="A time in the future, with its offset; null ends the snooze.")


@router.get("", summary="List reviews, most urgent first", response_model=ReviewPage)
async def list_reviews(
    service: TheService,
    who: Caller,
    status: Literal["open", "decided"] = "open",
    machine: Annotated[str | None, Query(max_length=200)] = None,
    workspace: Annotated[str | None, Query(max_length=200)] = None,
    instance: UUID | None = None,
    name: Annotated[str | None, Query(max_length=200)] = None,
    person: Annotated[str | None, Query(max_length=200, description="Assigned to or claimed by them.")] = None,
    unassigned: bool = False,
    after: Annotated[str | None, Query(max_length=80)] = None,
    limit: Annotated[int, Query(ge=1, le=500)] = 50,
) -> Response:
    wanted = reviews.ReviewFilter(
        readable(who),
        workspace,
        machine,
        instance,
        name,
        who.readable_machines,
        of_person=person,
        unassigned=unassigned,
    )
    if status == "open":
        place = _place(after)
        found = await service.read(lambda conn: reviews.waiting(conn, wanted, after=place, limit=limit + 1))
    else:
        last = _id(after) if after else None
        found = await service.read(lambda conn: reviews.decided(conn, wanted, after=last, limit=limit + 1))
    shown = found[:limit]
    following: str | None = None
    if len(found) > limit:
        due, last_id = reviews.cursor(shown[-1])
        following = f"{due}_{last_id}" if status == "open" else str(last_id)
    return await service.answer(lambda: ReviewPage(reviews=[ReviewOut.of(r) for r in shown], next=following))


def _place(after: str | None) -> tuple[int, UUID] | None:
    if after is None:
        return None
    due, _, last = after.partition("_")
    if not due.isdecimal() or len(due) > 20:
        raise BadRequest(f"{after!r} is not a cursor of this list; use `next` of the previous page")
    return min(int(due), reviews.WITHOUT_END), _id(last)


def _id(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError:
        raise BadRequest(f"{text!r} is not a cursor of this list; use `next` of the previous page") from None


@router.get("/{id}", summary="One review, with its form and its evidence", response_model=ReviewOut)
async def get_review(service: TheService, who: Caller, id: UUID) -> Response:
    found = await service.read(lambda conn: reviews.get(conn, id))
    require(who, "read", found.workspace, f"review {id}", machine=found.machine)
    return await service.answer(lambda: ReviewOut.of(found))


def role_of(found: reviews.OpenReview) -> Role:
    """The role that its deciders need."""
    return Role(found.role) if found.role in set(Role) else Role.OWNER


def may_decide(who: Principal, found: reviews.OpenReview) -> None:
    require(who, "review", found.workspace, f"review {found.id}", machine=found.machine)
    wanted = role_of(found)
    role = who.role_in(found.workspace)
    if role is None or not role.includes(wanted):
        raise NotAllowed(f"review {found.id} is for the role {wanted.value}; {who.name} has {role}")


@router.post("/{id}/claim", summary="Claim a review for half an hour", response_model=ReviewOut)
async def claim_review(write: Write, id: UUID) -> Response:
    def claim(unit: Unit) -> ReviewOut:
        found = reviews.get(unit.conn, id)
        may_decide(write.who, found)
        return ReviewOut.of(reviews.claim(unit, id, write.who.actor_in(found.workspace)))

    return await write(claim, name="review")


@router.post("/{id}/release", summary="Release a claimed review", response_model=ReviewOut)
async def release_review(write: Write, id: UUID) -> Response:
    def release(unit: Unit) -> ReviewOut:
        found = reviews.get(unit.conn, id)
        may_decide(write.who, found)
        return ReviewOut.of(reviews.release(unit, id, write.who.actor_in(found.workspace)))

    return await write(release, name="review")


@router.post("/{id}/assign", summary="Assign a review to a person", response_model=ReviewOut)
async def assign_review(write: Write, id: UUID, body: Assignment) -> Response:
    def assign(unit: Unit) -> ReviewOut:
        return ReviewOut.of(assigned(unit, write.who, id, body.to))

    return await write(assign, name="review")


def assigned(unit: Unit, who: Principal, id: UUID, to: str | None) -> reviews.OpenReview:
    """Assign it, if both may decide it."""
    found = reviews.get(unit.conn, id)
    may_decide(who, found)
    if to is not None:
        person = accounts.find(unit.conn, to)
        role = person.roles.get(found.workspace)
        if role is None or not role.includes(role_of(found)) or person.disabled_at is not None:
            raise BadRequest(f"{to!r} may not decide review {id}, which is for the role {role_of(found).value}")
        to = person.name
    return review_queue.assign(unit, id, to, who.actor_in(found.workspace))


@router.post("/{id}/snooze", summary="Put a review to the end of the inbox until a time", response_model=ReviewOut)
async def snooze_review(write: Write, id: UUID, body: Snooze) -> Response:
    def snooze(unit: Unit) -> ReviewOut:
        found = reviews.get(unit.conn, id)
        may_decide(write.who, found)
        actor = write.who.actor_in(found.workspace)
        if body.until is None:
            return ReviewOut.of(review_queue.wake(unit, id, actor))
        return ReviewOut.of(review_queue.snooze(unit, id, micros(body.until), actor))

    return await write(snooze, name="review")


@router.post("/{id}/decide", summary="Decide a review; the first decision counts", response_model=ReviewOut)
async def decide_review(write: Write, id: UUID, body: Decision) -> Response:
    def decide(unit: Unit) -> ReviewOut:
        found = reviews.get(unit.conn, id)
        may_decide(write.who, found)
        done = reviews.decide(
            unit,
            id,
            body.decision,
            write.who.actor_in(found.workspace),
            answer=body.answer,
            reason=body.reason,
            expected_seq=body.expected_seq,
        )
        return ReviewOut.of(done)

    return await write(decide, name="review")
