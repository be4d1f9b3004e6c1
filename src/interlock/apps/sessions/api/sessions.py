"""`/sessions`: start, list, show, change, cancel, archive, fork, delete."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

import sqlalchemy as sa
from fastapi import Query
from fastapi.responses import Response

from interlock.apps.sessions import control
from interlock.apps.sessions.api.access import MACHINE, locked, readable, seen, written
from interlock.apps.sessions.api.answers import (
    Done,
    PromptOut,
    SessionDone,
    SessionOut,
    SessionPage,
    session_out,
    session_page,
)
from interlock.apps.sessions.api.bodies import (
    LARGEST,
    ForkBody,
    ReasonBody,
    SessionBody,
    SessionPatch,
    SessionWithPromptBody,
)
from interlock.apps.sessions.conversation import index, prompts
from interlock.apps.sessions.machine import session
from interlock.engine import Instance
from interlock.engine.application import Unit
from interlock.http.caller import Caller, TheService, need, workspace_of
from interlock.http.direct import Router
from interlock.http.problems import BadRequest
from interlock.http.writing import Write
from interlock.people import Principal, in_workspace

router = Router(prefix="/sessions", tags=["sessions"])
router.takes("/with-prompt", LARGEST)
Limit = Annotated[int, Query(ge=1, le=200)]


def _done(unit: Unit, instance: Instance, message: str, prompt_id: UUID | None = None) -> SessionDone:
    shown = written(unit, instance)
    prompt = PromptOut.of(prompts.get(unit.conn, prompt_id)) if prompt_id is not None else None
    return SessionDone(
        message=message, id=instance.id, session_id=instance.id, prompt_id=prompt_id, session=shown, prompt=prompt
    )


def _place(who: Principal, named: str | None) -> str:
    """The workspace for a new session, in which the caller may create and read one."""
    workspace = workspace_of(who, named)
    in_workspace(who, workspace)
    for permission in ("read", "create"):
        need(who, permission, workspace, MACHINE)
    return workspace


# -- starting


@router.post("", summary="Start a session", response_model=SessionDone, status_code=201)
async def start_session(write: Write, body: SessionBody) -> Response:
    """It waits in `pending` for its first prompt. 422 for a repository that is not configured."""
    workspace = _place(write.who, body.workspace)

    def job(unit: Unit) -> SessionDone:
        actor = write.who.actor_in(workspace)
        made = control.start(unit, workspace, actor, write.who.name, body.new_session())
        return _done(unit, made, "Session created; it waits for a prompt")

    return await write(job, status=201, name="create")


@router.post("/with-prompt", summary="Start a session with a prompt", response_model=SessionDone, status_code=201)
async def start_with_prompt(write: Write, body: SessionWithPromptBody) -> Response:
    """The session and its first prompt are created in one transaction."""
    workspace, prompt = _place(write.who, body.workspace), body.new_prompt()
    need(write.who, "fire", workspace, MACHINE)

    def job(unit: Unit) -> SessionDone:
        actor = write.who.actor_in(workspace)
        made, prompt_id = control.start_with_prompt(unit, workspace, actor, write.who.name, body.new_session(), prompt)
        return _done(unit, made, "Session created with its prompt", prompt_id)

    return await write(job, status=201, name="create")


@router.post("/{id}/fork", summary="Fork a session", response_model=SessionDone, status_code=201)
async def fork_session(write: Write, id: UUID, body: ForkBody | None = None) -> Response:
    """A new session with the same conversation, on a branch that begins where the other one is."""
    asked = body or ForkBody()
    prompt = asked.new_prompt() if asked.has_prompt else None

    def job(unit: Unit) -> SessionDone:
        source = locked(unit, id, write.who, "create")
        actor, user = write.who.actor_in(source.workspace), write.who.name
        made = control.fork(unit, source, actor, user, asked.title, asked.target_branch)
        prompt_id = None
        if prompt is not None:
            need(write.who, "fire", source.workspace, MACHINE)
            prompt_id = control.add_prompt(unit, made, actor, user, prompt)
        return _done(unit, made, f"Session forked from {id}", prompt_id)

    return await write(job, status=201, name="create")


# -- reading


@router.get("", summary="Sessions, the newest first", response_model=SessionPage)
async def list_sessions(
    service: TheService,
    who: Caller,
    ui_status: Annotated[list[str] | None, Query(max_length=10, description="One or more states.")] = None,
    repo: Annotated[str | None, Query(max_length=300)] = None,
    user_id: Annotated[str | None, Query(max_length=300)] = None,
    parent: UUID | None = None,
    workspace: Annotated[str | None, Query(max_length=200)] = None,
    after: Annotated[UUID | None, Query(description="`next` of the page before.")] = None,
    limit: Limit = 50,
) -> Response:
    """Deleted sessions are not listed."""
    unknown = sorted(set(ui_status or ()) - set(session.states))
    if unknown:
        raise BadRequest(f"a session has no status {unknown[0][:60]!r}; it has {', '.join(session.states)}")
    if workspace is not None:
        in_workspace(who, workspace)
        need(who, "read", workspace, MACHINE)
    wanted = index.SessionFilter(
        [workspace] if workspace is not None else readable(who),
        ui_status or (),
        repo,
        user_id,
        parent,
    )

    def look(conn: sa.Connection) -> SessionPage:
        return session_page(conn, index.page(conn, wanted, before=after, limit=limit), limit)

    return await service.answer(lambda: service.engine.read(look))


@router.get("/{id}", summary="One session", response_model=SessionOut)
async def get_session(service: TheService, who: Caller, id: UUID) -> Response:
    def look(conn: sa.Connection) -> SessionOut:
        return session_out(conn, *seen(conn, id, who))

    return await service.answer(lambda: service.engine.read(look))


# -- changing


@router.put("/{id}", summary="Change a session", response_model=SessionDone)
async def put_session(write: Write, id: UUID, body: SessionPatch) -> Response:
    """409 for a status that the machine does not allow now, with what it does. `force` is for owners, with a reason."""
    if body.force and body.ui_status is None:
        raise BadRequest("force needs the status to set, in ui_status", place="body.ui_status")

    def job(unit: Unit) -> SessionDone:
        instance = locked(unit, id, write.who, "force" if body.force else "fire")
        actor = write.who.actor_in(instance.workspace)
        control.edit(unit, instance, actor, {"title": body.title, "target_branch": body.target_branch})
        if body.force:
            control.force_status(unit, instance, body.ui_status or "", actor, body.reason)
        elif body.ui_status is not None:
            control.set_status(unit, instance, body.ui_status, actor, body.reason)
        return _done(unit, instance, "Session updated")

    return await write(job, name="fire")


@router.post("/{id}/cancel", summary="End the agent and cancel waiting prompts", response_model=SessionDone)
async def cancel_session(write: Write, id: UUID, body: ReasonBody | None = None) -> Response:
    """The agent is ended within a second; the session moves to its review. A reason is in the prompts' sentences."""

    def job(unit: Unit) -> SessionDone:
        instance = locked(unit, id, write.who)
        done = control.cancel(unit, instance, write.who.name, reason=body.reason if body is not None else "")
        return _done(unit, instance, done.sentence)

    return await write(job, name="fire")


