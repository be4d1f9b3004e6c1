"""Which sessions a caller may see and change. Those of other workspaces do not exist for them."""

from __future__ import annotations

from uuid import UUID

import sqlalchemy as sa

from interlock.apps.sessions.api.answers import SessionOut, session_out
from interlock.apps.sessions.conversation import index, prompts
from interlock.apps.sessions.conversation.index import IndexEntry
from interlock.apps.sessions.conversation.prompts import Prompt
from interlock.apps.sessions.machine import session
from interlock.engine import Instance, NotFound
from interlock.engine.application import Unit
from interlock.http.caller import require
from interlock.people import Principal

MACHINE = session.name


def readable(who: Principal) -> list[str]:
    """The workspaces whose sessions the caller may read."""
    return sorted(one for one in who.workspaces if who.may("read", one, MACHINE))


def seen(conn: sa.Connection, session_id: UUID, who: Principal) -> tuple[Instance, IndexEntry]:
    """The session, if the caller may read it."""
    found, entry = index.visible(conn, session_id)
    require(who, "read", found.workspace, f"session {session_id}", machine=MACHINE)
    return found, entry


def seen_prompt(conn: sa.Connection, prompt_id: UUID, who: Principal) -> Prompt:
    """The prompt, if the caller may read its session."""
    found = prompts.get(conn, prompt_id)
    try:
        seen(conn, found.session_id, who)
    except NotFound:
        raise NotFound(f"there is no prompt {prompt_id}") from None
    return found


def locked(unit: Unit, session_id: UUID, who: Principal, permission: str = "fire") -> Instance:
    """The session, locked, if the caller has the permission and may read what the answer shows."""
    try:
        instance = unit.lock(session_id)
    except NotFound:
        raise NotFound(f"there is no session {session_id}") from None
    index.visible(unit.conn, session_id)
    for needed in ("read", permission):
        require(who, needed, instance.workspace, f"session {session_id}", machine=MACHINE)
    return instance


def written(unit: Unit, instance: Instance) -> SessionOut:
    """The session after a write, as its answer shows it."""
    unit.flush()
    entry = index.entry(unit.conn, instance.id)
    assert entry is not None, "it was found before"
    return session_out(unit.conn, unit.lock(instance.id), entry)
