"""The form that starts a session."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query
from fastapi.responses import Response

from interlock.apps.sessions import control
from interlock.apps.sessions.agents.config import BUILT_IN
from interlock.apps.sessions.api.access import MACHINE
from interlock.apps.sessions.control import NewPrompt, NewSession
from interlock.apps.sessions.conversation.attachments import MOST_BYTES, File
from interlock.apps.sessions.pages.frame import CREATE, FIRE, ROOT, show
from interlock.apps.sessions.settings import settings_in
from interlock.dashboard.forms import Done, Form, PostedWithFiles
from interlock.dashboard.site import Reader
from interlock.engine.application import Unit
from interlock.http.caller import need, workspace_of
from interlock.http.direct import Router
from interlock.people import NotAllowed, in_workspace

router = Router(include_in_schema=False)
router.takes(ROOT, MOST_BYTES + 1_000_000)


@router.get(f"{ROOT}/new")
async def new_session(v: Reader, repo: Annotated[str, Query(max_length=300)] = "") -> Response:
    places = sorted(one for one in v.workspaces if v.may(CREATE, one, MACHINE) and v.may(FIRE, one, MACHINE))
    if not places:
        raise NotAllowed("only members may start sessions; ask an owner for the role")
    settings = settings_in(v.service.engine.setting("sessions"))
    context = {
        "places": places,
        "repos": sorted(settings.repos),
        "chosen": repo,
        "agents": sorted({settings.agent, *BUILT_IN, *settings.agents}),
        "agent": settings.agent,
    }
    return await show(v, "new.html", context)


@router.post(f"{ROOT}/new")
async def start_session(form: PostedWithFiles) -> Response:
    """Start a session with its first prompt."""
    who = form.v.who
    workspace = workspace_of(who, form.get("workspace") or None)
    in_workspace(who, workspace)
    for permission in (CREATE, FIRE):
        need(who, permission, workspace, MACHINE)
    wanted = NewSession(
        form["repo"],
        form.get("target_branch").strip() or "main",
        form.get("title").strip(),
        form.get("agent"),
    )
    prompt = prompt_in(form)

    def job(unit: Unit) -> Done:
        made, _ = control.start_with_prompt(unit, workspace, who.actor_in(workspace), who.name, wanted, prompt)
        return Done(said="The session is started", to=f"{ROOT}/{made.id}")

    return await form.do(job, "create")


def prompt_in(form: Form) -> NewPrompt:
    """The prompt of a form, with its files."""
    files = tuple(File(one.name, one.media_type or "application/octet-stream", one.content) for one in form.files)
    return NewPrompt(form["prompt"].replace("\r\n", "\n"), files=files)