@router.post("/{id}/archive", summary="Archive a session", response_model=SessionDone)
async def archive_session(write: Write, id: UUID, body: ReasonBody | None = None) -> Response:
    """A running agent is ended first. Its sandbox goes back; the session stays archived."""

    def job(unit: Unit) -> SessionDone:
        instance = locked(unit, id, write.who)
        actor = write.who.actor_in(instance.workspace)
        now = control.archive(unit, instance, actor, body.reason if body is not None else "")
        return _done(unit, instance, "Session archived" if now else "The agent is being ended, then it is archived")

    return await write(job, name="fire")


@router.post("/{id}/unarchive", summary="Unarchive a session", response_model=SessionDone)
async def unarchive_session(write: Write, id: UUID, body: ReasonBody | None = None) -> Response:
    """It returns to the state it was in; one that was archived while its agent worked, to its review."""

    def job(unit: Unit) -> SessionDone:
        instance = locked(unit, id, write.who)
        actor = write.who.actor_in(instance.workspace)
        control.unarchive(unit, instance, actor, body.reason if body is not None else "")
        return _done(unit, instance, "Session unarchived")

    return await write(job, name="fire")


@router.delete("/{id}", summary="Delete a session", response_model=Done)
async def delete_session(write: Write, id: UUID) -> Response:
    """Its agent is ended, its sandbox goes back, and it is hidden. History and conversation stay."""

    def job(unit: Unit) -> Done:
        instance = locked(unit, id, write.who)
        control.delete(unit, instance, write.who.actor_in(instance.workspace))
        return Done(message="Session deleted", id=id)

    return await write(job, name="fire")
