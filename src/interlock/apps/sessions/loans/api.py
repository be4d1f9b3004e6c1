"""`/dead-letter-queue`: what could not be borrowed, given back or run, and what a person does about it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

import sqlalchemy as sa
from fastapi import APIRouter, Query
from fastapi.responses import Response
from pydantic import AliasChoices, BaseModel, ConfigDict, Field

from interlock.apps.sessions.allocator.access import Borrowing
from interlock.apps.sessions.loans import dead_letters
from interlock.apps.sessions.loans.dead_letters import Stuck
from interlock.apps.sessions.loans.duties import wake_returns
from interlock.apps.sessions.machine import loan, session
from interlock.engine import Instance
from interlock.engine.application import Unit
from interlock.http.caller import Caller, TheService, require
from interlock.http.writing import Write, Writer
from interlock.machine import Actor
from interlock.store import moment

MASKED = "********"
MACHINES = (session.name, loan.name)
router = APIRouter(tags=["dead letters of sessions"])
Status = Literal["pending", "retried", "resolved", "abandoned"]


class LetterOut(BaseModel):
    """A dead letter, with the specification's names and those of other clients."""

    id: UUID
    status: str = Field(description="pending, retried, resolved or abandoned.")
    source: str = Field(description="ip_return_poller, ip_borrow or session.")
    task_type: str
    session_id: UUID | None
    entity_id: UUID | None
    loan_id: UUID | None
    retry_count: int
    error_message: str
    last_error: str
    error_type: str
    original_data: dict[str, Any] = Field(description="What the step was given; secrets are masked.")
    entity_data: dict[str, Any]
    allocator: str | None
    first_failed_at: datetime
    last_error_at: datetime
    created_at: datetime
    updated_at: datetime
    resolution_notes: str | None
    closed_by: str | None
    actions: tuple[str, ...] = Field(description="What can be done: POST to the path with one of these at its end.")

    @classmethod
    def of(cls, found: Stuck) -> LetterOut:
        letter = found.letter
        message = str(letter.error.get("message", ""))
        data = _masked(found)
        lent = letter.machine == loan.name
        return cls(
            id=letter.id,
            status=found.status,
            source=found.source,
            task_type=found.source,
            session_id=found.session_id,
            entity_id=found.session_id,
            loan_id=letter.instance_id if lent else None,
            retry_count=letter.attempts,
            error_message=message,
            last_error=message,
            error_type=letter.error_type,
            original_data=data,
            entity_data=data,
            allocator=str(found.instance.data.get("allocator") or "") or None if lent and found.instance else None,
            first_failed_at=moment(found.first_failed_at),
            last_error_at=moment(letter.at),
            created_at=moment(letter.at),
            updated_at=moment(letter.closed_at or letter.at),
            resolution_notes=letter.note,
            closed_by=letter.closed_by,
            actions=found.actions,
        )


def _masked(found: Stuck) -> dict[str, Any]:
    """`sbx_config` with its secrets, item and token, masked."""
    data: dict[str, Any] = dict(found.letter.data)
    if found.letter.machine == loan.name and data.get("lent"):
        data["sbx_config"] = {"item": MASKED, "borrow_token": MASKED}
    return data


class LettersOut(BaseModel):
    """Dead letters, the newest first."""

    dead_letters: list[LetterOut]
    next: UUID | None


class NoteBody(BaseModel):
    """Why, for the history."""

    model_config = ConfigDict(extra="forbid", populate_by_name=True)

    note: str = Field(
        "",
        max_length=2000,
        validation_alias=AliasChoices("note", "notes", "resolution_notes", "resolutionNotes"),
        examples=["the cleaner runs again"],
    )


class WebhookBody(BaseModel):
    """The report of an allocator that a return has ended. Only the id counts: the loan asks the allocator itself."""

    model_config = ConfigDict(extra="ignore")

    operation_id: str = Field(min_length=1, max_length=200, examples=["01994d4a-7c00-7000-8000-000000000000"])


class WokenOut(BaseModel):
    """How many loans look now."""

    success: bool = True
    woken: int


# -- reading


