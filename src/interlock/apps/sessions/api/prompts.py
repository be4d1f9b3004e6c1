"""`/prompts`, and the prompts of a session: ask, list, cancel, read what the agent printed."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

import sqlalchemy as sa
from fastapi import Path, Query
from fastapi.responses import Response

from interlock.apps.sessions import control
from interlock.apps.sessions.api.access import locked, seen, seen_prompt, written
from interlock.apps.sessions.api.answers import (
    MessageList,
    MessageOut,
    PromptList,
    PromptOut,
    SessionDone,
    message_list,
    prompt_list,
)
from interlock.apps.sessions.api.bodies import LARGEST, PromptBody
from interlock.apps.sessions.conversation import messages, prompts
from interlock.engine.application import Unit
from interlock.http.caller import Caller, TheService
from interlock.http.direct import Router
from interlock.http.writing import Write

router = Router(tags=["sessions"])
router.takes("/prompts", LARGEST)
Id = Annotated[UUID, Path(description="The prompt's id.")]


def _done(unit: Unit, session_id: UUID, prompt_id: UUID, message: str) -> SessionDone:
    shown = written(unit, unit.lock(session_id))
    return SessionDone(
        message=message,
        id=prompt_id,
        session_id=session_id,
        prompt_id=prompt_id,
        session=shown,
        prompt=PromptOut.of(prompts.get(unit.conn, prompt_id)),
    )


@router.post("/prompts", summary="Send a prompt to a session", response_model=SessionDone, status_code=201)
async def add_prompt(write: Write, body: PromptBody) -> Response:
    """It waits while the session is busy: prompts run one at a time, in order, each once."""
    prompt = body.new_prompt()

    def job(unit: Unit) -> SessionDone:
        instance = locked(unit, body.session_id, write.who)
        made = control.add_prompt(unit, instance, write.who.actor_in(instance.workspace), write.who.name, prompt)
        return _done(unit, instance.id, made, "Prompt added")

    return await write(job, status=201, name="fire")


@router.get("/sessions/{id}/prompts", summary="Prompts of a session", response_model=PromptList)
async def list_prompts(
    service: TheService,
    who: Caller,
    id: UUID,
    after: Annotated[int, Query(ge=0, description="Prompts after this number.")] = 0,
    limit: Annotated[int, Query(ge=1, le=500)] = 200,
) -> Response:
    def look(conn: sa.Connection) -> PromptList:
        seen(conn, id, who)
        return prompt_list(prompts.of_session(conn, id, after=after, limit=limit), limit)

    return await service.answer(lambda: service.engine.read(look))


@router.get("/prompts/{id}", summary="One prompt", response_model=PromptOut)
async def get_prompt(service: TheService, who: Caller, id: Id) -> Response:
    return await service.answer(lambda: service.engine.read(lambda conn: PromptOut.of(seen_prompt(conn, id, who))))


@router.post("/prompts/{id}/cancel", summary="Cancel one prompt", response_model=SessionDone)
async def cancel_prompt(write: Write, id: Id) -> Response:
    """Cancels it whether it waits or runs. Other prompts of the session are not affected."""

    def job(unit: Unit) -> SessionDone:
        found = seen_prompt(unit.conn, id, write.who)
        instance = locked(unit, found.session_id, write.who)
        done = control.cancel_prompt(unit, instance, id, write.who.name)
        return _done(unit, instance.id, id, done.sentence)

    return await write(job, name="fire")


@router.get("/prompts/{id}/messages", summary="What the agent printed", response_model=MessageList)
async def list_messages(
    service: TheService,
    who: Caller,
    id: Id,
    after_seq: Annotated[int, Query(ge=0, description="Lines after this number.")] = 0,
    limit: Annotated[int, Query(ge=1, le=1000)] = 500,
) -> Response:
    """Each line once, in order. Long lines are cut."""

    def look(conn: sa.Connection) -> MessageList:
        prompt = seen_prompt(conn, id, who)
        found = messages.of_prompt(conn, id, after=after_seq, limit=limit)
        return message_list(found, after_seq, more=prompt.open or len(found) == limit)

    return await service.answer(lambda: service.engine.read(look))


@router.get("/prompts/{id}/messages/{seq}", summary="One whole line", response_model=MessageOut)
async def get_message(service: TheService, who: Caller, id: Id, seq: Annotated[int, Path(ge=1, le=2**53)]) -> Response:
    def look(conn: sa.Connection) -> MessageOut:
        seen_prompt(conn, id, who)
        found = messages.by_seq(conn, id, seq)
        return MessageOut.of(found, messages.whole(conn, found))

    return await service.answer(lambda: service.engine.read(look))
