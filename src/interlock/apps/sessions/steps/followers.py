"""Prompts follow the state of their session, in the transaction of each move."""

from __future__ import annotations

import json
from uuid import UUID

from interlock.apps.sessions.conversation import index, prompts
from interlock.apps.sessions.conversation.prompts import Ending
from interlock.apps.sessions.machine import (
    ARCHIVED,
    IN_PROGRESS,
    NEEDS_REVIEW,
    NEEDS_REVIEW_IP_RETURNED,
    PENDING,
    session,
)
from interlock.apps.sessions.models import Result
from interlock.engine import Instance
from interlock.engine.application import SYSTEM_ACTOR, Unit, fire, hint, unstart
from interlock.machine import Actor, Edge

CHANGED = "*session-changed"
"""The hint that a session or one of its prompts changed. No queue has this name."""


@session.entering(*session.states)
def changed(unit: Unit, instance: Instance, edge: Edge, actor: Actor) -> None:
    """Let live pages know."""
    hint(unit, CHANGED)


@session.entering(IN_PROGRESS)
def begin_prompt(unit: Unit, instance: Instance, edge: Edge, actor: Actor) -> None:
    """The prompt that the worker has chosen is active from now on."""
    chosen = _id(instance.data.get("prompt_id"))
    if chosen is not None:
        prompts.activate(unit, instance.id, chosen)


@session.entering(PENDING)
def rest_without_prompt(unit: Unit, instance: Instance, edge: Edge, actor: Actor) -> None:
    """Without a prompt a session waits until its next one starts it.

    Not after a lost worker: the next one still has to take it to its review.
    """
    if edge.on == "force":
        _close_active(unit, instance, actor)
    if edge.on == "lose" or index.entry(unit.conn, instance.id) is None:
        return
    if prompts.following(unit.conn, instance.id) is None:
        unstart(unit, instance)


@session.entering(NEEDS_REVIEW)
def go_on(unit: Unit, instance: Instance, edge: Edge, actor: Actor) -> None:
    """What waited for the end of the agent: archiving the session, or its next prompt."""
    _close_active(unit, instance, actor)
    listed = index.entry(unit.conn, instance.id)
    if listed is None or edge.on == "unarchive":
        return
    if listed.after_run == index.ARCHIVE:
        index.set_after_run(unit, instance.id, None)
        fire(unit, instance.id, "archive", SYSTEM_ACTOR, reason="it was archived while its agent worked")
    elif prompts.following(unit.conn, instance.id) is not None:
        fire(unit, instance.id, "prompt", SYSTEM_ACTOR, reason="the next prompt waits")


@session.entering(ARCHIVED, NEEDS_REVIEW_IP_RETURNED)
def end_prompt(unit: Unit, instance: Instance, edge: Edge, actor: Actor) -> None:
    """A session that is put away by hand leaves no prompt active."""
    _close_active(unit, instance, actor)


def _close_active(unit: Unit, instance: Instance, actor: Actor) -> None:
    """End the active prompt of a session whose worker did not: its step failed, or somebody moved the session."""
    found = prompts.active(unit.conn, instance.id)
    if found is None:
        return
    error = json.loads(instance.last_error) if instance.last_error else {}
    if found.cancel_at is not None or actor.kind.value in {"user", "owner"}:
        ending = Ending(Result.CANCELLED, f"It was ended by {found.cancel_by or actor.name}.", "cancelled")
    elif instance.data.get("result") == Result.UNKNOWN:
        ending = Ending(Result.UNKNOWN, "Nobody knows how it ended: check the branch, then prompt again.", "lost")
    else:
        said = str(error.get("message") or "no reason given")
        ending = Ending(Result.FAILED, f"It could not be run: {said[:1000]}", "not_run")
    prompts.close(unit, found.id, ending)


def _id(value: object) -> UUID | None:
    try:
        return UUID(str(value))
    except ValueError:
        return None