@router.get("/dead-letter-queue", summary="Dead letters of sessions, the newest first", response_model=LettersOut)
async def list_letters(
    service: TheService,
    who: Caller,
    status: Annotated[Status | None, Query(description="All of them without it.")] = None,
    after: UUID | None = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> Response:
    machines = [one for one in MACHINES if who.concerned_with(one)]
    places = frozenset(one for one in who.workspaces if any(who.may("read", one, machine) for machine in machines))

    def read(conn: sa.Connection) -> list[Stuck]:
        found = dead_letters.page(conn, places, machines, status=status, after=after, limit=limit + 1)
        return [one for one in found if who.may("read", one.letter.workspace, one.letter.machine)]

    found = await service.read(read)
    shown = LettersOut(
        dead_letters=[LetterOut.of(one) for one in found[:limit]],
        next=found[limit - 1].letter.id if len(found) > limit else None,
    )
    return await service.answer(lambda: shown)


@router.get("/dead-letter-queue/{id}", summary="One dead letter of sessions", response_model=LetterOut)
async def get_letter(service: TheService, who: Caller, id: UUID) -> Response:
    found = await service.read(lambda conn: dead_letters.get(conn, id))
    require(who, "read", found.letter.workspace, f"dead letter {id}", machine=found.letter.machine)
    return await service.answer(lambda: LetterOut.of(found))


# -- acting

Action = Callable[[Unit, UUID, Actor, str], Instance]


async def _act(write: Writer, id: UUID, note: str, act: Action, permission: str = "operate") -> Response:
    def job(unit: Unit) -> LetterOut:
        act(unit, id, _actor(unit.conn, write, id, permission), note)
        unit.flush()
        return LetterOut.of(dead_letters.get(unit.conn, id))

    return await write(job, name="dead_letter")


def _actor(conn: sa.Connection, write: Writer, id: UUID, permission: str) -> Actor:
    found = dead_letters.get(conn, id).letter
    require(write.who, permission, found.workspace, f"dead letter {id}", machine=found.machine)
    return write.who.actor_in(found.workspace)


@router.post("/dead-letter-queue/{id}/retry", summary="Try again, with all attempts", response_model=LetterOut)
async def retry_letter(write: Write, id: UUID, body: NoteBody | None = None) -> Response:
    return await _act(write, id, _note(body), dead_letters.retry)


@router.post("/dead-letter-queue/{id}/resolve", summary="Resolve: it was solved elsewhere", response_model=LetterOut)
async def resolve_letter(write: Write, id: UUID, body: NoteBody | None = None) -> Response:
    return await _act(write, id, _note(body), dead_letters.resolve)


@router.post("/dead-letter-queue/{id}/discard", summary="Give the sandbox up", response_model=LetterOut)
async def discard_letter(write: Write, id: UUID, body: NoteBody | None = None) -> Response:
    """The sandbox is taken out of use until somebody releases it."""
    engine = write.service.engine
    await write.service.read(lambda conn: _actor(conn, write, id, "operate"))
    said = await write.service.call(dead_letters.save_before, engine, id)
    await write.service.call(dead_letters.quarantine_outside, engine, id, _note(body))
    return await _act(write, id, _with(body, said), dead_letters.discard)


@router.post("/dead-letter-queue/{id}/abandon", summary="The same as discard", response_model=LetterOut)
async def abandon_letter(write: Write, id: UUID, body: NoteBody | None = None) -> Response:
    return await discard_letter(write, id, body)


@router.post("/dead-letter-queue/{id}/release-force", summary="Make the sandbox free", response_model=LetterOut)
async def release_letter(write: Write, id: UUID, body: NoteBody | None = None) -> Response:
    """For owners. Its work is committed to the branch if possible. Make sure that nobody uses the sandbox any more."""
    engine = write.service.engine
    await write.service.read(lambda conn: _actor(conn, write, id, "force"))
    said = await write.service.call(dead_letters.save_before, engine, id)
    await write.service.call(dead_letters.release_outside, engine, id)
    return await _act(write, id, _with(body, said), dead_letters.release, "force")


def _note(body: NoteBody | None) -> str:
    return body.note if body is not None else ""


def _with(body: NoteBody | None, said: str) -> str:
    return "; ".join(one for one in (_note(body), said) if one)[:2000]


# -- what an allocator says


@router.post("/webhook/return", summary="Report that a return has ended", response_model=WokenOut)
async def webhook_return(access: Borrowing, body: WebhookBody) -> WokenOut:
    """Needs a token with the scope `sandboxes`. The loan that waits for the operation asks the allocator now."""
    return WokenOut(woken=await access.write(wake_returns, body.operation_id))
