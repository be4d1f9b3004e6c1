"""What people and programs do with sessions: start, prompt, cancel, archive, fork, delete, set the status.

The API, the commands and the pages call these functions, each in one transaction. Who asks was checked before: the
functions take the actor for the history, and refuse what the machine does not allow.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from interlock.apps.sessions.conversation import index, prompts
from interlock.apps.sessions.conversation.attachments import File, keep
from interlock.apps.sessions.conversation.naming import UNTITLED, title_of
from interlock.apps.sessions.loans.session_loans import open_loan
from interlock.apps.sessions.machine import (
    ARCHIVED,
    HELD,
    IN_PROGRESS,
    NEEDS_REVIEW,
    NEEDS_REVIEW_IP_RETURNED,
    PENDING,
    session,
)
from interlock.apps.sessions.models import Session
from interlock.apps.sessions.settings import settings_in
from interlock.engine import Instance, InvalidData, NotFound, Refused
from interlock.engine.application import (
    Unit,
    allowed,
    change,
    close_dead_letters,
    fire,
    force,
    hasten,
    hint,
    under_way,
)
from interlock.machine import Actor

CANCEL = "*cancel-prompt"
"""The hint that somebody cancelled a running prompt. No queue has this name."""
LONGEST_TITLE = 200


@dataclass(frozen=True, slots=True)
class NewSession:
    """What a session is started with."""

    repo: str = ""
    """May be empty where the configuration has exactly one repository."""
    target_branch: str = "main"
    title: str = ""
    agent: str = ""
    parent: UUID | None = None


@dataclass(frozen=True, slots=True)
class NewPrompt:
    """What the agent is asked to do."""

    text: str
    data: Any = None
    """The prompt as it was sent; the text where nothing else was."""
    files: Sequence[File] = ()


@dataclass(frozen=True, slots=True)
class Cancelled:
    """The result of a cancellation."""

    waiting: int
    """Prompts that had not begun and will not."""
    running: bool
    """Whether an agent runs, which is being ended."""

    @property
    def sentence(self) -> str:
        left = f"{self.waiting} waiting prompt{'' if self.waiting == 1 else 's'} cancelled" if self.waiting else ""
        ended = "the agent is being ended" if self.running else ""
        return "; ".join(filter(None, (ended, left))).capitalize() or "Nothing was running or waiting"


# -- starting


def start(unit: Unit, workspace: str, actor: Actor, user: str, wanted: NewSession, prompt: str = "") -> Instance:
    """Start a session. It waits in `pending` for its first prompt; the prompt here only names it."""
    repo = _known_repo(unit, wanted.repo)
    _check_agent(unit, wanted.agent)
    target = index.checked_name(wanted.target_branch or "main", "the target branch")
    if wanted.parent is not None:
        parent, _ = index.visible(unit.conn, wanted.parent)
        if parent.workspace != workspace:
            raise NotFound(f"there is no session {wanted.parent}")
    return index.begin(
        unit,
        workspace,
        actor,
        user,
        repo=repo,
        target_branch=target,
        prompt=prompt,
        title=wanted.title[:LONGEST_TITLE],
        agent=wanted.agent,
        parent=wanted.parent,
    )


def start_with_prompt(
    unit: Unit, workspace: str, actor: Actor, user: str, wanted: NewSession, prompt: NewPrompt
) -> tuple[Instance, UUID]:
    """Start a session and its first prompt in one transaction."""
    made = start(unit, workspace, actor, user, wanted, prompt.text)
    return made, add_prompt(unit, made, actor, user, prompt)


def fork(unit: Unit, source: Instance, actor: Actor, user: str, title: str = "", target_branch: str = "") -> Instance:
    """Start a session that continues the work and the conversation of another one, on a branch of its own."""
    data = Session.model_validate(source.data)
    _known_repo(unit, data.repo)
    known = prompts.last_conversation(unit.conn, source.id)
    return index.begin(
        unit,
        source.workspace,
        actor,
        user,
        repo=data.repo,
        target_branch=index.checked_name(target_branch or data.target_branch, "the target branch"),
        title=title[:LONGEST_TITLE] or f"{data.title} (fork)"[:LONGEST_TITLE],
        agent=data.agent,
        parent=source.id,
        data={
            "fork_of": known.conversation if known is not None else data.fork_of,
            "start_from": data.branch,
            "home": data.home or str(source.id),
        },
    )


def _known_repo(unit: Unit, name: str) -> str:
    repos = settings_in(unit.setting("sessions")).repos
    if not name and len(repos) == 1:
        return str(next(iter(repos)))
    if not name:
        known = ", ".join(sorted(repos)) or "none yet; add one to the configuration"
        raise InvalidData(f"name a repository; [sessions.repos] has {known}")
    if name not in repos:
        known = ", ".join(sorted(repos)) or "none"
        raise InvalidData(
            f"there is no repository {name[:200]!r} in [sessions.repos]; there are: {known}; add it or choose one"
        )
    return name


def _check_agent(unit: Unit, name: str) -> None:
    settings = settings_in(unit.setting("sessions"))
    if settings.agent_named(name) is None:
        known = ", ".join(sorted({"demo", "claude", *settings.agents}))
        raise InvalidData(f"there is no agent {name[:100]!r}; there are: {known}")


# -- prompting


def add_prompt(unit: Unit, instance: Instance, actor: Actor, user: str, prompt: NewPrompt) -> UUID:
    """Put a prompt at the end of the session's queue, and start the session if it waits. It has to be locked."""
    if instance.state == ARCHIVED:
        raise Refused(f"session {instance.id} is archived; unarchive it first", allowed(unit, instance, actor))
    listed = index.entry(unit.conn, instance.id)
    if listed is not None and listed.after_run == index.ARCHIVE:
        raise Refused(f"session {instance.id} is being archived and takes no prompt", allowed(unit, instance, actor))
    made = prompts.add(
        unit,
        instance.id,
        prompt.text,
        prompt.text if prompt.data is None else prompt.data,
        user,
        attachments=keep(unit, instance, actor, prompt.files),
    )
    if instance.data["title"] == UNTITLED:
        change(unit, instance, {"title": title_of(prompt.text)}, actor)
    if instance.state in {NEEDS_REVIEW, NEEDS_REVIEW_IP_RETURNED}:
        fire(unit, instance.id, "prompt", actor)
    elif instance.state == PENDING and not under_way(instance):
        fire(unit, instance.id, "prompt", actor)
        close_dead_letters(unit, instance, actor, "retried")
    return made


