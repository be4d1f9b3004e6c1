"""What people do with a session on its page: prompt, cancel, archive, fork, rename, delete."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Path
from fastapi.responses import Response

from interlock.apps.sessions import control
from interlock.apps.sessions.api.access import locked
from interlock.apps.sessions.control import NewPrompt
from interlock.apps.sessions.conversation import prompts
from interlock.apps.sessions.machine import session
from interlock.apps.sessions.pages.frame import CREATE, FIRE, FORCE, ROOT, STATUS_WORDS
from interlock.apps.sessions.pages.starting import prompt_in
from interlock.dashboard.forms import Done, Posted, PostedWithFiles
from interlock.engine.application import Unit
from interlock.http.caller import need
from interlock.http.problems import BadRequest

router = APIRouter(include_in_schema=False)
Id = Annotated[UUID, Path(alias="id")]
LONGEST_REASON = 500


def reason_in(text: str) -> str:
    """A reason on one line, as the history keeps it."""
    return " ".join(text.split())[:LONGEST_REASON]


@router.post(f"{ROOT}/{{id}}/prompts")
async def add_prompt(form: PostedWithFiles, id: Id) -> Response:
    prompt, who = prompt_in(form), form.v.who

    def job(unit: Unit) -> Done:
        instance = locked(unit, id, who)
        busy = prompts.following(unit.conn, id) is not None
        control.add_prompt(unit, instance, who.actor_in(instance.workspace), who.name, prompt)
        return Done(said="It waits until the agent is free" if busy else "The agent gets it now", to=f"{ROOT}/{id}")

    return await form.do(job, "fire")


@router.post(f"{ROOT}/{{id}}/cancel")
async def cancel(form: Posted, id: Id) -> Response:
    """End the agent and cancel what waits; with a `prompt`, only that one."""
    who, one = form.v.who, form.get("prompt")

    def job(unit: Unit) -> Done:
        instance = locked(unit, id, who)
        if one:
            done = control.cancel_prompt(unit, instance, _id(one), who.name)
        else:
            done = control.cancel(unit, instance, who.name)
        return Done(said=done.sentence, to=f"{ROOT}/{id}")

    return await form.do(job, "fire")


@router.post(f"{ROOT}/{{id}}/archive")
async def archive(form: Posted, id: Id) -> Response:
    who, reason = form.v.who, reason_in(form.get("reason"))

    def job(unit: Unit) -> Done:
        instance = locked(unit, id, who)
        now = control.archive(unit, instance, who.actor_in(instance.workspace), reason)
        return Done(said="Archived" if now else "The agent is being ended; then it is archived", to=f"{ROOT}/{id}")

    return await form.do(job, "fire")


@router.post(f"{ROOT}/{{id}}/unarchive")
async def unarchive(form: Posted, id: Id) -> Response:
    who = form.v.who

    def job(unit: Unit) -> Done:
        instance = locked(unit, id, who)
        control.unarchive(unit, instance, who.actor_in(instance.workspace))
        return Done(said="It is back where it was", to=f"{ROOT}/{id}")

    return await form.do(job, "fire")


@router.post(f"{ROOT}/{{id}}/fork")
async def fork(form: Posted, id: Id) -> Response:
    """A new session that continues this one's work and conversation on a branch of its own."""
    who = form.v.who
    text = form.get("prompt").replace("\r\n", "\n")

    def job(unit: Unit) -> Done:
        source = locked(unit, id, who, CREATE)
        need(who, FIRE, source.workspace, session.name)
        actor = who.actor_in(source.workspace)
        made = control.fork(unit, source, actor, who.name, form.get("title").strip())
        if text.strip():
            control.add_prompt(unit, made, actor, who.name, NewPrompt(text))
        return Done(said="Forked: this is the new session", to=f"{ROOT}/{made.id}")

    return await form.do(job, "create")


@router.post(f"{ROOT}/{{id}}/edit")
async def edit(form: Posted, id: Id) -> Response:
    """Change the title or the target branch."""
    who = form.v.who
    fields = {"title": form["title"], "target_branch": form["target_branch"].strip()}

    def job(unit: Unit) -> Done:
        instance = locked(unit, id, who)
        control.edit(unit, instance, who.actor_in(instance.workspace), fields)
        return Done(said="Changed", to=f"{ROOT}/{id}")

    return await form.do(job, "fire")


@router.post(f"{ROOT}/{{id}}/delete")
async def delete(form: Posted, id: Id) -> Response:
    who = form.v.who

    def job(unit: Unit) -> Done:
        instance = locked(unit, id, who)
        control.delete(unit, instance, who.actor_in(instance.workspace))
        return Done(said="Deleted: its agent is ended and its sandbox goes back", to=ROOT)

    return await form.do(job, "fire")


@router.post(f"{ROOT}/{{id}}/force")
async def force(form: Posted, id: Id) -> Response:
    """Put the session into any state, as an owner with a reason."""
    who, reason, to = form.v.who, reason_in(form.get("reason")), form["to"]
    if not reason:
        raise BadRequest("say why the session is moved by force; the history keeps the reason")
    if to not in STATUS_WORDS:
        raise BadRequest(f"{to[:40]!r} is not a status of a session; there are {', '.join(STATUS_WORDS)}")

    def job(unit: Unit) -> Done:
        instance = locked(unit, id, who, FORCE)
        control.force_status(unit, instance, to, who.actor_in(instance.workspace), reason)
        return Done(said=f"Moved by force: {STATUS_WORDS[to]}", to=f"{ROOT}/{id}")

    return await form.do(job, "fire")


def _id(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError:
        raise BadRequest(f"{text[:60]!r} is not a prompt; load the page again") from None