def cancel(unit: Unit, instance: Instance, by: str, *, waiting: bool = True, reason: str = "") -> Cancelled:
    """Cancel what waits and ask for the end of what runs; the agent is ended within a second."""
    gone, running = prompts.request_cancel(unit, instance.id, by, waiting=waiting, reason=reason)
    if running:
        hint(unit, CANCEL)
    elif gone and instance.state == PENDING:
        hasten(unit, instance)
    return Cancelled(gone, running)


def cancel_prompt(unit: Unit, instance: Instance, prompt_id: UUID, by: str) -> Cancelled:
    """Cancel one prompt, whether it waits or runs."""
    found = prompts.get(unit.conn, prompt_id)
    if found.session_id != instance.id:
        raise NotFound(f"there is no prompt {prompt_id}")
    if found.inbox_status == prompts.ACTIVE:
        return cancel(unit, instance, by, waiting=False)
    gone = prompts.cancel_one(unit, instance.id, prompt_id, by)
    if gone and instance.state == PENDING:
        hasten(unit, instance)
    return Cancelled(int(gone), running=False)


# -- putting away


def archive(unit: Unit, instance: Instance, actor: Actor, reason: str = "") -> bool:
    """Archive a session; False if its agent has to be ended first, after which the system does it."""
    if instance.state == ARCHIVED:
        return True
    cancel(unit, instance, actor.name, reason=reason)
    if instance.state == IN_PROGRESS:
        index.set_after_run(unit, instance.id, index.ARCHIVE)
        return False
    fire(unit, instance.id, "archive", actor, reason=reason)
    return True


def unarchive(unit: Unit, instance: Instance, actor: Actor, reason: str = "") -> None:
    """Bring an archived session back to where it was."""
    if instance.state == IN_PROGRESS:
        index.set_after_run(unit, instance.id, None)
        return
    fire(unit, instance.id, "unarchive", actor, reason=reason)


def delete(unit: Unit, instance: Instance, actor: Actor) -> None:
    """Hide a session: its agent is ended, its sandbox goes back, its history stays."""
    archive(unit, instance, actor, reason="deleted")
    index.hide(unit, instance.id, actor.name)


# -- by hand


def edit(unit: Unit, instance: Instance, actor: Actor, fields: Mapping[str, Any]) -> None:
    """Change the title or the target branch."""
    patch: dict[str, Any] = {}
    if (title := fields.get("title")) is not None:
        patch["title"] = title_of(title) if len(title) > LONGEST_TITLE else title.strip() or UNTITLED
    if (target := fields.get("target_branch")) is not None:
        patch["target_branch"] = index.checked_name(target, "the target branch")
    change(unit, instance, patch, actor)


def set_status(unit: Unit, instance: Instance, to: str, actor: Actor, reason: str = "") -> None:
    """Move a session by hand, along the transitions of the machine. Refused says which there are."""
    if to not in session.states:
        raise InvalidData(f"a session has no status {to[:60]!r}; it has {', '.join(session.states)}")
    if to == instance.state:
        return
    if to == ARCHIVED:
        archive(unit, instance, actor, reason)
        return
    ways = [one for one in allowed(unit, instance, actor) if one.to == to and one.by]
    if not ways:
        said = f"session {instance.id} cannot go from {instance.state!r} to {to!r}"
        raise Refused(said, [one for one in allowed(unit, instance, actor) if one.by])
    fire(unit, instance.id, ways[0].event, actor, reason=reason)


def force_status(unit: Unit, instance: Instance, to: str, actor: Actor, reason: str) -> None:
    """Put a session into any state, as an owner with a reason. A running agent is ended, a held sandbox goes back."""
    cancel(unit, instance, actor.name, waiting=False, reason=reason)
    force(unit, instance.id, to, actor, reason)
    current = open_loan(unit.conn, instance.id)
    if to == NEEDS_REVIEW_IP_RETURNED and current is not None and current.state == HELD:
        fire(unit, unit.lock(current.id).id, "give_back", actor, reason=reason)
